"""Propagation: the requests that repeat changes, for the append-only file and the replicas.

Requests are written once, as RESP, into one buffer. What one action has changed is a *unit*: a
request, or several between MULTI and EXEC. A sink gets all units of a cycle as the same bytes:

    writer = propagation.begin(db_index)    # for each request that repeats a change
    writer.request([b"SET", key, value])
    propagation.end_unit()                  # the action is done
    propagation.hand_over()                 # the sinks are about to write, or to be counted

EXEC and scripts run other commands, and any command may remove a key that has expired: all of these
changes are one unit. A sink that needs a SELECT, a file that begins or a replica that is new, asks
for it when the first unit of a batch is complete (`Sink.begin`); between units and inside of them
the buffer has its own.

Messages (PUBLISH) change no data and are for replicas only; redis.set_repl keeps requests from the
file or from replicas. Such a unit leaves the buffer: each kind of sink gets its own part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import cython

from protocol.records import frozen_record
from protocol.request import Cutter, words_of_all
from protocol.requests import Argv
from storage.append_only.request_writer import RequestWriter
from storage.append_only.requests import encode_request, select_request

# The database of a unit that consists of messages only.
ANY_DATABASE = -1


@frozen_record
class Sink:
    """A receiver of batches of units.

    `begin(db_index)` is called when the first unit of a batch is complete: `db_index` is the
    database of its first request. `take(wire, last_db)` takes the batch as RESP, and the database
    that it leaves selected.
    """

    begin: Callable[[int], object]
    take: Callable[[bytes, int], object]
    takes_messages: bool = False


def units_in(db_index: int, wire: bytes) -> list[tuple[int, list[Argv]]]:
    """The units of a batch that begins in `db_index`, each as its database and its requests."""
    units: list[tuple[int, list[Argv]]] = []
    unit: list[Argv] = []
    first_db = db_index
    for request in words_of_all(wire):
        if request[0] == b"SELECT":
            db_index = int(request[1])
            if not unit:
                first_db = db_index
                continue
        unit.append(request)
        if unit[0] != [b"MULTI"] or request == [b"EXEC"]:
            units.append((first_db, unit))
            unit, first_db = [], db_index
    return units


# What redis.set_repl says.
TO_NONE, TO_FILE, TO_REPLICAS, TO_ALL = range(4)
_MULTI = encode_request([b"MULTI"])
_EXEC = encode_request([b"EXEC"])


class _Part:
    """The requests of a unit that one kind of sink gets."""

    def __init__(self) -> None:
        self.wires: list[bytes] = []
        self.count = 0
        self.first_db = self.db = ANY_DATABASE

    def add(self, db_index: int, wire: bytes) -> None:
        """Add a request."""
        if db_index == ANY_DATABASE:
            db_index = self.db
        elif self.db == ANY_DATABASE:
            self.first_db = db_index
        elif self.db != db_index:
            self.wires.append(select_request(db_index))
            self.count += 1
        self.add_all(self.first_db, wire, 1, db_index)

    def add_all(self, first_db: int, wire: bytes, count: int, last_db: int) -> None:
        """Add several requests, with the SELECTs between them."""
        self.first_db, self.db = first_db, last_db
        self.wires.append(wire)
        self.count += count

    def framed(self) -> bytes:
        """The part, wrapped in MULTI and EXEC if it is more than one request."""
        wire = b"".join(self.wires)
        return b"".join((_MULTI, wire, _EXEC)) if self.count > 1 else wire


class _Parts:
    """A unit with requests that not all sinks get."""

    def __init__(self) -> None:
        self.file, self.stream = _Part(), _Part()
        self._scratch = RequestWriter()  # the request that was begun last
        self._db = ANY_DATABASE
        self._targets = TO_NONE

    def begin(self, db_index: int, targets: int) -> RequestWriter:
        """The writer for a request to the targets."""
        self.collect()
        self._db, self._targets = db_index, targets
        return self._scratch

    def collect(self) -> None:
        """Take the request that was begun last."""
        wire = self._scratch.take(self._scratch.end)
        if wire and self._targets & TO_FILE:
            self.file.add(self._db, wire)
        if wire and self._targets & TO_REPLICAS:
            self.stream.add(self._db, wire)

    def mend(self) -> None:
        """See Propagation."""
        if self._scratch.end:
            _is_whole(self._scratch, 0)


@cython.cclass
class Propagation:
    """What one instance propagates."""

    def __init__(self) -> None:
        self.sinks: list[Sink] = []
        self.units = 0  # complete ones, up to now
        # The offset of the replication stream, up to the last complete unit; ReplicationState has
        # what it means. It counts the units of this server while `feeds_stream` is set.
        self.offset = 0
        self.feeds_stream = False
        self.held = TO_ALL
        self.depth = 0  # of the commands that run: EXEC and scripts run others
        self._writer = RequestWriter()
        # the batch: complete units
        self._first_db = ANY_DATABASE
        self._has_begun = False  # the sinks know of it
        self._counted = 0  # bytes that `offset` counts
        # the unit that is open, at the end of the buffer
        self._start = 0
        self._db_before = ANY_DATABASE  # the database that is selected at its start
        self._db = ANY_DATABASE  # and at its end
        self.requests = 0  # it has, so far
        self._is_transaction = False
        self._request_start = 0  # of the last of them
        self._parts: _Parts | None = None

    def add_sink(self, sink: Sink) -> None:
        """Give the units from now on to one more sink."""
        self.hand_over()
        self.sinks.append(sink)

    def remove_sink(self, sink: Sink) -> None:
        """Give a sink no more units."""
        self.hand_over()
        self.sinks.remove(sink)

    # -- writing -------------------------------------------------------------------------------

    def begin(self, db_index: cython.Py_ssize_t) -> RequestWriter:
        """Begin a request of the open unit, for a database; it has to be written to the result."""
        if self._parts is not None or self.held != TO_ALL:
            return self._open_parts().begin(db_index, self.held)
        if self._db != db_index:
            self._select(db_index)
        if self.requests == 1:
            self._make_transaction()
        self.requests += 1
        writer: RequestWriter = self._writer
        self._request_start = writer.end
        return writer

    def add(self, db_index: cython.Py_ssize_t, words: Sequence[bytes]) -> None:
        """Add a request to the open unit."""
        writer: RequestWriter = self.begin(db_index)
        writer.request(words)

    def propagate(self, db_index: int, words: Argv) -> None:
        """Propagate a change that no client requested (an expired key), in order with the rest.

        As in Redis, redis.set_repl does not hold it back.
        """
        if self.sinks:
            held, self.held = self.held, TO_ALL
            self.add(db_index, words)
            self.held = held
            if not self.depth:
                self.end_unit()

    def propagate_message(self, words: Argv) -> None:
        """Send replicas a request that changes no data (PUBLISH), in order with the rest."""
        if self.feeds_stream:
            self.add_message(words)
            if not self.depth:
                self.end_unit()

    def add_message(self, words: Argv) -> None:
        """Add a request for replicas only to the open unit; it is for no database."""
        if self.held & TO_REPLICAS:
            self._open_parts().begin(ANY_DATABASE, TO_REPLICAS).request(words)

    @cython.cfunc
    def _select(self, db_index: cython.Py_ssize_t) -> None:
        """The next request is for another database than the one before it."""
        writer: RequestWriter = self._writer
        if self.requests:
            self._make_transaction()
            writer.encoded(select_request(db_index))
            self.requests += 1
        else:
            if self._start:
                writer.encoded(select_request(db_index))
                self._start = writer.end
            else:
                self._first_db = db_index
            self._db_before = db_index
        self._db = db_index

    @cython.cfunc
    def _make_transaction(self) -> None:
        if not self._is_transaction:
            self._is_transaction = True
            self._writer.insert(self._start, _MULTI)

    # -- the end of a unit ---------------------------------------------------------------------

    def end_unit(self) -> None:
        """The outermost command is done: the open unit is complete, if it has a request."""
        if self._parts is not None:
            self._end_parts()
        elif self.requests:
            writer: RequestWriter = self._writer
            if self._is_transaction:
                self._is_transaction = False
                writer.encoded(_EXEC)
            self.requests = 0
            self._start = writer.end
            self._db_before = self._db
            self.units += 1
            self._count()
            # Before the cycle ends: so the buffer stays in the processor's cache.
            if self._start > 64 * 1024:
                self.hand_over()

    @cython.cfunc
    def _count(self) -> None:
        """Let the sinks begin the batch, and count its new bytes."""
        if not self._has_begun:
            self._has_begun = True
            for sink in self.sinks:
                sink.begin(self._first_db)
        if self.feeds_stream:
            self.offset += self._start - self._counted
        self._counted = self._start

    def drop(self) -> None:
        """Forget the open unit."""
        self._writer.cut(self._start)
        self.requests = 0
        self._is_transaction = False
        self._db = self._db_before
        self._parts = None

    @property
    def is_in_transaction(self) -> bool:
        """True if EXEC or a script runs: its changes so far are not propagated yet."""
        return self.depth > 1

    def flush(self) -> None:
        """Propagate what ran so far to the present sinks: the role is about to change."""
        self.end_unit()
        self.hand_over()

    def mend(self) -> None:
        """A handler has failed, perhaps in the middle of a request: take that request back."""
        if self._parts is not None:
            self._parts.mend()
        elif self.requests and not _is_whole(self._writer, self._request_start):
            self.requests -= 1

    def hand_over(self) -> None:
        """Give the complete units to the sinks."""
        size: cython.Py_ssize_t = self._start
        if not size:
            return
        if self._counted < size:
            self._count()  # a SELECT whose unit was dropped
        data = self._writer.take(size)
        last_db = self._db_before
        self._start = self._counted = 0
        self._request_start -= size
        self._has_begun = False
        self._first_db = last_db
        for sink in self.sinks:
            sink.take(data, last_db)

    # -- units of which sinks get different parts ----------------------------------------------

    def _open_parts(self) -> _Parts:
        """The parts of the open unit, which leaves the buffer now."""
        if self._parts is None:
            count = self.requests
            wire = self._writer.cut(self._start)
            if self._is_transaction:
                wire = wire.removeprefix(_MULTI)
            parts = _Parts()
            if count:
                for part in (parts.file, parts.stream):
                    part.add_all(self._db_before, wire, count, self._db)
            self.drop()
            self._parts, self.requests = parts, 1
        return self._parts

    def _end_parts(self) -> None:
        assert self._parts is not None
        parts, self._parts, self.requests = self._parts, None, 0
        parts.collect()
        self.hand_over()
        if parts.file.count or parts.stream.count:
            self.units += 1
        for sink in self.sinks:
            part = parts.stream if sink.takes_messages else parts.file
            if part.count:
                sink.begin(part.first_db)
                sink.take(part.framed(), part.db)
        if self.feeds_stream:
            self.offset += len(parts.stream.framed())


def _is_whole(writer: RequestWriter, start: int) -> bool:
    """Return True if exactly one request was written from `start` on; take it back if not."""
    wire = writer.cut(start)
    cutter = Cutter()
    cutter.load(wire)
    if not cutter.next() or cutter.position != len(wire):
        return False
    writer.encoded(wire)
    return True
