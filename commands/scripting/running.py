"""The script that runs, and the client that its commands come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from commands.core.client import Client

if TYPE_CHECKING:
    from commands.core.instance import Instance
    from commands.core.registry import Argv

# What redis.set_repl may say, and says at the start.
REPLICATE_NOTHING, REPLICATE_ALL = 0, 3


@dataclass(slots=True, eq=False)
class Running:
    """A script, or a function of a library, from its start to its end."""

    client: Client  # who called
    name: bytes  # SHA1 of the script, or the function's name
    argv: Argv
    is_function: bool = False
    is_read_only: bool = False
    has_written: bool = False
    is_killed: bool = False
    replicates: int = REPLICATE_ALL
    started_us: int = 0


class ScriptClient(Client):
    """The client of commands that a script runs: no connection, and not in the table of clients.

    Keys that it changes are changed by the one who called the script.
    """

    __slots__ = ("caller",)

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance, -1, instance.databases[0])
        self.address = b"lua"
        self.deny_blocking = True
        self.caller: Client = self

    def begin(self, caller: Client) -> None:
        """A script starts: it sees what its caller sees, in RESP2."""
        self.caller = caller
        self.db, self.user, self.no_touch = caller.db, caller.user, caller.no_touch
        self.resp = 2
        self.propagated = None

    def modified(self, key: bytes, changes: int = 1) -> None:
        """See Client.modified."""
        instance = self.instance
        instance.dirty += changes
        if instance.watchers or instance.tracking.active:
            instance.key_modified(self.db, key, self.caller)

    def send(self, data: bytes) -> None:
        """Nobody is there to get messages."""
