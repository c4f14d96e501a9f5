"""A selector: commands, keys and channels that a user may use together.

A user has a root selector, whose rules stand by themselves, and any number of others, each in
parentheses. One selector must allow all of a request.
"""

from __future__ import annotations

from commands.acl import rules
from commands.acl.command_rules import CommandRules
from commands.acl.patterns import ChannelPatterns, KeyPatterns
from commands.acl.rules import RuleError


class Selector:
    """What one selector allows."""

    __slots__ = ("channels", "commands", "keys")

    def __init__(self, *, all_channels: bool) -> None:
        """Nothing is allowed; channels as `acl-pubsub-default` says."""
        self.commands = CommandRules()
        self.keys = KeyPatterns()
        self.channels = ChannelPatterns(covers_all=all_channels)

    def copy(self) -> Selector:
        """A copy whose changes do not show here."""
        copied = Selector(all_channels=False)
        copied.commands = self.commands.copy()
        copied.keys = self.keys.copy()
        copied.channels = self.channels.copy()
        return copied

    @property
    def allows_everything(self) -> bool:
        """True if there is nothing that it would refuse."""
        return self.commands.allows_all and self.keys.covers_all and self.channels.covers_all

    def apply(self, rule: bytes) -> None:
        """Apply a rule about commands, keys or channels. Raises RuleError."""
        word = rule.lower()
        if not rule:
            return
        if word in (b"allkeys", b"~*"):
            self.keys.clear(covers_all=True)
        elif word == b"resetkeys":
            self.keys.clear()
        elif word in (b"allchannels", b"&*"):
            self.channels.clear(covers_all=True)
        elif word == b"resetchannels":
            self.channels.clear()
        elif word in (b"allcommands", b"nocommands"):
            self.commands.reset(allows_all=word == b"allcommands")
        elif rule.startswith((b"~", b"%")):
            self.keys.add(rule)
        elif rule.startswith(b"&"):
            self.channels.add(rule)
        elif rule.startswith((b"+", b"-")):
            self.commands.apply(rule)
        else:
            raise RuleError(rules.SYNTAX)

    def shown(self) -> bytes:
        """The rules that make this selector, as lists and files have them."""
        channels = self.channels.shown()
        if not self.channels.covers_all:
            channels.insert(0, b"resetchannels")
        return b" ".join([*self.keys.shown(), *channels, self.commands.shown()])


def parse_selector(rule: bytes, *, all_channels: bool) -> Selector:
    """A selector in parentheses. Raises RuleError.

    Words that would not be read back from a file as they are, because of quotes or a parenthesis at
    their end, are refused; Redis 8.2 writes them, and reads others.
    """
    selector = Selector(all_channels=all_channels)
    for word in rules.rules_within(rule):
        if b'"' in word or b"'" in word or word.endswith(b")"):
            raise RuleError(rules.SYNTAX)
        selector.apply(word)
    return selector
