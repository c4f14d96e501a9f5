"""Documentation of commands: the rows of the families' tables.

Each family's folder has a table, `documentation.py`: GROUP and SINCE, which hold for all its rows,
and ROWS, by the names that the handlers are declared with. COMMAND DOCS, COMMAND INFO and
docs/generate.py print them. Nothing else needs them, so a table is imported when it is first asked
for, not when the server starts.

What the code needs is declared beside the handlers: registry.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module

from commands.core.registry import Command
from protocol import replies
from protocol.records import record


@record
class Row:
    """One command, in our own words; facts and versions are those of Redis.

    `syntax` is what follows the name, in the notation of the Redis documentation: syntax.py derives
    the arguments of COMMAND DOCS from it.
    """

    summary: str
    syntax: str = ""
    complexity: str = "O(1)"
    since: str = ""  # "": that of its container, or the family's
    group: str = ""  # "": the family's
    history: Sequence[tuple[str, str]] = ()  # (version, change)
    tips: Sequence[str] = ()
    categories: Sequence[str] = ()  # of ACL, those that do not follow from flags and group
    deprecated: tuple[str, str] | None = None  # (since, what to use instead)


def row_of(command: Command) -> Row:
    """The row of a command. Raises KeyError with its name if its family's table has none."""
    return rows_of(command.family)[shown_name(command)]


def shown_name(command: Command) -> str:
    """The name as people write it: "XADD", "XGROUP CREATE"."""
    return command.fullname.decode().upper().replace("|", " ")


@cache
def rows_of(family: str) -> dict[str, Row]:
    """The rows of a family by name, each with its group and version."""
    table = import_module(f"...{family}.documentation", __name__)
    rows: dict[str, Row] = table.ROWS
    for name, row in rows.items():
        row.group = row.group or table.GROUP
        row.since = row.since or rows[name.split()[0]].since or table.SINCE
    return rows


def help_reply(container: bytes, *lines: bytes) -> bytes:
    """The reply to `<container> HELP`: an array of simple strings.

    `container` in upper case; `lines` are each sub-command with its arguments and, indented by
    four blanks, sentences about it.
    """
    usage = b"%b <subcommand> [<arg> [value] [opt] ...]. Subcommands are:" % container
    text = [usage, *lines, b"HELP", b"    Print this help."]
    return replies.array([replies.simple(line) for line in text])
