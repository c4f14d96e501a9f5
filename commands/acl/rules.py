"""The errors of rules, and how the words of a request or a file become rules.

A selector in parentheses may be spread over several words: "(~a" "+get)" is one rule.

Source: Redis 8.2.
"""

from __future__ import annotations

from collections.abc import Sequence

from protocol.requests import split_inline

SYNTAX = b"Syntax error"
UNKNOWN_COMMAND = b"Unknown command or category name in ACL"
FIRST_ARGUMENT_OF_SUBCOMMAND = b"Allowing first-arg of a subcommand is not supported"
BAD_HASH = (
    b"The password hash must be exactly 64 characters and contain only lowercase hexadecimal"
    b" characters"
)
NO_SUCH_PASSWORD = b"The password you are trying to remove from the user does not exist"
KEY_AFTER_ALL = (
    b"Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have"
    b" any effect. Try 'resetkeys' to start with an empty list of patterns"
)
CHANNEL_AFTER_ALL = (
    b"Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not"
    b" have any effect. Try 'resetchannels' to start with an empty list of channels"
)
_BLANKS = frozenset(b" \t\n\v\f\r\0")


class RuleError(Exception):
    """A rule is invalid; the text is that of Redis, without a code."""

    def __init__(self, reason: bytes) -> None:
        super().__init__(reason)
        self.reason = reason


class UnmatchedParenthesis(RuleError):
    """A selector is not closed; the reason is the whole error."""


def has_blanks(word: bytes) -> bool:
    """Return True if the word holds white space or a NUL, which names and patterns must not."""
    return not _BLANKS.isdisjoint(word)


def joined(words: Sequence[bytes]) -> list[bytes]:
    """Rules, with the words of each selector joined. Raises UnmatchedParenthesis."""
    rules: list[bytes] = []
    open_words: list[bytes] = []
    for word in words:
        if open_words:
            open_words.append(word)
        elif word.startswith(b"(") and not word.endswith(b")"):
            open_words = [word]
        else:
            rules.append(word)
            continue
        if word.endswith(b")"):
            rules.append(b" ".join(open_words))
            open_words = []
    if open_words:
        raise UnmatchedParenthesis(
            b"Unmatched parenthesis in acl selector starting at '%b'." % open_words[0]
        )
    return rules


def rules_within(selector: bytes) -> list[bytes]:
    """The rules between the parentheses; as in Redis none if a quote is not closed."""
    return split_inline(selector[1:-1].replace(b"\n", b" ")) or []
