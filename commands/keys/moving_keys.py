"""The keys that MIGRATE is sending: writes to them wait, those to others go on.

A request that may write any key waits as well: a script, whatever keys it declares, and FLUSHALL,
FLUSHDB and SWAPDB, which name none. Databases are not distinguished.
"""

from __future__ import annotations

from collections.abc import Iterable

from commands.core.instance import Instance
from commands.core.registry import WRITE, Command
from protocol.request import Request

_SCRIPTS = {b"eval", b"evalsha", b"fcall"}


class MovingKeys:
    """A feature of the instance. `names`: the keys; GATE_MIGRATING is shut while there are any."""

    def __init__(self, instance: Instance) -> None:
        self.names: set[bytes] = set()

    def may_be_written(self, writes: Iterable[tuple[Command, Request]]) -> bool:
        """Return True if any of these requests may write one of the keys.

        `writes`: those that may write, or replicate, anything.
        """
        return any(self._may_be_written(command, request) for command, request in writes)

    def _may_be_written(self, command: Command, request: Request) -> bool:
        if command.fullname in _SCRIPTS:
            return True
        if not command.flags & WRITE:
            return False  # PUBLISH
        if not command.keys:
            return True
        words = request.words()
        return any(words[place] in self.names for place in command.key_positions(words))
