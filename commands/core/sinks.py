"""Sinks: the receivers of propagated requests, such as the append-only file and replicas.

A unit is the requests of one action: a single request, or several between MULTI and EXEC. It is
encoded once for all sinks that take bytes; a raw handler's request in it is bytes already. Several
units of one request each may be handed over in one call, already encoded.

Messages (PUBLISH) change no data: they are for replicas only, and are for no database.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import hiredis

from protocol.records import frozen_record
from storage.append_only.requests import encode_request

if TYPE_CHECKING:
    from commands.core.registry import Argv

# The database of a unit that consists of messages only.
ANY_DATABASE = -1


class Message(list[bytes]):
    """A request that replicas get, and that no file keeps."""


class FileRequest(list[bytes]):
    """A request that the file keeps, and that no replica gets."""


@frozen_record
class Sink:
    """A receiver: `append(db_index, unit)` takes a unit, or `take_encoded(db_index, wire, last_db)`
    its bytes.

    `db_index` is the database of the first request, `last_db` that of the last.
    """

    append: Callable[[int, list[Argv]], None] | None = None
    take_encoded: Callable[[int, bytes, int], None] | None = None
    takes_messages: bool = False

    def take_units(self, db_index: int, wire: bytes) -> None:
        """Units of one request each, encoded as RESP."""
        if self.take_encoded is not None:
            self.take_encoded(db_index, wire, db_index)
            return
        assert self.append is not None
        for request in _decoded(wire):
            self.append(db_index, [request])


def hand_to(sinks: list[Sink], db_index: int, unit: Sequence[Argv | bytes]) -> None:
    """Hand one unit to every sink in `sinks`."""
    wire = b""
    last_db = db_index
    for sink in sinks:
        if sink.take_encoded is None:
            assert sink.append is not None
            sink.append(db_index, [request for each in unit for request in _decoded(each)])
            continue
        if not wire:
            wire = b"".join(
                [each if isinstance(each, bytes) else encode_request(each) for each in unit]
            )
            last_db = _last_database(db_index, unit)
        sink.take_encoded(db_index, wire, last_db)


def _decoded(requests: Argv | bytes) -> list[Argv]:
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
