"""The commands of one server by the names that its clients use: `rename-command`.

A renamed command answers to its new name only, one that was removed to none. Whatever is shown or
configured (COMMAND, statistics, access control lists, error texts) has the name of the declaration.

What is replayed, from the append-only file or from a primary, may have either name: a request is
propagated as the client typed it, one that was rewritten by the original name.

Source: Redis 8.2, which refuses a file with the original name of a command that is renamed.
"""

from __future__ import annotations

from collections.abc import Iterable

from commands.core.instance import Instance
from commands.core.registry import COMMANDS, WRITE, Command, find
from protocol.request import Request


class CommandTable:
    """The names of one server."""

    def __init__(self, instance: Instance) -> None:
        self.by_name = renamed(instance.config.renamed_commands)
        # The writes without sub-commands, in the spelling of files and of primaries.
        self.writes = {
            name.upper(): command
            for name, command in (COMMANDS | self.by_name).items()
            if command.flags & WRITE and not command.subcommands
        }

    def find(self, words: Request | list[bytes]) -> Command | None:
        """The command or sub-command of a client's request; None if there is none."""
        return find(words, self.by_name)

    def find_replayed(self, words: Request | list[bytes]) -> Command | None:
        """`find` for a request of the append-only file or of a primary."""
        return find(words, self.by_name) or find(words, COMMANDS)


def renamed(pairs: Iterable[tuple[str, str]]) -> dict[bytes, Command]:
    """The table after each `rename-command` in its turn; an empty name removes the command.

    Raises ValueError.
    """
    by_name = dict(COMMANDS)
    for pair in pairs:
        old, new = (name.lower().encode("utf-8", "surrogateescape") for name in pair)
        command = by_name.pop(old, None)
        if command is None:
            raise ValueError("No such command in rename-command")
        if new in by_name:
            raise ValueError("Target command name already exists")
        if new:
            by_name[new] = command
    return by_name
