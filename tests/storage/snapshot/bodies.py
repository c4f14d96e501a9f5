"""Bodies of streams, put together field by field, for the tests of the encoder and the decoder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from storage.entries.entry_id import EntryID, make_id
from storage.redis_format.listpack import Element, encode_listpack
from storage.redis_format.primitives import Cursor, encode_length, encode_string
from storage.snapshot.format import Reading
from storage.snapshot.stream_decoder import decode_stream
from storage.snapshot.stream_encoder import stream_pieces
from storage.stream import Stream

NOW_MS = 1_700_000_000_000
ONLY_ID = make_id(5, 0)
ONLY_KEY = ONLY_ID.to_bytes(16, "big")


def encoded(
    stream: Stream, stream_type: int = 27, *, compress: bool = False, now_ms: int = NOW_MS
) -> bytes:
    return b"".join(stream_pieces(stream, stream_type, compress=compress, now_ms=now_ms))


def decoded(body: bytes, stream_type: int = 27, *, trusted: bool = False) -> Stream:
    """The stream of a body, which is all there is."""
    cursor = Cursor(b"before" + body, len(b"before"))
    stream = decode_stream(cursor, stream_type, Reading(NOW_MS, NOW_MS, trusted))
    assert cursor.left == 0
    return stream


@dataclass
class PendingFields:
    entry_id: EntryID
    delivery_ms: int = 5
    count: int = 1

    def body(self) -> bytes:
        delivered = self.delivery_ms.to_bytes(8, "little", signed=True)
        return self.entry_id.to_bytes(16, "big") + delivered + encode_length(self.count)


@dataclass
class ConsumerFields:
    name: bytes = b"c"
    seen_ms: int = 6
    active_ms: int = -1
    pending: Sequence[EntryID] = ()

    def body(self) -> bytes:
        times = [n.to_bytes(8, "little", signed=True) for n in (self.seen_ms, self.active_ms)]
        return b"".join([string(self.name), *times, raw_ids(self.pending)])


@dataclass
class GroupFields:
    name: bytes = b"g"
    last_id: EntryID = 0
    entries_read: int = 2**64 - 1
    pending: Sequence[PendingFields] = ()
    consumers: Sequence[ConsumerFields] = ()
    released: Sequence[EntryID] = ()

    def body(self) -> bytes:
        parts = [string(self.name), lengths(self.last_id), encode_length(self.entries_read)]
        parts += counted(pending.body() for pending in self.pending)
        parts += counted(consumer.body() for consumer in self.consumers)
        return b"".join([*parts, raw_ids(self.released)])


@dataclass
class NodeFields:
    key: bytes = ONLY_KEY
    elements: Sequence[Element] = (1, 0, 1, b"f", 0, 2, 0, 0, b"v", 4)

    def body(self) -> bytes:
        return string(self.key) + string(encode_listpack(self.elements))


@dataclass
class StreamFields:
    """A whole stream of type 27 with one entry, 5-0."""

    nodes: Sequence[NodeFields] = (NodeFields(),)
    length: int = 1
    last_id: EntryID = ONLY_ID
    first_id: EntryID = ONLY_ID
    max_deleted_id: EntryID = 0
    entries_added: int = 1
    groups: Sequence[GroupFields] = ()
    limits: tuple[int, int] = (100, 100)
    producers: Sequence[tuple[bytes, Sequence[tuple[bytes, EntryID]]]] = ()
    counters: tuple[int, int] = (0, 0)
    surplus: bytes = field(default=b"")

    def body(self) -> bytes:
        parts = counted(node.body() for node in self.nodes)
        parts += [encode_length(self.length)]
        parts += map(lengths, (self.last_id, self.first_id, self.max_deleted_id))
        parts += [encode_length(self.entries_added)]
        parts += counted(group.body() for group in self.groups)
        parts += map(encode_length, self.limits)
        parts += counted(
            string(pid) + b"".join(counted(string(iid) + lengths(i) for iid, i in messages))
            for pid, messages in self.producers
        )
        return b"".join([*parts, *map(encode_length, self.counters), self.surplus])


def string(data: bytes) -> bytes:
    return encode_string(data, compress=False)


def lengths(entry_id: EntryID) -> bytes:
    return encode_length(entry_id >> 64) + encode_length(entry_id % 2**64)


def raw_ids(ids: Sequence[EntryID]) -> bytes:
    return b"".join(counted(entry_id.to_bytes(16, "big") for entry_id in ids))


def counted(bodies: Iterable[bytes]) -> list[bytes]:
    parts = list(bodies)
    return [encode_length(len(parts)), *parts]
