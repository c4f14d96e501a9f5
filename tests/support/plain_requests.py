"""A short request for each command: what its syntax demands, and every key that it may name.

The keys are key1, key2, ...; the channels channel1, ... Each is right in form, so that it passes
the check of the arity, and needs not be right in meaning.
"""

from __future__ import annotations

from collections.abc import Iterator

import commands.catalogue  # noqa: F401  (declares every command)
from commands.core.registry import COMMANDS, Command
from commands.documentation import row_of
from commands.server.syntax import Argument, parse_syntax

CHANNELS = ("channel", "shardchannel")
# MIGRATE takes one key, or several after KEYS, not both.
FIXED = {"migrate": ["MIGRATE", "1", "1", "", "1", "1", "KEYS", "key1"]}
# Words that choose between forms; without the right one, the command has no keys.
WORDS = {"numkeys": "1", "integer": "1", "double": "1", "unix-time": "1"}


def all_commands() -> list[Command]:
    """Every command that can be sent, sub-commands one by one."""
    found: list[Command] = []
    for name in sorted(COMMANDS):
        found += COMMANDS[name].subcommands.values() or [COMMANDS[name]]
    return found


def plain_request(command: Command) -> list[str]:
    """The words of the request."""
    fullname = command.fullname.decode()
    if fullname in FIXED:
        return FIXED[fullname].copy()
    syntax = parse_syntax(row_of(command).syntax, fullname)
    counts = {"key": 0, "channel": 0}
    words = [word for argument in syntax for word in _words(argument, fullname, counts)]
    return [*fullname.split("|"), *words]


def _names_any(argument: Argument, fullname: str) -> bool:
    inside = any(_names_any(part, fullname) for part in argument.arguments)
    return inside or argument.type == "key" or _is_channel(argument, fullname)


def _is_channel(argument: Argument, fullname: str) -> bool:
    return argument.name in CHANNELS or (argument.name, fullname) == ("pattern", "psubscribe")


def _words(argument: Argument, fullname: str, counts: dict[str, int]) -> Iterator[str]:
    if argument.optional and not _names_any(argument, fullname):
        return
    if argument.token:
        yield argument.token
    if argument.type == "pure-token":
        return
    if argument.type == "oneof":
        named = [part for part in argument.arguments if _names_any(part, fullname)]
        yield from _words((named or argument.arguments)[0], fullname, counts)
    elif argument.type == "block":
        for part in argument.arguments:
            yield from _words(part, fullname, counts)
    elif argument.type == "key" or _is_channel(argument, fullname):
        kind = "key" if argument.type == "key" else "channel"
        counts[kind] += 1
        yield f"{kind}{counts[kind]}"
    else:
        yield WORDS.get(argument.name) or WORDS.get(argument.type, "1")
