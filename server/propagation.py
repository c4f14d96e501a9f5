"""What commands propagate, collected until the outermost one of them is done.

EXEC runs other commands, and any command may find a key that has expired: what they change belongs
together. So all of it goes to the sinks (the append-only file) as one unit, in MULTI and EXEC where
it is more than one request, with the databases that the requests are for.
"""

from __future__ import annotations

from commands.client import Client
from commands.instance import Instance
from commands.registry import Argv


class Propagation:
    """The unit of one dispatcher that is being collected."""

    __slots__ = ("_db", "_first_db", "_instance", "unit")

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self.unit: list[Argv] = []
        # The databases that the last and the first request of the unit are for.
        self._db = self._first_db = 0

    def collect(self, client: Client, argv: Argv, *, changed: bool) -> None:
        """What a client's command propagates: what it said itself, or itself if it changed data."""
        explicit, client.propagated = client.propagated, None
        if explicit is not None:
            self.add(client.db.index, explicit)
        elif changed:
            self.add(client.db.index, [argv])

    def add(self, db_index: int, requests: list[Argv]) -> None:
        """Requests that come behind those collected so far."""
        if not requests:
            return
        if not self.unit:
            self._first_db = db_index
        elif self._db != db_index:
            self.unit.append([b"SELECT", b"%d" % db_index])
        self._db = db_index
        self.unit += requests

    def hand_on(self) -> None:
        """The outermost command is done: give the unit to the sinks, if there is any."""
        if not self.unit:
            return
        unit, self.unit = self.unit, []
        if len(unit) > 1:
            unit = [[b"MULTI"], *unit, [b"EXEC"]]
        self._instance.emit(self._first_db, unit)

    def drop(self) -> None:
        """Nobody wants it any more: the file was switched off meanwhile."""
        self.unit = []
