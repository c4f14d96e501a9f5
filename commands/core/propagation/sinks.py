"""Sinks: the receivers of propagated requests, such as the append-only file and replicas.

commands/core/propagation/propagation.py says what they are given, and when.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import hiredis

from protocol.records import frozen_record
from protocol.requests import Argv

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


def units_in(db_index: int, wire: bytes) -> Iterator[tuple[int, list[Argv]]]:
    """The units of a batch that begins in `db_index`, each as its database and its requests."""
    unit: list[Argv] = []
    first_db = db_index
    for request in decoded(wire):
        if request[0] == b"SELECT":
            db_index = int(request[1])
            if not unit:
                first_db = db_index
                continue
        unit.append(request)
        if unit[0] != [b"MULTI"] or request == [b"EXEC"]:
            yield first_db, unit
            unit, first_db = [], db_index


def decoded(wire: bytes) -> list[Argv]:
    """The words of each of a row of encoded requests."""
    reader = hiredis.Reader()
    reader.feed(wire)
    return list(iter(reader.gets, False))
