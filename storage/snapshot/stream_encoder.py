"""A stream as the body of an RDB value: types 15, 19, 21, 26 and 27.

The types have the same parts in the same order; each adds to the one before it. The fields are
numbered in docs/architecture/snapshots.md, and storage/snapshot/stream_decoder.py reads them.

    type  since  adds
    15    5.0    nodes, length, last ID, groups, pending entries, consumers
    19    7.0    first ID, greatest deleted ID, entries added; entries read by a group
    21    7.2    when a consumer was last active
    26    8.6    producers and their messages (IDMP)
    27    8.8    entries that were released (XNACK)

What is written: deleted entries are left out, and so are messages of producers that are too old.
Groups and consumers are in the order of their names, as Redis has them, so that equal streams give
equal bytes. A node that was never unpacked is written as it is.

A type that is lower than `stream_type` says loses what it has no field for. Entries that were
released are not among that: to leave them out would acknowledge messages that were not processed,
and no Redis before 8.8 loads pending entries without an owner. They become those of a consumer with
the empty name, which is how XPENDING shows that they have none, as delivered at the time 0: the
first XAUTOCLAIM or XCLAIM gets them, whatever idle time it asks for. Their counts of deliveries
stay. Only the order of their releases is lost, and that they have no owner.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from operator import itemgetter
from typing import TypeAlias

from storage.entries.entry_id import MAX_ID, MAX_SEQ, MIN_ID, SEQ_BITS, EntryID
from storage.groups.group import NEVER, UNKNOWN, Group
from storage.groups.pending_block import Owner, PendingEntries
from storage.idempotence import Idempotence
from storage.redis_format.primitives import encode_length, encode_string
from storage.snapshot.node_writer import NodeWriter
from storage.stream import Stream

# A consumer as it is written: name, seen_ms, active_ms, and the IDs of what it has, ascending: how
# many, and some at a time.
_Owner: TypeAlias = tuple[bytes, int, int, int, Iterable[list[EntryID]]]

TYPE_COUNTERS = 19
TYPE_ACTIVE_TIME = 21
TYPE_IDEMPOTENCE = 26
TYPE_RELEASED = 27
STREAM_TYPES = frozenset({15, 19, 21, 26, 27})

# The number that stands for entries_read of a group that does not know it.
UNKNOWN_CODE = 2**64 - 1

# The consumer that owns released entries in a type without a field for them.
NOBODY = b""

_MILLISECONDS = struct.Struct("<q")

# Most counts of deliveries are small: each is encoded once.
_encode_count = lru_cache(maxsize=256)(encode_length)

# Nodes are written in pieces of this size, or little more.
PIECE_BYTES = 64 * 1024
_IDS_IN_PIECE = 4096


def stream_type(stream: Stream) -> int:
    """The lowest type from 21 on that has a field for everything in the stream."""
    if any(group.nacked_count for group in stream.groups.values()):
        return TYPE_RELEASED
    return TYPE_ACTIVE_TIME if stream.idempotence is None else TYPE_IDEMPOTENCE


def stream_pieces(
    stream: Stream, stream_type: int, *, compress: bool, now_ms: int
) -> Iterator[bytes]:
    """The body of a stream in pieces: some nodes, or some hundred pending entries.

    The type byte itself is the caller's. `now_ms`: messages of producers that have expired by then
    are left out.
    """
    assert stream_type in STREAM_TYPES
    yield from _nodes(stream, compress)
    yield encode_length(stream.length) + _id_lengths(stream.last_id)
    if stream_type >= TYPE_COUNTERS:
        yield _id_lengths(stream.first_id) + _id_lengths(stream.max_deleted_id)
        yield encode_length(stream.entries_added)
    yield encode_length(len(stream.groups))
    for _, group in sorted(stream.groups.items()):
        yield from _group(group, stream_type, compress, now_ms)
    if stream_type >= TYPE_IDEMPOTENCE:
        yield from _idempotence(stream.idempotence or Idempotence(), compress, now_ms)


def _id_lengths(entry_id: EntryID) -> bytes:
    return encode_length(entry_id >> SEQ_BITS) + encode_length(entry_id & MAX_SEQ)


# -- nodes -------------------------------------------------------------------------------------


def _nodes(stream: Stream, compress: bool) -> Iterator[bytes]:
    nodes, index = stream.node_items()
    yield encode_length(len(nodes) - index)
    writer = NodeWriter(compress=compress)
    while index < len(nodes):
        index = writer.put_from(nodes, index, PIECE_BYTES)
        yield writer.take()


# -- groups ------------------------------------------------------------------------------------


def _group(group: Group, stream_type: int, compress: bool, now_ms: int) -> Iterator[bytes]:
    yield encode_string(group.name, compress=compress)
    yield _id_lengths(group.last_delivered_id)
    if stream_type >= TYPE_COUNTERS:
        read = group.entries_read
        yield encode_length(UNKNOWN_CODE if read == UNKNOWN else read)
    yield from _group_pending(group)
    owners: list[_Owner] = [
        (c.name, c.seen_ms, c.active_ms, len(c.pending), _ids_of(c.pending, c))
        for c in group.consumers.values()
    ]
    if stream_type < TYPE_RELEASED and group.nacked_count:
        owners = _with_nobody(owners, group, now_ms)
    yield encode_length(len(owners))
    for name, seen_ms, active_ms, count, ids in sorted(owners, key=itemgetter(0)):
        yield encode_string(name, compress=compress)
        yield _MILLISECONDS.pack(seen_ms)
        if stream_type >= TYPE_ACTIVE_TIME:
            yield _MILLISECONDS.pack(active_ms)
        yield from _ids(count, ids)
    if stream_type >= TYPE_RELEASED:
        released = group.nacked_ids()
        batches = iter(lambda: list(islice(released, _IDS_IN_PIECE)), [])
        yield from _ids(group.nacked_count, batches)


def _group_pending(group: Group) -> Iterator[bytes]:
    yield encode_length(len(group.pending))
    for ids, _, times_ms, counts in group.pending.lend(MIN_ID, MAX_ID):
        parts = [b""] * (3 * len(ids))
        parts[::3] = [entry_id.to_bytes(16, "big") for entry_id in ids]
        # Lists: compiled, a slice of a list takes nothing else.
        parts[1::3] = list(map(_MILLISECONDS.pack, times_ms))
        parts[2::3] = list(map(_encode_count, counts))
        yield b"".join(parts)


def _with_nobody(owners: list[_Owner], group: Group, now_ms: int) -> list[_Owner]:
    """The owners, with a nameless one for the released entries (see the module)."""
    nobody = group.consumers.get(NOBODY)
    ids = _ids_of(group.pending, None, nobody)
    if nobody is None:
        return [*owners, (NOBODY, now_ms, NEVER, group.nacked_count, ids)]
    count = group.nacked_count + nobody.pending_count
    others = [owner for owner in owners if owner[0] != NOBODY]
    return [*others, (NOBODY, nobody.seen_ms, nobody.active_ms, count, ids)]


def _ids_of(pending: PendingEntries, *owners: Owner | None) -> Iterator[list[EntryID]]:
    """The IDs of what these consumers have, ascending, those of a block at a time."""
    for ids, names, _, _ in pending.lend(MIN_ID, MAX_ID):
        yield [entry_id for entry_id, name in zip(ids, names, strict=True) if name in owners]


def _ids(count: int, batches: Iterable[list[EntryID]]) -> Iterator[bytes]:
    yield encode_length(count)
    for ids in batches:
        yield b"".join([i.to_bytes(16, "big") for i in ids])


# -- idempotent producing ----------------------------------------------------------------------


def _idempotence(memory: Idempotence, compress: bool, now_ms: int) -> Iterator[bytes]:
    yield encode_length(memory.duration_s) + encode_length(memory.maxsize)
    producers = memory.current(now_ms)
    yield encode_length(len(producers))
    for pid, messages in sorted(producers.items()):
        yield encode_string(pid, compress=compress) + encode_length(len(messages))
        for iid, entry_id in messages.items():
            yield encode_string(iid, compress=compress) + _id_lengths(entry_id)
    yield encode_length(memory.added) + encode_length(memory.duplicates)
