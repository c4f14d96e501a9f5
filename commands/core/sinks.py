"""Sinks: the receivers of propagated requests, such as the append-only file and replicas.

A unit is the requests of one action: a single request, or several between MULTI and EXEC. It is
encoded once for all sinks; some requests in it are bytes already. Several units of one request each
may be handed over in one call, already encoded.

Messages (PUBLISH) change no data: they are for replicas only, and are for no database.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import hiredis

from protocol.records import frozen_record
from storage.append_only.requests import encode_request

if TYPE_CHECKING:
    from protocol.requests import Argv

# The database of a unit that consists of messages only.
ANY_DATABASE = -1


class Message(list[bytes]):
    """A request that replicas get, and that no file keeps."""


class FileRequest(list[bytes]):
    """A request that the file keeps, and that no replica gets."""


@frozen_record
class Sink:
    """A receiver: `take_encoded(db_index, wire, last_db)` takes units as RESP.

    `db_index` is the database of the first request, `last_db` that of the last.
    """

    take_encoded: Callable[[int, bytes, int], None]
    takes_messages: bool = False


def hand_to(sinks: list[Sink], db_index: int, unit: Sequence[Argv | bytes]) -> None:
    """Hand one unit to every sink in `sinks`."""
    if not sinks:
        return
    wire = b"".join([each if isinstance(each, bytes) else encode_request(each) for each in unit])
    last_db = _last_database(db_index, unit)
    for sink in sinks:
        sink.take_encoded(db_index, wire, last_db)


def units_in(wire: bytes) -> Iterator[list[Argv]]:
    """The units that a sink was handed, each as its requests."""
    unit: list[Argv] = []
    for request in decoded(wire):
        unit.append(request)
        if unit[0] != [b"MULTI"] or request == [b"EXEC"]:
            yield unit
            unit = []


def decoded(requests: Argv | bytes) -> list[Argv]:
    """The words of a request, or of each in a row of encoded ones."""
    if not isinstance(requests, bytes):
        return [requests]
    reader = hiredis.Reader()
    reader.feed(requests)
    return list(iter(reader.gets, False))


def _last_database(db_index: int, unit: Sequence[Argv | bytes]) -> int:
    for request in reversed(unit):
        if request[0] == b"SELECT":
            return int(request[1])
    return db_index
