"""Documentation of commands: the rows of documentation.json, which people read.

A row is one command, by the name that its handler is declared with, below its group. COMMAND DOCS,
COMMAND INFO, the ACL categories and docs/generate.py use the rows. The file is read when it is
first asked for, not when the server starts.

What the code needs is declared beside the handlers: commands/core/registry.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from commands.core.registry import Command
from protocol import replies
from protocol.records import record

_FILE = f"{__file__.rpartition('/')[0]}/documentation.json"


@record
class Row:
    """One command, in our own words; facts and versions are those of Redis.

    `syntax` is what follows the name, in the notation of the Redis documentation:
    commands/server/syntax.py derives the arguments of COMMAND DOCS from it.
    """

    summary: str
    group: str
    since: str = ""  # a sub-command without it is as old as its container
    syntax: str = ""
    complexity: str = "O(1)"
    history: Sequence[tuple[str, str]] = ()  # (version, change)
    tips: Sequence[str] = ()
    categories: Sequence[str] = ()  # of ACL, those that do not follow from flags and group
    deprecated: tuple[str, str] | None = None  # (since, what to use instead)


def row_of(command: Command) -> Row:
    """The row of a command. Raises KeyError with its name if there is none."""
    return rows()[shown_name(command)]


def shown_name(command: Command) -> str:
    """The name as people write it: "XADD", "XGROUP CREATE"."""
    return command.fullname.decode().upper().replace("|", " ")


@cache
def rows() -> dict[str, Row]:
    """All rows by name."""
    import json  # not at the start

    with open(_FILE, encoding="utf-8") as file:
        groups = json.load(file)
    found = {
        name: Row(group=group, **fields)
        for group, commands in groups.items()
        for name, fields in commands.items()
    }
    for name, row in found.items():
        row.since = row.since or found[name.split()[0]].since
    return found


def help_reply(container: bytes, *lines: bytes) -> bytes:
    """The reply to `<container> HELP`: an array of simple strings.

    `container` in upper case; `lines` are each sub-command with its arguments and, indented by
    four blanks, sentences about it.
    """
    usage = b"%b <subcommand> [<arg> [value] [opt] ...]. Subcommands are:" % container
    text = [usage, *lines, b"HELP", b"    Print this help."]
    return replies.array([replies.simple(line) for line in text])
