"""The script or library that runs, and the client that a script's commands come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython

from commands.core.client import Client
from commands.core.gates import GATE_RESTRICTED

if TYPE_CHECKING:
    from commands.core.instance import Instance
    from protocol.requests import Argv

# The modes of redis.set_repl; a script starts with REPLICATE_ALL.
REPLICATE_ALL = 3
# In cluster mode, the slot of the keys that a script has used.
NO_SLOT, ANY_SLOT = -1, -2


@cython.cclass
class Running:
    """A script, a function of a library, or a library that is loaded, from its start to its end."""

    __slots__ = (
        "allows_growth", "argv", "client", "deadline_us", "has_written", "is_brief", "is_function",
        "is_killed", "is_library", "is_read_only", "name", "replicates", "slot", "started_us",
    )  # fmt: skip

    def __init__(
        self,
        client: Client,
        name: bytes,
        argv: Argv,
        *,
        is_function: bool = False,
        is_library: bool = False,
        is_read_only: bool = False,
    ) -> None:
        self.client = client  # the caller
        self.name = name  # SHA1 of the script, or the name of the function or library
        self.argv = argv
        self.is_function = is_function  # what FUNCTION KILL ends; if not, SCRIPT KILL
        self.is_library = is_library
        self.is_read_only = is_read_only
        self.allows_growth = False  # declares `allow-oom`
        self.is_brief = False  # it is not paused
        self.has_written = False
        self.is_killed = False
        self.replicates = REPLICATE_ALL
        self.slot = ANY_SLOT  # NO_SLOT for one that must keep to the slot of its first key
        self.started_us = 0
        self.deadline_us = 0  # 0: none


def running_script(
    client: Client, name: bytes, argv: Argv, is_function: cython.bint, is_read_only: cython.bint
) -> Running:
    """`Running` for a script or a function that starts, as a C function."""
    running: Running = Running.__new__(Running)
    running.client, running.name, running.argv = client, name, argv
    running.is_function, running.is_read_only = is_function, is_read_only
    running.is_library = running.is_brief = running.has_written = running.is_killed = False
    running.allows_growth = False
    running.replicates = REPLICATE_ALL
    running.slot = ANY_SLOT
    running.started_us = running.deadline_us = 0
    return running


@cython.cclass
class ScriptClient(Client):
    """The client of commands that a script runs: no connection, and not in the table of clients.

    Its changes of keys count as the caller's.
    """

    __slots__ = ("caller",)

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance, -1, instance.databases[0])
        self.address = b"lua"
        self.deny_blocking = True
        self.caller: Client = self

    def begin(self, caller: Client) -> None:
        """Prepare for a script: it runs in its caller's database, with RESP2."""
        self.caller = caller
        self.db, self.user, self.no_touch = caller.db, caller.user, caller.no_touch
        self.gates = caller.gates & GATE_RESTRICTED
        self.resp = 2
        self.propagates = False
        self.commands = 0

    def modified(self, key: bytes, changes: cython.longlong = 1) -> None:
        """`key` was changed by the caller: watching transactions fail, caches are invalidated."""
        instance = self.instance
        instance.dirty += changes
        if instance.key_observers:
            instance.key_modified(self.db, key, self.caller)

    def send(self, data: bytes) -> None:
        """Messages are dropped: there is no connection to send them to."""
