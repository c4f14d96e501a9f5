"""The patterns of a selector: of keys, each with its rights, and of channels.

A key needs one pattern that carries all the rights it needs; patterns do not add up.
"""

from __future__ import annotations

from commands.acl import rules
from commands.acl.rules import RuleError
from commands.keys.pattern import Matcher, matcher
from protocol.records import record

READ = 1
WRITE = 2
ALL_RIGHTS = READ | WRITE
_RIGHTS = {b"R": READ, b"W": WRITE}
_PREFIXES = {READ: b"%R~", WRITE: b"%W~", ALL_RIGHTS: b"~"}


@record
class KeyPattern:
    """A pattern of keys, with READ, WRITE or both."""

    rights: int
    matches: Matcher


class KeyPatterns:
    """The keys that a selector covers, in the order in which the patterns were added."""

    __slots__ = ("covers_all", "patterns")

    def __init__(self) -> None:
        self.covers_all = False  # after `~*` or `allkeys`
        self.patterns: dict[bytes, KeyPattern] = {}

    def copy(self) -> KeyPatterns:
        """A copy whose changes do not show here."""
        copied = KeyPatterns()
        copied.covers_all = self.covers_all
        copied.patterns = {
            pattern: KeyPattern(one.rights, one.matches) for pattern, one in self.patterns.items()
        }
        return copied

    def clear(self, *, covers_all: bool = False) -> None:
        """`resetkeys`, or `allkeys`."""
        self.covers_all = covers_all
        self.patterns.clear()

    def add(self, rule: bytes) -> None:
        """`~pattern` or `%RW~pattern`. Raises RuleError."""
        if self.covers_all:
            raise RuleError(rules.KEY_AFTER_ALL)
        rights, pattern = _parse(rule)
        if rules.has_blanks(pattern):
            raise RuleError(rules.SYNTAX)
        known = self.patterns.get(pattern)
        if known is None:
            self.patterns[pattern] = KeyPattern(rights, matcher(pattern))
        else:
            known.rights |= rights

    def allow(self, key: bytes, rights: int) -> bool:
        """Return True if a key may be used with these rights; 0: any right will do."""
        return self.covers_all or any(
            one.rights & rights == rights and one.matches(key) for one in self.patterns.values()
        )

    def allow_all(self, rights: int) -> bool:
        """Return True if every key may be used with these rights."""
        star = self.patterns.get(b"*")
        return self.covers_all or (star is not None and star.rights & rights == rights)

    def shown(self) -> list[bytes]:
        """The rules that give these rights."""
        if self.covers_all:
            return [b"~*"]
        return [_PREFIXES[one.rights] + pattern for pattern, one in self.patterns.items()]


def _parse(rule: bytes) -> tuple[int, bytes]:
    """The rights and the pattern of a rule. As in Redis, `%R` is `%R~`. Raises RuleError."""
    if rule.startswith(b"~"):
        return ALL_RIGHTS, rule[1:]
    letters, _, pattern = rule[1:].partition(b"~")
    rights = 0
    for position in range(len(letters)):
        right = _RIGHTS.get(letters[position : position + 1].upper(), 0)
        if not right or rights & right:
            raise RuleError(rules.SYNTAX)
        rights |= right
    if not rights:
        raise RuleError(rules.SYNTAX)
    return rights, pattern


class ChannelPatterns:
    """The channels that a selector covers, in the order in which the patterns were added."""

    __slots__ = ("covers_all", "patterns")

    def __init__(self, *, covers_all: bool) -> None:
        self.covers_all = covers_all
        self.patterns: dict[bytes, Matcher] = {}

    def copy(self) -> ChannelPatterns:
        """A copy whose changes do not show here."""
        copied = ChannelPatterns(covers_all=self.covers_all)
        copied.patterns = dict(self.patterns)
        return copied

    def clear(self, *, covers_all: bool = False) -> None:
        """`resetchannels`, or `allchannels`."""
        self.covers_all = covers_all
        self.patterns.clear()

    def add(self, rule: bytes) -> None:
        """`&pattern`. Raises RuleError."""
        if self.covers_all:
            raise RuleError(rules.CHANNEL_AFTER_ALL)
        pattern = rule[1:]
        if rules.has_blanks(pattern):
            raise RuleError(rules.SYNTAX)
        self.patterns.setdefault(pattern, matcher(pattern))

    def allow(self, channel: bytes, *, is_pattern: bool) -> bool:
        """Return True if a channel may be used.

        A pattern to subscribe to must be one of the allowed patterns itself.
        """
        if self.covers_all:
            return True
        if is_pattern:
            return channel in self.patterns
        return any(matches(channel) for matches in self.patterns.values())

    def shown(self) -> list[bytes]:
        """The rules that allow these channels to a user who may use none."""
        return [b"&*"] if self.covers_all else [b"&" + pattern for pattern in self.patterns]
