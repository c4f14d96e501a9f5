"""The commands that a selector allows, as rules such as +get, -@dangerous and +select|0 say.

Rules apply one after the other to a set of commands. What was written is kept as well, because
lists and files show it: a rule takes the place of an earlier one about the same command, whether
that allowed or denied it.

Source: Redis 7.2 and later (7.0 showed rules that it made of the resulting set).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from commands.acl import rules
from commands.acl.rules import RuleError
from commands.core.registry import COMMANDS, Command
from commands.server.command.categories import CATEGORIES, acl_categories

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
