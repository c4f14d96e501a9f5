"""A stream from the body of an RDB value: types 15, 19, 21, 26 and 27.

The fields are numbered in docs/architecture/snapshots.md; storage/snapshot/stream_encoder.py writes
them and says what each type adds. What an older type leaves out is made up as Redis does it.

Guarantees: the input is not trusted. Nodes, their entries and the stream's length agree; IDs ascend
and end with the last ID; names of groups, consumers, producers and messages come once; each pending
entry has one owner, or was released. Whatever is wrong raises CorruptSnapshot with its position,
except for what older servers write and Redis 8.10 refuses: that is put right
(storage/snapshot/stream_refusals.py). Nothing is allocated for a count that the input has no room
for.

If the bytes are `trusted`, because their checksum was correct, the nodes are not unpacked: only
their keys and counts are read, and the rest at the first access (storage/nodes/listpack_node.py).
Other nodes are unpacked to validate them, and kept packed: at once, or in steps of a node
(`Reading.checks`). The cursor's allowance limits their unpacked size.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Generator, Iterator
from itertools import islice
from operator import lt
from typing import TypeAlias, TypeVar

from storage.entries.entry_id import MAX_ID, SEQ_BITS, EntryID, format_id
from storage.groups.group import LOADED_AT_ONCE, NEVER, UNKNOWN, Group
from storage.idempotence import DEFAULT_DURATION_S, DEFAULT_MAXSIZE, Idempotence
from storage.nodes.listpack_node import DamagedNode, ListpackNode
from storage.redis_format.primitives import Allowance, CorruptSnapshot, Cursor
from storage.snapshot.format import Reading
from storage.snapshot.stream_encoder import (
    STREAM_TYPES,
    TYPE_ACTIVE_TIME,
    TYPE_COUNTERS,
    TYPE_IDEMPOTENCE,
    TYPE_RELEASED,
    UNKNOWN_CODE,
)
from storage.stream import Stream, estimate_entries_read, set_entries_read

_Result = TypeVar("_Result")
# What is read in steps; its result is what was read.
Steps: TypeAlias = Generator[None, None, _Result]
# IDs, delivery times and delivery counts of pending entries.
_Rows: TypeAlias = tuple[list[EntryID], list[int], list[int]]

ID_BYTES = 16

# Counters and times are 64-bit numbers with a sign in commands and replies.
NUMBER_LIMIT = 2**63

# What XCFGSET takes (Redis 8.6).
MAX_DURATION_S = 86_400
MAX_MAXSIZE = 10_000

# A pending entry of a group takes 25 bytes if its count is a length of one byte, as most are.
PENDING_BYTES = 25
_PENDING_IDS = struct.Struct(">QQ9x")
_PENDING_TIMES = struct.Struct("<16xqx")
_IDS = struct.Struct(">QQ")
_ONE_BYTE_LENGTHS = bytes(range(64))
_NODES_IN_STEP = 128

# The fewest bytes that something can take, of which a count follows.
_NODE_BYTES = 2
_GROUP_BYTES = 5
_CONSUMER_BYTES = 10
_PRODUCER_BYTES = 2
_MESSAGE_BYTES = 3


def decode_stream(cursor: Cursor, stream_type: int, reading: Reading) -> Stream:
    """The stream whose body begins at the cursor, which is moved after it.

    Raises CorruptSnapshot, as do the checks that are left to the caller.
    """
    steps = stream_steps(cursor, stream_type, reading)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            stream: Stream = end.value
            return stream


def stream_steps(cursor: Cursor, stream_type: int, reading: Reading) -> Steps[Stream]:
    """`decode_stream` in steps of a millisecond or two, for streams of any length."""
    assert stream_type in STREAM_TYPES
    stream = Stream()
    stream.access_ms = reading.access_ms
    yield from _read_entries(cursor, stream, reading)
    _read_counters(cursor, stream, stream_type, reading)
    for _ in range(cursor.count(_GROUP_BYTES)):
        yield from _read_group(cursor, stream, stream_type, reading)
    if stream_type >= TYPE_IDEMPOTENCE:
        stream.idempotence = _read_idempotence(cursor)
    return stream


def _put_right(reading: Reading, start: int, reason: str) -> None:
    """Say that something is put right, which a strict reader refuses."""
    if reading.strict:
        raise CorruptSnapshot(start, reason)


# -- entries -----------------------------------------------------------------------------------


def _read_entries(cursor: Cursor, stream: Stream, reading: Reading) -> Steps[None]:
    """The nodes, the length and the last ID: fields 1 to 3."""
    start = cursor.position
    nodes: list[ListpackNode] = []
    positions: list[int] = []
    live = 0
    for _ in range(cursor.count(_NODE_BYTES)):
        at = cursor.position
        node = _read_node(cursor)
        if node.live:
            nodes.append(node)
            positions.append(at)
            live += node.live
        else:
            _put_right(reading, at, "a node has no live entry")
        if not len(nodes) % _NODES_IN_STEP:
            yield
    stream.length = _number(cursor, "length")
    stream.last_id = _id_lengths(cursor)
    if stream.length != live:
        raise CorruptSnapshot(start, f"{stream.length} entries are not what is in the nodes")
    yield from _set_ends(nodes, positions, stream.last_id)
    if not reading.trusted:
        checks = _examine(nodes, positions, cursor.allowance)
        if reading.checks is None:
            deque(checks, maxlen=0)
        else:
            reading.checks.append(checks)
    for at in range(0, len(nodes), _NODES_IN_STEP):
        stream.load_nodes(list(nodes[at : at + _NODES_IN_STEP]))
        yield


def _read_node(cursor: Cursor) -> ListpackNode:
    start = cursor.position
    key = cursor.string()
    if len(key) != ID_BYTES:
        raise CorruptSnapshot(start, f"the key of a node has {len(key)} bytes")
    listpack = cursor.packed_string()
    try:
        return ListpackNode(int.from_bytes(key, "big"), MAX_ID, listpack)
    except CorruptSnapshot as error:
        raise CorruptSnapshot(start, error.reason) from None


def _set_ends(nodes: list[ListpackNode], positions: list[int], last_id: EntryID) -> Steps[None]:
    """Let each node end before the next one begins, and the last one with the last ID."""
    end = last_id
    for left, (node, position) in enumerate(zip(reversed(nodes), reversed(positions), strict=True)):
        if node.key > end:
            raise CorruptSnapshot(position, "the key of a node is above what follows it")
        node.end = end
        end = node.key - 1
        if not left % LOADED_AT_ONCE:
            yield


def _examine(
    nodes: list[ListpackNode], positions: list[int], allowance: Allowance | None
) -> Iterator[None]:
    """Check that all nodes can be unpacked, a node in each step; `positions` are their offsets.

    They stay packed: a payload takes no more memory than its size.
    """
    for node, position in zip(nodes, positions, strict=True):
        try:
            node.unpack(allowance)
        except DamagedNode as error:
            raise CorruptSnapshot(position, str(error)) from None
        yield


# -- counters ----------------------------------------------------------------------------------


def _read_counters(cursor: Cursor, stream: Stream, stream_type: int, reading: Reading) -> None:
    """Fields 4 to 6."""
    stream.entries_added = stream.length
    if stream_type < TYPE_COUNTERS:
        return
    start = cursor.position
    first_id = _id_lengths(cursor)  # it follows from the nodes
    if reading.strict and first_id != stream.first_id:
        _put_right(reading, start, "the first ID is not that of the first entry")
    stream.max_deleted_id = _id_lengths(cursor)
    if stream.max_deleted_id > stream.last_id:
        _put_right(reading, start, "an ID above the last one was deleted")
        stream.max_deleted_id = stream.last_id
    stream.entries_added = _number(cursor, "entries-added")
    if stream.entries_added < stream.length:
        raise CorruptSnapshot(start, "fewer entries were ever added than there are")


def _number(cursor: Cursor, what: str) -> int:
    """A counter, which is below 2^63."""
    start = cursor.position
    number = cursor.length()
    if number >= NUMBER_LIMIT:
        raise CorruptSnapshot(start, f"{what} cannot be {number}")
    return number


def _id_lengths(cursor: Cursor) -> EntryID:
    return cursor.length() << SEQ_BITS | cursor.length()


# -- groups ------------------------------------------------------------------------------------


def _read_group(cursor: Cursor, stream: Stream, stream_type: int, reading: Reading) -> Steps[None]:
    """Field 7: a group with its pending entries and consumers.

    Batch by batch they go to the group: no list has all of a million, which would take 10 ms to
    free.
    """
    start = cursor.position
    name = cursor.string()
    if name in stream.groups:
        raise CorruptSnapshot(start, f"there are two groups {name!r}")
    group = Group(name, _id_lengths(cursor))
    stream.add_group(group)
    entries_read = _read_entries_read(cursor, stream, group, stream_type, reading)
    set_entries_read(stream, group, entries_read)
    yield from _read_pending(cursor, group)
    for _ in range(cursor.count(_CONSUMER_BYTES)):
        yield from _read_consumer(cursor, group, stream_type)
    start = cursor.position
    if stream_type >= TYPE_RELEASED:
        yield from _read_released(cursor, group)
    if not group.is_loaded:
        raise CorruptSnapshot(start, "it is not clear who owns some of the pending entries")


def _read_entries_read(
    cursor: Cursor, stream: Stream, group: Group, stream_type: int, reading: Reading
) -> int:
    if stream_type < TYPE_COUNTERS:
        return estimate_entries_read(stream, group.last_delivered_id)
    start = cursor.position
    number = cursor.length()
    if number == UNKNOWN_CODE:
        return UNKNOWN
    if number >= NUMBER_LIMIT:
        raise CorruptSnapshot(start, f"entries-read cannot be {number}")
    if number > stream.entries_added:
        _put_right(reading, start, "a group has read more entries than were ever added")
    return number


def _read_consumer(cursor: Cursor, group: Group, stream_type: int) -> Steps[None]:
    start = cursor.position
    name = cursor.string()
    if name in group.consumers:
        raise CorruptSnapshot(start, f"there are two consumers {name!r}")
    consumer = group.create_consumer(name, cursor.milliseconds())
    # An older Redis did not know more than when a consumer was seen.
    consumer.active_ms = consumer.seen_ms
    if stream_type >= TYPE_ACTIVE_TIME:
        consumer.active_ms = max(cursor.milliseconds(), NEVER)
    for ids in _read_ids(cursor):
        odd_id = group.load_owned(consumer, sorted(ids))
        if odd_id is not None:
            raise CorruptSnapshot(start, f"consumer {name!r} cannot own {_text(odd_id)}")
        yield


def _read_released(cursor: Cursor, group: Group) -> Steps[None]:
    start = cursor.position
    for ids in _read_ids(cursor):
        odd_id = group.load_released(ids)
        if odd_id is not None:
            raise CorruptSnapshot(start, f"{_text(odd_id)} is not pending without an owner, once")
        yield


def _read_pending(cursor: Cursor, group: Group) -> Steps[None]:
    """The pending entries of a group, LOADED_AT_ONCE at a time."""
    start = cursor.position
    rows: _Rows = ([], [], [])
    for batch in _read_rows(cursor):
        for column, more in zip(rows, batch, strict=True):
            column.extend(more)
        if len(rows[0]) >= LOADED_AT_ONCE:
            some, rows = _cut(rows, LOADED_AT_ONCE)
            _load_pending(group, some, start)
        yield
    while rows[0]:
        some, rows = _cut(rows, LOADED_AT_ONCE)
        _load_pending(group, some, start)
        yield
    yield from group.order_pending()


def _read_rows(cursor: Cursor) -> Iterator[_Rows]:
    """(IDs, delivery times, delivery counts) of pending entries, up to LOADED_AT_ONCE of them."""
    left, batch = cursor.count(PENDING_BYTES), LOADED_AT_ONCE
    while left:
        # As long as all counts are lengths of one byte, whole batches have a fixed form.
        position = cursor.position
        chunk = cursor.raw(min(batch, left) * PENDING_BYTES)
        lengths = chunk[PENDING_BYTES - 1 :: PENDING_BYTES]
        fixed = len(lengths) - len(lengths.lstrip(_ONE_BYTE_LENGTHS))
        chunk = chunk[: fixed * PENDING_BYTES]
        ids = [high << 64 | low for high, low in _PENDING_IDS.iter_unpack(chunk)]
        times_ms = [delivery_ms for (delivery_ms,) in _PENDING_TIMES.iter_unpack(chunk)]
        counts = list(lengths[:fixed])
        batch = min(2 * batch, LOADED_AT_ONCE)
        if fixed < len(lengths):
            # One is not; how many more there are like it will show.
            cursor.position = position + len(chunk)
            ids.append(cursor.id())
            times_ms.append(cursor.milliseconds())
            counts.append(cursor.length())
            batch = 1
        left -= len(ids)
        yield ids, times_ms, counts


def _cut(rows: _Rows, count: int) -> tuple[_Rows, _Rows]:
    """The first rows, up to `count` of them, and the others."""
    ids, times_ms, counts = rows
    first = (ids[:count], times_ms[:count], counts[:count])
    return first, (ids[count:], times_ms[count:], counts[count:])


def _load_pending(group: Group, rows: _Rows, start: int) -> None:
    """Make entries pending. Their IDs ascend in what servers write, but in any order will do."""
    ids, times_ms, counts = rows
    if min(times_ms) < 0:
        raise CorruptSnapshot(start, "an entry cannot have been delivered before 1970")
    last_id = group.pending.last_key()
    if (last_id is None or last_id < ids[0]) and all(map(lt, ids, islice(ids, 1, None))):
        group.load_pending(ids, times_ms, counts)
        return
    odd_id = group.load_strays(ids, times_ms, counts)
    if odd_id is not None:
        raise CorruptSnapshot(start, f"{_text(odd_id)} is pending twice in a group")


def _read_ids(cursor: Cursor) -> Iterator[list[EntryID]]:
    """IDs in batches."""
    left = cursor.count(ID_BYTES)
    while left:
        data = cursor.raw(min(LOADED_AT_ONCE, left) * ID_BYTES)
        ids = [high << 64 | low for high, low in _IDS.iter_unpack(data)]
        left -= len(ids)
        yield ids


def _text(entry_id: EntryID) -> str:
    return format_id(entry_id).decode()


# -- idempotent producing ----------------------------------------------------------------------


def _read_idempotence(cursor: Cursor) -> Idempotence | None:
    """Field 8. None where nothing is in it but what every stream begins with."""
    start = cursor.position
    duration_s, maxsize = cursor.length(), cursor.length()
    if not (1 <= duration_s <= MAX_DURATION_S and 1 <= maxsize <= MAX_MAXSIZE):
        raise CorruptSnapshot(start, f"messages cannot be kept {duration_s} s or {maxsize} of them")
    memory = Idempotence(duration_s, maxsize)
    for _ in range(cursor.count(_PRODUCER_BYTES)):
        _read_producer(cursor, memory)
    memory.added = _number(cursor, "iids-added")
    memory.duplicates = _number(cursor, "iids-duplicates")
    limits = (duration_s, maxsize)
    is_used = memory.producers or memory.added or memory.duplicates
    return memory if is_used or limits != (DEFAULT_DURATION_S, DEFAULT_MAXSIZE) else None


def _read_producer(cursor: Cursor, memory: Idempotence) -> None:
    start = cursor.position
    pid = cursor.string()
    messages: dict[bytes, EntryID] = {}
    count = cursor.count(_MESSAGE_BYTES)
    for _ in range(count):
        iid = cursor.string()
        messages[iid] = _id_lengths(cursor)
    if not pid or b"" in messages or pid in memory.producers:
        raise CorruptSnapshot(start, "a producer or a message has no name, or one that was there")
    if not len(messages) == count <= memory.maxsize:
        raise CorruptSnapshot(start, f"producer {pid!r} has a message twice, or too many")
    if messages:
        memory.load(pid, messages)
