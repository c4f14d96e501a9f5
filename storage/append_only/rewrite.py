"""The requests that rebuild a key, for an append-only file whose base is not a snapshot.

Used when aof-use-rdb-preamble is no. State that requests cannot express is lost, as in Redis: the
times at which a consumer was seen and active, pending entries whose entry is deleted, the number of
duplicates.

The commands are those of Redis 8.8. Beyond it, every consumer is created by a request of its own,
so that one whose pending entries are all deleted stays, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, islice
from typing import Any

from protocol.replies import format_double
from storage.append_only.requests import rebuild_hash, wrap
from storage.entries.entry import decode_payload
from storage.entries.entry_id import MAX_ID, MIN_ID, EntryID, format_id
from storage.groups.ack_journal import journal_request
from storage.groups.group import Group
from storage.groups.pending_block import PendingEntry
from storage.idempotence import Idempotence
from storage.keyspace.database import Database
from storage.nodes.listpack_node import ListpackNode
from storage.policies.rows import rows_of
from storage.stream import Stream
from storage.types.hashes import HashValue
from storage.types.lists import ListValue
from storage.types.sets import SetValue, SortedSetValue
from storage.types.value import StringValue, Value

# The number of elements, members or fields in one request, as in Redis.
ITEMS_PER_REQUEST = 64
# The number of IDs in one XNACK.
_IDS_PER_REQUEST = 64

# The number of items of a collection in one request, as in Redis.
_ITEMS_PER_REQUEST = 64

Argv = list[bytes]


def rebuild_requests(db: Database, key: bytes, now_ms: int) -> Iterator[Argv]:
    """The requests that create the existing `key` in an empty database.

    `now_ms`: remembered IDs of producers that have expired by then are left out.
    """
    value = db.values[key]
    yield from REBUILDERS[type(value)](key, value, now_ms)
    when_ms = db.deadline(key)
    if when_ms is not None:
        yield [b"PEXPIREAT", key, b"%d" % when_ms]


def _rebuild_string(key: bytes, string: StringValue, now_ms: int) -> Iterator[Argv]:
    yield [b"SET", key, string.to_bytes()]


def _rebuild_set(key: bytes, value: SetValue, now_ms: int) -> Iterator[Argv]:
    members = iter(value)
    while some := list(islice(members, _ITEMS_PER_REQUEST)):
        yield [b"SADD", key, *some]


def _rebuild_sorted_set(key: bytes, value: SortedSetValue, now_ms: int) -> Iterator[Argv]:
    for start in range(0, len(value), _ITEMS_PER_REQUEST):
        request = [b"ZADD", key]
        for score, member in value.pairs(start, start + _ITEMS_PER_REQUEST):
            request += (format_double(score), member)
        yield request


def _rebuild_stream(key: bytes, stream: Stream, now_ms: int) -> Iterator[Argv]:
    if stream.length:
        for entry_id, fields in _entries(stream):
            yield [b"XADD", key, format_id(entry_id), *fields]
    else:
        yield [b"XADD", key, b"MAXLEN", b"0", b"0-1", b"x", b"y"]
    # A stream of Redis 7.0 may have a last ID below its greatest deleted ID, which XSETID refuses.
    max_deleted_id = min(stream.max_deleted_id, stream.last_id)
    yield [
        b"XSETID", key, format_id(stream.last_id),
        b"ENTRIESADDED", b"%d" % stream.entries_added,
        b"MAXDELETEDID", format_id(max_deleted_id),
    ]  # fmt: skip
    for group in stream.groups.values():
        yield from _rebuild_group(key, group)
    if stream.idempotence is not None:
        yield from _rebuild_idempotence(key, stream, stream.idempotence, now_ms)
    if stream.ack_journal is not None:
        yield wrap(journal_request(key, stream.ack_journal))
    for row in rows_of(stream):
        yield wrap([b"XPOLICY", key, *row])


def _entries(stream: Stream) -> Iterator[tuple[EntryID, list[bytes]]]:
    """(ID, fields) of each, a node at a time."""
    for kept in stream.iter_nodes():
        node = kept.unpack() if isinstance(kept, ListpackNode) else kept
        ids = node.select_ids(MIN_ID, MAX_ID, node.live)
        payload = node.payload()
        yield from zip(ids, decode_payload(payload, len(ids)), strict=True)


def _rebuild_group(key: bytes, group: Group) -> Iterator[Argv]:
    yield [
        b"XGROUP", b"CREATE", key, group.name, format_id(group.last_delivered_id),
        b"ENTRIESREAD", b"%d" % group.entries_read,
    ]  # fmt: skip
    for consumer in group.consumers.values():
        yield [b"XGROUP", b"CREATECONSUMER", key, group.name, consumer.name]
        for entry_id, entry in consumer.pending.items():
            yield [
                b"XCLAIM", key, group.name, consumer.name, b"0", format_id(entry_id),
                b"TIME", b"%d" % entry.delivery_ms,
                b"RETRYCOUNT", b"%d" % entry.delivery_count,
                b"JUSTID", b"FORCE",
            ]  # fmt: skip
    for delivery_count, ids in _released(group.nacked()):
        words = [b"FAIL", b"IDS", b"%d" % len(ids), *ids]
        yield [
            b"XNACK", key, group.name, *words, b"RETRYCOUNT", b"%d" % delivery_count, b"FORCE"
        ]  # fmt: skip


def _released(entries: Iterable[PendingEntry]) -> Iterator[tuple[int, list[bytes]]]:
    """(delivery count, IDs) in the order in which they were released."""
    for delivery_count, same in groupby(entries, lambda entry: entry.delivery_count):
        ids = [format_id(entry.entry_id) for entry in same]
        for start in range(0, len(ids), _IDS_PER_REQUEST):
            yield delivery_count, ids[start : start + _IDS_PER_REQUEST]


def _rebuild_idempotence(
    key: bytes, stream: Stream, idempotence: Idempotence, now_ms: int
) -> Iterator[Argv]:
    yield [
        b"XCFGSET", key,
        b"IDMP-DURATION", b"%d" % idempotence.duration_s,
        b"IDMP-MAXSIZE", b"%d" % idempotence.maxsize,
    ]  # fmt: skip
    for pid, messages in idempotence.current(now_ms).items():
        for iid, entry_id in messages.items():
            if entry_id in stream:
                yield [b"XIDMPRECORD", key, pid, iid, format_id(entry_id)]


def _rebuild_list(key: bytes, value: ListValue, now_ms: int) -> Iterator[Argv]:
    for items in value.batches(ITEMS_PER_REQUEST):
        yield [b"RPUSH", key, *items]


REBUILDERS: dict[type[Value], Callable[[bytes, Any, int], Iterator[Argv]]] = {
    StringValue: _rebuild_string,
    ListValue: _rebuild_list,
    SetValue: _rebuild_set,
    SortedSetValue: _rebuild_sorted_set,
    Stream: _rebuild_stream,
    HashValue: rebuild_hash,
}
