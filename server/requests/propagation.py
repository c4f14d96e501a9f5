"""Propagation: collects the requests that repeat a command's changes, as one unit.

EXEC and scripts run other commands, and any command may remove a key that has expired. All of these
changes go to the sinks (the append-only file, replicas) as one unit when the outermost command is
done: wrapped in MULTI and EXEC if it is more than one request, each with its database.
"""

from __future__ import annotations

from collections.abc import Sequence

import cython

from commands.core.client import Client
from commands.core.instance import Instance
from commands.core.sinks import ANY_DATABASE, FileRequest, Message, decoded, hand_to
from protocol.request import Request
from protocol.requests import Argv
from storage.append_only.requests import encode_request

# What redis.set_repl says.
TO_NONE, TO_FILE, TO_REPLICAS, TO_ALL = range(4)
_UNKNOWN_DATABASE = -2


@cython.cclass
class Propagation:
    """Collects the units of one dispatcher."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self.unit: list[Argv | bytes] = []  # bytes: encoded
        # The databases of the last and the first request of the unit.
        self._db = self._first_db = ANY_DATABASE
        self._has_messages = False
        self.held = TO_ALL

    def collect(self, client: Client, request: Request, is_outermost: bool, changed: bool) -> None:
        """Add what a command propagates: what it chose, else its request if it changed data.

        If it is the outermost command, its unit is given to the sinks.
        """
        chosen, client.propagated = client.propagated, None
        if chosen is None:
            chosen = [request.whole()] if changed else []
        if not is_outermost:
            self.add(client.db.index, chosen)
            return
        if len(chosen) == 1 and not self.unit and self.held == TO_ALL:  # saves 0.8 us a request
            only = chosen[0]
            wire = only if isinstance(only, bytes) else encode_request(only)
            self._instance.emit_encoded(client.db.index, wire, 1)
        else:
            self.add(client.db.index, chosen)
            if not self.unit:
                return
            self.hand_on()
        client.note_write()

    def add(self, db_index: cython.Py_ssize_t, requests: list[Argv | bytes]) -> None:
        """Add requests after those collected so far."""
        if not requests:
            return
        if self.held != TO_ALL:
            self._add_held(db_index, requests)
            return
        if self._db == ANY_DATABASE:
            self._first_db = db_index
        elif self._db != db_index:
            self.unit.append([b"SELECT", b"%d" % db_index])
        self._db = db_index
        self.unit += requests

    def _add_held(self, db_index: int, requests: Sequence[Argv | bytes]) -> None:
        """Add requests for the file only, for replicas only, or for neither: redis.set_repl."""
        if self.held == TO_NONE:
            return
        if self._db == ANY_DATABASE:
            self._first_db = db_index
        kind = FileRequest if self.held == TO_FILE else Message
        select = [b"SELECT", b"%d" % db_index]
        self.unit.append(kind(select))
        self.unit += [kind(words) for request in requests for words in decoded(request)]
        self._db = _UNKNOWN_DATABASE  # to the sinks that do not get them
        self._has_messages = True

    def add_message(self, request: Argv) -> None:
        """Add a request for replicas only (PUBLISH)."""
        if not self.held & TO_REPLICAS:
            return
        self.unit.append(Message(request))
        self._has_messages = True

    def hand_on(self) -> None:
        """The outermost command is done: give the unit to the sinks, if it is not empty."""
        if not self.unit:
            return
        unit, db_index, has_messages = self.unit, self._first_db, self._has_messages
        self.drop()
        if not has_messages:
            self._instance.emit(db_index, _framed(unit))
            return
        streamed = [request for request in unit if type(request) is not FileRequest]
        if streamed:
            self._instance.emit(db_index, _framed(streamed), messages=True)
        self._keep(db_index, [request for request in unit if type(request) is not Message])

    def _keep(self, db_index: int, unit: Sequence[Argv | bytes]) -> None:
        """Give the requests that are not messages to the sinks that take no messages."""
        instance = self._instance
        sinks = [sink for sink in instance.sinks if not sink.takes_messages]
        if unit and sinks:
            hand_to(sinks, db_index, _framed(unit))

    def drop(self) -> None:
        """Drop the unit."""
        self.unit = []
        self._db = self._first_db = ANY_DATABASE
        self._has_messages = False


def _framed(unit: Sequence[Argv | bytes]) -> Sequence[Argv | bytes]:
    """The unit, wrapped in MULTI and EXEC if it is more than one request."""
    return [[b"MULTI"], *unit, [b"EXEC"]] if len(unit) > 1 else unit
