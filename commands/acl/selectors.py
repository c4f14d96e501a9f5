"""A selector: commands, keys and channels that a user may use together.

A user has a root selector, whose rules stand by themselves, and any number of others, each in
parentheses. One selector must allow all of a request. A key needs one pattern that carries all the
rights it needs; patterns do not add up.

Rules on commands (+get, -@dangerous, +select|0) apply one after the other to a set of commands.
What was written is kept as well, because lists and files show it: a rule takes the place of an
earlier one about the same command, whether that allowed or denied it.

Source: Redis 7.2 and later (7.0 showed rules that it made of the resulting set).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from commands.acl import rules
from commands.acl.rules import RuleError
from commands.core.registry import COMMANDS, Command
from commands.keys.pattern import matches
from commands.server.command import CATEGORIES, acl_categories

READ = 1
WRITE = 2
ALL_RIGHTS = READ | WRITE
_RIGHTS = {b"R": READ, b"W": WRITE}
_PREFIXES = {READ: b"%R~", WRITE: b"%W~", ALL_RIGHTS: b"~"}


class KeyPatterns:
    """The keys that a selector covers, in the order in which the patterns were added."""

    __slots__ = ("covers_all", "patterns")

    def __init__(self) -> None:
        self.covers_all = False  # after `~*` or `allkeys`
        self.patterns: dict[bytes, int] = {}  # READ, WRITE or both

    def copy(self) -> KeyPatterns:
        """A copy whose changes do not show here."""
        copied = KeyPatterns()
        copied.covers_all = self.covers_all
        copied.patterns = dict(self.patterns)
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
        self.patterns[pattern] = self.patterns.get(pattern, 0) | rights

    def allow(self, key: bytes, rights: int) -> bool:
        """Return True if a key may be used with these rights; 0: any right will do."""
        return self.covers_all or any(
            known & rights == rights and matches(pattern, key)
            for pattern, known in self.patterns.items()
        )

    def allow_all(self, rights: int) -> bool:
        """Return True if every key may be used with these rights."""
        star = self.patterns.get(b"*")
        return self.covers_all or (star is not None and star & rights == rights)

    def shown(self) -> list[bytes]:
        """The rules that give these rights."""
        if self.covers_all:
            return [b"~*"]
        return [_PREFIXES[rights] + pattern for pattern, rights in self.patterns.items()]


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
        self.patterns: dict[bytes, None] = {}

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
        self.patterns[pattern] = None

    def allow(self, channel: bytes, *, is_pattern: bool) -> bool:
        """Return True if a channel may be used.

        A pattern to subscribe to must be one of the allowed patterns itself.
        """
        if self.covers_all:
            return True
        if is_pattern:
            return channel in self.patterns
        return any(matches(pattern, channel) for pattern in self.patterns)

    def shown(self) -> list[bytes]:
        """The rules that allow these channels to a user who may use none."""
        return [b"&*"] if self.covers_all else [b"&" + pattern for pattern in self.patterns]


_SIGNS = {True: b"+", False: b"-"}


class CommandRules:
    """A set of commands, and the rules that made it."""

    __slots__ = ("allowed", "allows_all", "base", "first_arguments", "written")

    def __init__(self) -> None:
        self.allows_all = False
        self.allowed: set[bytes] = set()  # full names; of no meaning while `allows_all`
        # Commands that are allowed with these first arguments only, in lower case.
        self.first_arguments: dict[bytes, list[bytes]] = {}
        self.base = b"-@all"  # the last rule about all commands, and those after it
        self.written: list[bytes] = []

    def copy(self) -> CommandRules:
        """A copy whose changes do not show here."""
        copied = CommandRules()
        copied.allows_all, copied.base = self.allows_all, self.base
        copied.allowed, copied.written = set(self.allowed), list(self.written)
        copied.first_arguments = {name: list(words) for name, words in self.first_arguments.items()}
        return copied

    def allow(self, command: Command, first_argument: bytes) -> bool:
        """Return True if the command may run. `first_argument` is the word after its name."""
        if self.allows_all or command.fullname in self.allowed:
            return True
        wanted = self.first_arguments.get(command.fullname)
        return wanted is not None and first_argument.lower() in wanted

    def reset(self, *, allows_all: bool) -> None:
        """`+@all` or `-@all`: forget all earlier rules."""
        self.allows_all = allows_all
        self.allowed.clear()
        self.first_arguments.clear()
        self.base = b"+@all" if allows_all else b"-@all"
        self.written.clear()

    def apply(self, rule: bytes) -> None:
        """Apply a rule that begins with + or -. Raises RuleError."""
        is_allowed, name = rule.startswith(b"+"), rule[1:].lower()
        if name == b"@all":
            self.reset(allows_all=is_allowed)
        elif name.startswith(b"@"):
            self._change(_commands_of(name[1:]), is_allowed=is_allowed)
            self._write(name, is_allowed=is_allowed)
        elif (command := _find(name)) is not None:
            self._change(_with_subcommands(command), is_allowed=is_allowed)
            self._write(name, is_allowed=is_allowed)
        elif is_allowed and b"|" in name:
            self._allow_first_argument(name)
        else:
            raise RuleError(rules.UNKNOWN_COMMAND)

    def _change(self, commands: Iterable[bytes], *, is_allowed: bool) -> None:
        commands = list(commands)
        for name in commands:
            self.first_arguments.pop(name, None)
        if is_allowed:
            if not self.allows_all:
                self.allowed.update(commands)
            return
        if self.allows_all:
            self.allows_all = False
            self.allowed = set(_all_commands())
        self.allowed.difference_update(commands)

    def _allow_first_argument(self, name: bytes) -> None:
        """`+select|0`. Raises RuleError."""
        base, _, argument = name.rpartition(b"|")
        command = _find(base)
        if command is None:
            raise RuleError(rules.UNKNOWN_COMMAND)
        if command.parent is not None:
            raise RuleError(rules.FIRST_ARGUMENT_OF_SUBCOMMAND)
        if not argument or rules.has_blanks(argument):  # which a file could not hold
            raise RuleError(rules.SYNTAX)
        if command.subcommands:
            raise RuleError(rules.UNKNOWN_COMMAND)
        words = self.first_arguments.setdefault(command.fullname, [])
        if argument not in words:
            words.append(argument)
        self._write(name, is_allowed=True)

    def _write(self, name: bytes, *, is_allowed: bool) -> None:
        """Remember a rule in place of those that it overrules."""
        within = name + b"|"
        self.written = [
            rule for rule in self.written if rule[1:] != name and not rule[1:].startswith(within)
        ]
        self.written.append(_SIGNS[is_allowed] + name)

    def shown(self) -> bytes:
        """The rules that make this set."""
        return b" ".join([self.base, *self.written])


def _find(name: bytes) -> Command | None:
    """A command by its full name: b"get", b"config|get"."""
    container, bar, subcommand = name.partition(b"|")
    command = COMMANDS.get(container)
    if command is None or not bar:
        return command
    return command.subcommands.get(subcommand)


def _with_subcommands(command: Command) -> list[bytes]:
    return [command.fullname, *(sub.fullname for sub in command.subcommands.values())]


@cache
def _all_commands() -> frozenset[bytes]:
    return frozenset(name for command in COMMANDS.values() for name in _with_subcommands(command))


@cache
def _commands_of(category: bytes) -> frozenset[bytes]:
    """The commands of a category; a container's sub-commands go with it. Raises RuleError."""
    if category.decode("latin-1") not in CATEGORIES:
        raise RuleError(rules.UNKNOWN_COMMAND)
    found: set[bytes] = set()
    for command in COMMANDS.values():
        if b"@" + category in acl_categories(command):
            found.update(_with_subcommands(command))
        found.update(
            sub.fullname
            for sub in command.subcommands.values()
            if b"@" + category in acl_categories(sub)
        )
    return frozenset(found)


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
        words: list[bytes] = []
        self.add_words(words)
        return b" ".join(words)

    def add_words(self, words: list[bytes]) -> None:
        """Add these rules to a list."""
        keys, channels, commands = self.keys, self.channels, self.commands
        if keys.covers_all:
            words.append(b"~*")
        elif keys.patterns:
            words += keys.shown()
        if channels.covers_all:
            words.append(b"&*")
        else:
            words.append(b"resetchannels")
            if channels.patterns:
                words += channels.shown()
        words.append(commands.base)
        words += commands.written


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
