"""A packed table of records: the base class of sets and hashes.

The records are packed into segments, blocks of some kilobytes that have an index each. A few
hundred records are one segment. When a segment is full, it is divided in two by the next bit of the
hashes of its keys, and a directory has the segment for each combination of their first bits
(extendible hashing):

    hash 00...  ─┐
    hash 01...  ─┴─ segment of depth 1      hashes that begin with 0
    hash 10...  ─── segment of depth 2
    hash 11...  ─── segment of depth 2

So a table grows and shrinks a segment at a time, however large it is, and only the directory, 8
bytes for some hundred records, is ever copied as a whole. The hash is keyed with a random number by
each process, so clients cannot choose keys that fill one segment.

    table = PackedTable(PAIRS)
    table.put(b"field", b"value")     # True: it is new
    table.value(b"field")             # b"value"
    table.all_records()               # [pair(b"field", b"value")]
    table.discard(b"field")           # True: it was there

Order: that of insertion within a segment, and a changed record keeps its place. A table that
`is_ordered` stays one segment, as long as that has less than 8 MiB.

Scans go through the hashes in ascending order, and the cursor is the first 48 bits of one. So a
record that is there during a whole scan is returned once, however the segments change, and the
server has no state.

A copy shares the segments, until either table changes them. A segment is one block of memory:

    0   4   how many tables have the segment: a copy shares it until either is changed
    4   4   the size of the block
    8   4   where the records end
    12  4   the number of records
    16  4   the number of slots of the index, 0 without one
    20  4   its depth: how many bits at the top of their hashes all keys of the segment share
    24      the slots, and then the records, one after the other, in the order of insertion

A slot has the place of a record in its low 24 bits, and 8 bits of the hash above, which spare most
comparisons with other keys; 0 is a free slot. Records are in the order of their hashes, but those
that collide, which go to the next free slot (linear probing): a scan reads a part of the slots.
A few records have no index and are searched one by one.

There are never gaps: a record that is removed or that changes its size moves those after it, which
are a few kilobytes. So records keep their order, and nothing needs to be compacted. Numbers are in
the byte order of the machine, which nothing outside sees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import cython

from storage.keyspace.deferred_free import RemovedData
from storage.types.records import pair
from storage.types.value import Value

if not cython.compiled:
    # Compiled, they are C functions, which the module's C types import.
    from storage.memory import is_at, move_bytes, put_bytes
    from storage.types.blocks import (
        allocated,
        block_at,
        bulk_bytes,
        bytes_at,
        clear,
        copy_record,
        drop,
        exists,
        filled,
        free_block,
        free_codes,
        free_directory,
        home_slot,
        keep,
        keep_again,
        kept,
        move_slots,
        new_block,
        new_bytes,
        new_codes,
        new_directory,
        no_directory,
        nth_slot,
        number_at,
        object_bytes,
        part_of,
        put_block,
        put_bulk,
        put_number,
        resized,
    )
    from storage.types.key_part import (
        KEYS,
        LONG,
        LONG_HEADER,
        MEMBERS,
        VALUES,
        hash_at,
        hash_of,
        key_length,
        key_start,
    )

    SHARED, SIZE, END, COUNT, SLOTS, DEPTH, HEADER = range(0, 28, 4)
    PLACES = (1 << 24) - 1
    # In place of the size of a record that is an object, and what such a record takes in a block.
    LARGE = 255
    LARGE_BYTES = 9

# Up to this many records need no index.
FEW = 32
_FEW: cython.Py_ssize_t = FEW
# From this number of records on there are slots for as many as a segment should have, so that
# those of a large table are made once.
_SOME: cython.Py_ssize_t = 128
MOST_RECORDS = 384
_MOST: cython.Py_ssize_t = MOST_RECORDS
_MOST_SLOTS: cython.Py_ssize_t = MOST_RECORDS * 4 // 3


# -- records -----------------------------------------------------------------------------------


def taken_bytes(block: cython.p_uchar, place: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """What the record at a place takes in the block."""
    return 1 + block[place] if block[place] != LARGE else LARGE_BYTES


def body_text(block: cython.p_uchar, place: cython.Py_ssize_t) -> cython.p_const_uchar:
    """What has the body in it: the block, or the object of a large record."""
    if block[place] != LARGE:
        return block  # type: ignore[return-value]
    record: bytes = kept(block, place + 1)
    return record


def body_start(block: cython.p_uchar, place: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Where the body begins in `body_text`."""
    return place + 1 if block[place] != LARGE else 0


def body_size(block: cython.p_uchar, place: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """The size of the body."""
    return block[place] if block[place] != LARGE else len(kept(block, place + 1))


def body_of(block: cython.p_uchar, place: cython.Py_ssize_t) -> bytes:
    """The body of the record at a place."""
    if block[place] != LARGE:
        return bytes_at(block, place + 1, block[place])
    return kept(block, place + 1)


def code_at(
    kind: cython.Py_ssize_t, block: cython.p_uchar, place: cython.Py_ssize_t
) -> cython.ulonglong:
    """The hash of the key of the record at a place."""
    text: cython.p_const_uchar = body_text(block, place)
    at: cython.Py_ssize_t = body_start(block, place)
    start: cython.Py_ssize_t = key_start(kind, text, at)
    return hash_at(text, start, key_length(kind, text, at, body_size(block, place), start))


def has_key_at(
    kind: cython.Py_ssize_t,
    block: cython.p_uchar,
    place: cython.Py_ssize_t,
    wanted: cython.p_const_uchar,
    length: cython.Py_ssize_t,
) -> cython.bint:
    """Return True if the key of the record at a place is the first `length` bytes of `wanted`."""
    text: cython.p_const_uchar = body_text(block, place)
    at: cython.Py_ssize_t = body_start(block, place)
    start: cython.Py_ssize_t = key_start(kind, text, at)
    return (
        key_length(kind, text, at, body_size(block, place), start) == length
        # Keys that begin alike end differently: most others are recognised by their last byte.
        and (length == 0 or text[start + length - 1] == wanted[length - 1])
        and is_at(text, start, wanted, length)
    )


def bulk_at(text: cython.p_const_uchar, start: cython.Py_ssize_t, size: cython.Py_ssize_t) -> bytes:
    """A part of `text` as a bulk string."""
    made = new_bytes(bulk_bytes(size))
    out: cython.p_uchar = made
    put_bulk(out, 0, text, start, size)
    return filled(made)


def bulks_bytes(
    kind: cython.Py_ssize_t, block: cython.p_uchar, parts: cython.int
) -> cython.Py_ssize_t:
    """The size of the records of a segment as bulk strings: their keys, or values, or both."""
    place: cython.Py_ssize_t = first_place(block)
    end: cython.Py_ssize_t = number_at(block, END)
    total: cython.Py_ssize_t = 0
    while place < end:
        text: cython.p_const_uchar = body_text(block, place)
        at: cython.Py_ssize_t = body_start(block, place)
        size: cython.Py_ssize_t = body_size(block, place)
        start: cython.Py_ssize_t = key_start(kind, text, at)
        length: cython.Py_ssize_t = key_length(kind, text, at, size, start)
        if parts & KEYS:
            total += bulk_bytes(length)
        if parts & VALUES:
            total += bulk_bytes(at + size - start - length)
        place += taken_bytes(block, place)
    return total


def put_bulks(
    kind: cython.Py_ssize_t,
    out: cython.p_uchar,
    to: cython.Py_ssize_t,
    block: cython.p_uchar,
    parts: cython.int,
) -> cython.Py_ssize_t:
    """Write these bulk strings to a place of `out`; the place after them."""
    place: cython.Py_ssize_t = first_place(block)
    end: cython.Py_ssize_t = number_at(block, END)
    while place < end:
        text: cython.p_const_uchar = body_text(block, place)
        at: cython.Py_ssize_t = body_start(block, place)
        size: cython.Py_ssize_t = body_size(block, place)
        start: cython.Py_ssize_t = key_start(kind, text, at)
        length: cython.Py_ssize_t = key_length(kind, text, at, size, start)
        if parts & KEYS:
            to = put_bulk(out, to, text, start, length)
        if parts & VALUES:
            to = put_bulk(out, to, text, start + length, at + size - start - length)
        place += taken_bytes(block, place)
    return to


# -- segments ----------------------------------------------------------------------------------


def new_segment(
    size: cython.Py_ssize_t, slots: cython.Py_ssize_t, depth: cython.Py_ssize_t
) -> bytearray:
    """An empty segment in a block of `size` bytes, which has room for the slots."""
    block: cython.p_uchar = new_block(size)
    clear(block, 0, HEADER + 4 * slots)
    put_number(block, SHARED, 1)
    put_number(block, SIZE, size)
    put_number(block, END, HEADER + 4 * slots)
    put_number(block, SLOTS, slots)
    put_number(block, DEPTH, depth)
    return block


def first_place(block: cython.p_uchar) -> cython.Py_ssize_t:
    """The place of the first record."""
    return HEADER + 4 * number_at(block, SLOTS)


def most_records(slots: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """The most records that a segment with this number of slots may have."""
    return slots - slots // 4 if slots else _FEW


def slots_for(count: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """The number of slots for a segment with this number of records and room for more."""
    if count < _FEW:
        return 0
    if count < _SOME:
        return 2 * count
    return _MOST_SLOTS if count < _MOST else 3 * count // 2


def find(
    kind: cython.Py_ssize_t,
    block: cython.p_uchar,
    key: cython.p_const_uchar,
    length: cython.Py_ssize_t,
    code: cython.ulonglong,
) -> cython.Py_ssize_t:
    """The place of the record with a key, whose hash is `code`; 0 without one."""
    place: cython.Py_ssize_t
    slots: cython.Py_ssize_t = number_at(block, SLOTS)
    if slots == 0:
        place = HEADER
        end: cython.Py_ssize_t = number_at(block, END)
        while place < end:
            if has_key_at(kind, block, place, key, length):
                return place
            place += taken_bytes(block, place)
        return 0
    tag: cython.uint = code & 255
    slot: cython.Py_ssize_t = home_slot(code, number_at(block, DEPTH), slots)
    entry: cython.uint
    while True:
        entry = number_at(block, HEADER + 4 * slot)
        if entry == 0:
            return 0
        if entry >> 24 == tag and has_key_at(kind, block, entry & PLACES, key, length):
            return entry & PLACES
        slot += 1
        if slot == slots:
            slot = 0


# -- changing ----------------------------------------------------------------------------------


def enter(block: cython.p_uchar, place: cython.Py_ssize_t, code: cython.ulonglong) -> None:
    """Enter the record at a place, the hash of whose key is `code`, into the index."""
    slots: cython.Py_ssize_t = number_at(block, SLOTS)
    slot: cython.Py_ssize_t = home_slot(code, number_at(block, DEPTH), slots)
    while number_at(block, HEADER + 4 * slot):
        slot += 1
        if slot == slots:
            slot = 0
    tag: cython.uint = code & 255
    put_number(block, HEADER + 4 * slot, tag << 24 | place)


def leave(
    kind: cython.Py_ssize_t,
    block: cython.p_uchar,
    place: cython.Py_ssize_t,
    code: cython.ulonglong,
) -> None:
    """Remove the record at a place from the index: the slots after it move up where they can."""
    slots: cython.Py_ssize_t = number_at(block, SLOTS)
    slot: cython.Py_ssize_t = home_slot(code, number_at(block, DEPTH), slots)
    while number_at(block, HEADER + 4 * slot) & PLACES != place:
        slot += 1
        if slot == slots:
            slot = 0
    depth: cython.uint = number_at(block, DEPTH)
    free: cython.Py_ssize_t = slot
    way: cython.Py_ssize_t
    entry: cython.uint
    while True:
        slot += 1
        if slot == slots:
            slot = 0
        entry = number_at(block, HEADER + 4 * slot)
        if entry == 0:
            break
        way = slot - home_slot(code_at(kind, block, entry & PLACES), depth, slots)
        if way < 0:
            way += slots
        if way >= (slot - free if slot >= free else slot - free + slots):
            put_number(block, HEADER + 4 * free, entry)
            free = slot
    put_number(block, HEADER + 4 * free, 0)


def shift(block: cython.p_uchar, start: cython.Py_ssize_t, way: cython.Py_ssize_t) -> None:
    """Move the records from `start` on by some bytes, for which there is room."""
    end: cython.Py_ssize_t = number_at(block, END)
    move_bytes(block, start, end, start + way)
    put_number(block, END, end + way)
    move_slots(block, HEADER, number_at(block, SLOTS), start, way)


def remove(
    kind: cython.Py_ssize_t,
    block: cython.p_uchar,
    place: cython.Py_ssize_t,
    code: cython.ulonglong,
) -> None:
    """Remove the record at a place; `code` is the hash of its key if there is an index."""
    if number_at(block, SLOTS):
        leave(kind, block, place, code)
    if block[place] == LARGE:
        drop(block, place + 1)
    taken: cython.Py_ssize_t = taken_bytes(block, place)
    shift(block, place + taken, -taken)
    put_number(block, COUNT, number_at(block, COUNT) - 1)


def take(
    block: cython.p_uchar,
    source: cython.p_uchar,
    place: cython.Py_ssize_t,
    code: cython.ulonglong,
) -> None:
    """Append a record of another segment, which gives it up; there must be room for it."""
    end: cython.Py_ssize_t = number_at(block, END)
    taken: cython.Py_ssize_t = taken_bytes(source, place)
    copy_record(block, end, source, place, taken)
    if number_at(block, SLOTS):
        enter(block, end, code)
    put_number(block, END, end + taken)
    put_number(block, COUNT, number_at(block, COUNT) + 1)


def take_all(kind: cython.Py_ssize_t, block: cython.p_uchar, source: cython.p_uchar) -> None:
    """Append all records of another segment, which is freed; there must be room for them."""
    start: cython.Py_ssize_t = first_place(source)
    size: cython.Py_ssize_t = number_at(source, END) - start
    place: cython.Py_ssize_t = number_at(block, END)
    end: cython.Py_ssize_t = place + size
    put_bytes(block, place, source, start, size)  # type: ignore[arg-type]
    put_number(block, END, end)
    put_number(block, COUNT, number_at(block, COUNT) + number_at(source, COUNT))
    free_block(source)
    if number_at(block, SLOTS):
        while place < end:
            enter(block, place, code_at(kind, block, place))
            place += taken_bytes(block, place)


# -- as a whole --------------------------------------------------------------------------------


def memory_of(block: cython.p_uchar) -> cython.Py_ssize_t:
    """What the block takes in memory, in bytes."""
    return allocated(number_at(block, SIZE))


def share(block: cython.p_uchar) -> None:
    """One more table has the segment."""
    put_number(block, SHARED, number_at(block, SHARED) + 1)


def twin_of(block: cython.p_uchar, size: cython.Py_ssize_t) -> bytearray:
    """A copy for one of the tables that share the segment, in a block of `size` bytes."""
    end: cython.Py_ssize_t = number_at(block, END)
    twin: cython.p_uchar = new_block(size)
    put_bytes(twin, 0, block, 0, end)  # type: ignore[arg-type]
    put_number(block, SHARED, number_at(block, SHARED) - 1)
    put_number(twin, SHARED, 1)
    put_number(twin, SIZE, size)
    place: cython.Py_ssize_t = first_place(twin)
    while place < end:
        if twin[place] == LARGE:
            keep_again(twin, place + 1)
        place += taken_bytes(twin, place)
    return twin


def give_up(block: cython.p_uchar) -> None:
    """A table gives the segment up, which is freed with its last table."""
    tables: cython.uint = number_at(block, SHARED)
    if tables > 1:
        put_number(block, SHARED, tables - 1)
        return
    place: cython.Py_ssize_t = first_place(block)
    end: cython.Py_ssize_t = number_at(block, END)
    while place < end:
        if block[place] == LARGE:
            drop(block, place + 1)
        place += taken_bytes(block, place)
    free_block(block)


# A segment of more records is divided; two that have fewer together are joined.

_MOST_JOINED: cython.Py_ssize_t = MOST_RECORDS // 2
_MOST_ORDERED_BYTES: cython.Py_ssize_t = 8 << 20
# The block of an empty table.
_LEAST_BYTES: cython.Py_ssize_t = 48

# A cursor is the first bits of a hash.
_POSITION_BITS: cython.int = 48
_LAST_POSITION: cython.long = (1 << 48) - 1
_REST_BITS: cython.int = 64 - 48
_REST: cython.ulonglong = (1 << 16) - 1

# A draw succeeds with a probability of about 0.6, and if few records are left of many with less.
_DRAWS = 16

# The number of segments in a piece of a long reply, which has some thousand records.
_SEGMENTS_PER_PIECE = 8

# The number of segments that are freed in a step of deferred work.
_SEGMENTS_PER_STEP = 8


@cython.cclass
class PackedTable(Value):
    """Records of one kind (key_part.py), by their keys."""

    __slots__ = (
        "_block", "_count", "_deepest", "_depth", "_directory", "_kind", "_memory", "is_ordered",
    )  # fmt: skip

    def __init__(self, kind: cython.int, access_ms: cython.long = 0) -> None:
        super().__init__(access_ms)
        self._kind = kind
        self.is_ordered = True  # whether it stays one segment, in the order of insertion
        self._block = new_segment(_LEAST_BYTES, 0, 0)  # the only segment, at depth 0
        self._memory = memory_of(self._block)  # that of segments, directory and large records
        self._count = 0
        self._depth = 0
        self._directory = no_directory()  # 2 ** depth segments, if there are several
        self._deepest = 0  # how many segments have that depth

    def __dealloc__(self) -> None:
        if exists(self._block):
            self._free()

    def _free(self) -> None:
        """Free all memory."""
        entry: cython.Py_ssize_t = 0
        while entry < 1 << self._depth:
            block = self._segment(entry)
            entry += self._span(block)
            give_up(block)
        free_directory(self._directory)

    def __len__(self) -> int:
        return self._count

    def __contains__(self, key: bytes) -> bool:
        return self.has(key)

    # -- where records are ---------------------------------------------------------------------

    def _segment(self, entry: cython.Py_ssize_t) -> cython.p_uchar:
        """The segment of an entry of the directory."""
        return self._block if self._depth == 0 else block_at(self._directory, entry)

    def _span(self, block: cython.p_uchar) -> cython.Py_ssize_t:
        """The number of entries that a segment has in the directory, one after the other."""
        return 1 << self._depth - number_at(block, DEPTH)

    def _segment_of(self, code: cython.ulonglong) -> cython.p_uchar:
        """The segment for keys with a hash."""
        if self._depth == 0:
            return self._block
        return block_at(self._directory, code >> 64 - self._depth)

    def _code(self, key: bytes) -> cython.ulonglong:
        """The hash of a key; 0 where none is needed."""
        if self._depth == 0 and number_at(self._block, SLOTS) == 0:
            return 0
        return hash_of(key, 0, len(key))

    def _set_segment(self, block: cython.p_uchar, code: cython.ulonglong) -> None:
        """Enter a segment into the directory; `code` is the hash of a key in it."""
        if self._depth == 0:
            self._block = block
            return
        span: cython.Py_ssize_t = self._span(block)
        first: cython.Py_ssize_t = code >> 64 - self._depth
        first -= first % span
        entry: cython.Py_ssize_t
        for entry in range(first, first + span):
            put_block(self._directory, entry, block)

    # -- reading -------------------------------------------------------------------------------

    def has(self, key: bytes) -> cython.bint:
        """Return True if there is a record with this key."""
        code: cython.ulonglong = self._code(key)
        return find(self._kind, self._segment_of(code), key, len(key), code) > 0

    def record(self, key: bytes) -> bytes | None:
        """The record with this key, or None."""
        code: cython.ulonglong = self._code(key)
        block: cython.p_uchar = self._segment_of(code)
        place: cython.Py_ssize_t = find(self._kind, block, key, len(key), code)
        return body_of(block, place) if place else None

    def value(self, key: bytes) -> bytes | None:
        """The value in the record with this key, or None: what follows the key."""
        code: cython.ulonglong = self._code(key)
        block: cython.p_uchar = self._segment_of(code)
        place: cython.Py_ssize_t = find(self._kind, block, key, len(key), code)
        if place == 0:
            return None
        before: cython.Py_ssize_t = _size_of(self._kind, len(key), 0)
        start: cython.Py_ssize_t = body_start(block, place) + before
        return bytes_at(body_text(block, place), start, body_size(block, place) - before)

    def value_bulk(self, key: bytes) -> bytes | None:
        """The value in the record with this key as a bulk string, or None."""
        code: cython.ulonglong = self._code(key)
        block: cython.p_uchar = self._segment_of(code)
        place: cython.Py_ssize_t = find(self._kind, block, key, len(key), code)
        if place == 0:
            return None
        before: cython.Py_ssize_t = _size_of(self._kind, len(key), 0)
        start: cython.Py_ssize_t = body_start(block, place) + before
        return bulk_at(body_text(block, place), start, body_size(block, place) - before)

    def _records_of(self, block: cython.p_uchar, records: list[bytes]) -> None:
        """Append the records of a segment to a list."""
        place: cython.Py_ssize_t = first_place(block)
        end: cython.Py_ssize_t = number_at(block, END)
        while place < end:
            records.append(body_of(block, place))
            place += taken_bytes(block, place)

    def all_records(self) -> list[bytes]:
        """All records."""
        records: list[bytes] = []
        entry: cython.Py_ssize_t = 0
        while entry < 1 << self._depth:
            block = self._segment(entry)
            self._records_of(block, records)
            entry += self._span(block)
        return records

    def batches(self) -> Iterator[list[bytes]]:
        """All records, a segment at a time, as long as the table does not change."""
        entry: cython.Py_ssize_t = 0
        while entry < 1 << self._depth:
            records: list[bytes] = []
            block = self._segment(entry)
            self._records_of(block, records)
            entry += self._span(block)
            yield records

    def bulks(self, head: bytes, parts: cython.int) -> bytes:
        """All keys, values or both (KEYS + VALUES) as bulk strings, after some bytes."""
        return self._bulks(head, parts, 0, 1 << self._depth)

    def bulk_pieces(self, parts: cython.int) -> Iterator[bytes]:
        """The same in pieces of some segments, as long as the table does not change."""
        entry: cython.Py_ssize_t = 0
        end: cython.Py_ssize_t
        while entry < 1 << self._depth:
            end = self._following(entry, _SEGMENTS_PER_PIECE)
            yield self._bulks(b"", parts, entry, end)
            entry = end

    def _following(self, entry: cython.Py_ssize_t, count: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """The entry of the directory after some segments, or its end."""
        while count and entry < 1 << self._depth:
            entry += self._span(self._segment(entry))
            count -= 1
        return entry

    def _bulks(
        self, head: bytes, parts: cython.int, first: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> bytes:
        """The bulk strings of the segments in a part of the directory, after some bytes."""
        total: cython.Py_ssize_t = len(head)
        entry: cython.Py_ssize_t = first
        while entry < end:
            block = self._segment(entry)
            total += bulks_bytes(self._kind, block, parts)
            entry += self._span(block)
        made = new_bytes(total)
        out: cython.p_uchar = made
        at: cython.Py_ssize_t = put_bytes(out, 0, head, 0, len(head))
        entry = first
        while entry < end:
            block = self._segment(entry)
            at = put_bulks(self._kind, out, at, block, parts)
            entry += self._span(block)
        return filled(made)

    def filtered(
        self, others: Sequence[PackedTable], are_in: cython.bint, limit: int
    ) -> list[bytes]:
        """The keys that all others have, or that none of them has; up to `limit` of them.

        Tables have their keys in the order of the same hashes, so that those of a large one are
        looked up in one segment after the other.
        """
        found: list[bytes] = []
        entry: cython.Py_ssize_t = 0
        most: cython.Py_ssize_t = min(limit, 1 << 60)
        while entry < 1 << self._depth and len(found) < most:
            block = self._segment(entry)
            entry += self._span(block)
            place: cython.Py_ssize_t = first_place(block)
            end: cython.Py_ssize_t = number_at(block, END)
            while place < end and len(found) < most:
                text: cython.p_const_uchar = body_text(block, place)
                start: cython.Py_ssize_t = key_start(self._kind, text, body_start(block, place))
                length: cython.Py_ssize_t = key_length(
                    self._kind, text, body_start(block, place), body_size(block, place), start
                )
                code: cython.ulonglong = hash_at(text, start, length)
                other: PackedTable
                for other in others:
                    if other._has_at(text, start, length, code) != are_in:
                        break
                else:
                    found.append(bytes_at(text, start, length))
                place += taken_bytes(block, place)
        return found

    def _has_at(
        self,
        text: cython.p_const_uchar,
        start: cython.Py_ssize_t,
        length: cython.Py_ssize_t,
        code: cython.ulonglong,
    ) -> cython.bint:
        """Return True if it has a key that is a part of `text`."""
        block: cython.p_uchar = self._segment_of(code)
        key: cython.p_const_uchar = part_of(text, start)  # type: ignore[assignment]
        return find(self._kind, block, key, length, code) > 0

    # -- changing ------------------------------------------------------------------------------

    def put(self, key: bytes, value: bytes) -> cython.bint:
        """Set the value of a key; True if the key is new. Sets have no values: b""."""
        code: cython.ulonglong = self._code(key)
        block: cython.p_uchar = self._segment_of(code)
        place: cython.Py_ssize_t = find(self._kind, block, key, len(key), code)
        if place:
            if self._kind == MEMBERS:
                return False
            # Longer values may make a segment larger than its places can say.
            if (
                number_at(block, END) >= _MOST_ORDERED_BYTES
                and number_at(block, COUNT) > _MOST
                and self._may_divide(block)
            ):
                self._grow(block, code)
                code = self._code(key)
                block = self._segment_of(code)
                place = find(self._kind, block, key, len(key), code)
            self._replace(block, code, place, key, value)
            return False
        while self._is_full(block):
            self._grow(block, code)
            code = self._code(key)
            block = self._segment_of(code)
        size: cython.Py_ssize_t = _size_of(self._kind, len(key), len(value))
        taken: cython.Py_ssize_t = 1 + size if size < LARGE else LARGE_BYTES
        record: bytes | None = None if size < LARGE else self._object(key, value)
        block = self._roomy(block, code, taken)
        place = number_at(block, END)
        self._write(block, place, key, value, record)
        if number_at(block, SLOTS):
            enter(block, place, code)
        put_number(block, END, place + taken)
        put_number(block, COUNT, number_at(block, COUNT) + 1)
        self._count += 1
        return True

    def _replace(
        self,
        block: cython.p_uchar,
        code: cython.ulonglong,
        place: cython.Py_ssize_t,
        key: bytes,
        value: bytes,
    ) -> None:
        """Change the record at a place."""
        size: cython.Py_ssize_t = _size_of(self._kind, len(key), len(value))
        taken: cython.Py_ssize_t = 1 + size if size < LARGE else LARGE_BYTES
        record: bytes | None = None if size < LARGE else self._object(key, value)
        former: cython.Py_ssize_t = taken_bytes(block, place)
        block = self._roomy(block, code, max(taken - former, 0))
        if block[place] == LARGE:
            self._memory -= _object_bytes(body_size(block, place))
            drop(block, place + 1)
        if taken != former:
            shift(block, place + former, taken - former)
        self._write(block, place, key, value, record)

    def _object(self, key: bytes, value: bytes) -> bytes:
        """A large record."""
        return key if self._kind == MEMBERS else pair(key, value)

    def _write(
        self,
        block: cython.p_uchar,
        place: cython.Py_ssize_t,
        key: bytes,
        value: bytes,
        record: bytes | None,
    ) -> None:
        """Write a record at a place; `record` if it is large."""
        if record is not None:
            block[place] = LARGE
            keep(block, place + 1, record)
            self._memory += _object_bytes(len(record))
        else:
            block[place] = _size_of(self._kind, len(key), len(value))
            place += 1
            if self._kind != MEMBERS:
                block[place] = len(key)
                place += 1
            place = put_bytes(block, place, key, 0, len(key))
            put_bytes(block, place, value, 0, len(value))

    def discard(self, key: bytes) -> cython.bint:
        """Remove the record with a key; False if there is none."""
        code: cython.ulonglong = self._code(key)
        block: cython.p_uchar = self._segment_of(code)
        place: cython.Py_ssize_t = find(self._kind, block, key, len(key), code)
        if place == 0:
            return False
        block = self._roomy(block, code, 0)
        if block[place] == LARGE:
            self._memory -= _object_bytes(body_size(block, place))
        remove(self._kind, block, place, code)
        self._count -= 1
        self._shrink(block, code)
        return True

    def expect_records(self, count: cython.Py_ssize_t) -> None:
        """Prepare an empty table for a number of records that have no order to keep."""
        if count <= _MOST or self._count:
            return
        self.is_ordered = False
        depth: cython.int = 0
        while count >> depth > _MOST * 3 // 4:
            depth += 1
        self._free()
        self._directory, self._depth = no_directory(), 0
        self._memory = 0
        self._set_directory(new_directory(1 << depth), depth)
        self._deepest = 1 << depth
        entry: cython.Py_ssize_t
        for entry in range(1 << depth):
            put_block(self._directory, entry, self._half(count >> depth, 0, depth))

    # -- blocks --------------------------------------------------------------------------------

    def _roomy(
        self, block: cython.p_uchar, code: cython.ulonglong, more: cython.Py_ssize_t
    ) -> cython.p_uchar:
        """The segment with room for some more bytes, and not shared any more."""
        end: cython.Py_ssize_t = number_at(block, END) + more
        size: cython.Py_ssize_t = number_at(block, SIZE)
        if number_at(block, SHARED) == 1 and end <= size:
            return block
        self._memory -= allocated(size)
        if end > size:
            size = _roomy_bytes(end)
        if number_at(block, SHARED) > 1:
            block = twin_of(block, size)
        else:
            block = resized(block, size)
            put_number(block, SIZE, size)
        self._memory += allocated(size)
        self._set_segment(block, code)
        return block

    def _is_full(self, block: cython.p_uchar) -> cython.bint:
        """Return True if a segment has no room for one more record in its index."""
        count: cython.Py_ssize_t = number_at(block, COUNT)
        if count >= most_records(number_at(block, SLOTS)):
            return True
        return count >= _MOST and self._may_divide(block)

    def _may_divide(self, block: cython.p_uchar) -> cython.bint:
        """Return True unless order or, if all its keys collided, the directory forbids it.

        An ordered table that has become too large is divided as far as any other, since a random
        pick counts on small segments.
        """
        if self.is_ordered and self._depth == 0 and number_at(block, END) < _MOST_ORDERED_BYTES:
            return False
        return 1 << number_at(block, DEPTH) <= self._count

    def _grow(self, block: cython.p_uchar, code: cython.ulonglong) -> None:
        """Make room for more records in a segment that is full."""
        block = self._roomy(block, code, 0)
        if number_at(block, COUNT) >= _MOST and self._may_divide(block):
            self._divide(block)
        else:
            self._index(block, code)

    def _index(self, block: cython.p_uchar, code: cython.ulonglong) -> None:
        """Make the index of a segment again, for half as many records more, or for fewer."""
        count: cython.Py_ssize_t = number_at(block, COUNT)
        slots: cython.Py_ssize_t = slots_for(count)
        size: cython.Py_ssize_t = number_at(block, END) - first_place(block)
        size = _roomy_bytes(HEADER + 4 * slots + size)
        made: cython.p_uchar = new_segment(size, slots, number_at(block, DEPTH))
        self._memory += memory_of(made) - memory_of(block)
        take_all(self._kind, made, block)
        self._set_segment(made, code)

    def _divide(self, block: cython.p_uchar) -> None:
        """Divide a segment in two, by one more bit of the hashes."""
        depth: cython.int = number_at(block, DEPTH) + 1
        place: cython.Py_ssize_t = first_place(block)
        end: cython.Py_ssize_t = number_at(block, END)
        count: cython.Py_ssize_t = 0
        size: cython.Py_ssize_t = 0
        code: cython.ulonglong = 0
        codes = new_codes(number_at(block, COUNT))
        number: cython.Py_ssize_t
        for number in range(number_at(block, COUNT)):
            code = code_at(self._kind, block, place)
            codes[number] = code
            bit: cython.Py_ssize_t = code >> 64 - depth & 1
            count += bit
            size += bit * taken_bytes(block, place)
            place += taken_bytes(block, place)
        if depth > self._depth:
            self._double()
        all_bytes: cython.Py_ssize_t = end - first_place(block)
        low: cython.p_uchar = self._half(number_at(block, COUNT) - count, all_bytes - size, depth)
        high: cython.p_uchar = self._half(count, size, depth)
        place = first_place(block)
        for number in range(number_at(block, COUNT)):
            code = codes[number]
            take(high if code >> 64 - depth & 1 else low, block, place, code)
            place += taken_bytes(block, place)
        free_codes(codes)
        mask: cython.ulonglong = cython.cast(cython.ulonglong, 1) << 64 - depth
        self._set_segment(low, code & ~mask)
        self._set_segment(high, code | mask)
        if depth == self._depth:
            self._deepest += 2
        self._memory -= memory_of(block)
        free_block(block)
        if number_at(low, COUNT) > _MOST and self._may_divide(low):
            self._divide(low)
        if number_at(high, COUNT) > _MOST and self._may_divide(high):
            self._divide(high)

    def _half(
        self, count: cython.Py_ssize_t, size: cython.Py_ssize_t, depth: cython.int
    ) -> cython.p_uchar:
        """An empty segment for `count` records, which take `size` bytes."""
        slots: cython.Py_ssize_t = slots_for(count)
        block: cython.p_uchar = new_segment(_roomy_bytes(HEADER + 4 * slots + size), slots, depth)
        self._memory += memory_of(block)
        return block

    def _double(self) -> None:
        """Use one more bit of the hashes in the directory."""
        made = new_directory(2 << self._depth)
        entry: cython.Py_ssize_t
        for entry in range(1 << self._depth):
            block = self._segment(entry)
            put_block(made, 2 * entry, block)
            put_block(made, 2 * entry + 1, block)
        self._set_directory(made, self._depth + 1)
        self._deepest = 0

    def _set_directory(self, made: cython.pp_uchar, depth: cython.int) -> None:
        """Replace the directory."""
        if self._depth:
            self._memory -= allocated(8 << self._depth)
        free_directory(self._directory)
        self._directory, self._depth = made, depth
        if depth:
            self._memory += allocated(8 << depth)

    # -- shrinking -----------------------------------------------------------------------------

    def _shrink(self, block: cython.p_uchar, code: cython.ulonglong) -> None:
        """After a removal: join the segment with its neighbour, or give up memory it has left."""
        count: cython.Py_ssize_t = number_at(block, COUNT)
        depth: cython.uint = number_at(block, DEPTH)
        bit: cython.ulonglong = cython.cast(cython.ulonglong, 1) << 64 - depth if depth else 0
        other: cython.p_uchar = self._segment_of(code ^ bit)
        if (
            depth
            and count < _MOST_JOINED // 2
            and number_at(other, DEPTH) == depth
            and count + number_at(other, COUNT) <= _MOST_JOINED
        ):
            self._join(code, bit)
        elif (
            number_at(block, SIZE)
            > 2
            * _roomy_bytes(
                HEADER + 4 * slots_for(count) + number_at(block, END) - first_place(block)
            )
            + 2 * _LEAST_BYTES
        ):
            self._index(block, code)

    def _join(self, code: cython.ulonglong, bit: cython.ulonglong) -> None:
        """Join the two segments whose hashes differ in a bit that is their last common one."""
        low: cython.p_uchar = self._roomy(self._segment_of(code & ~bit), code & ~bit, 0)
        high: cython.p_uchar = self._roomy(self._segment_of(code | bit), code | bit, 0)
        depth: cython.int = number_at(low, DEPTH)
        count: cython.Py_ssize_t = number_at(low, COUNT) + number_at(high, COUNT)
        size: cython.Py_ssize_t = number_at(low, END) - first_place(low)
        size += number_at(high, END) - first_place(high)
        made: cython.p_uchar = self._half(count, size, depth - 1)
        self._memory -= memory_of(low) + memory_of(high)
        take_all(self._kind, made, low)
        take_all(self._kind, made, high)
        self._set_segment(made, code)
        if depth == self._depth:
            self._deepest -= 2
            while self._depth and self._deepest == 0:
                self._halve()

    def _halve(self) -> None:
        """Use one bit less of the hashes in the directory, where no segment needs it."""
        depth: cython.uint = self._depth - 1
        made = new_directory(1 << depth) if depth else no_directory()
        self._block = block_at(self._directory, 0)
        entry: cython.Py_ssize_t
        for entry in range(1 << depth):
            block = block_at(self._directory, 2 * entry)
            if depth:
                put_block(made, entry, block)
            if number_at(block, DEPTH) == depth:
                self._deepest += 1
        self._set_directory(made, depth)

    # -- scans and random picks ----------------------------------------------------------------

    def scan_records(self, cursor: int, count: int) -> tuple[int, list[bytes]]:
        """(next cursor, records): about `count` of them. Cursor 0 begins and ends."""
        records: list[bytes] = []
        position: cython.long = cursor & _LAST_POSITION
        wanted: cython.long = min(count, 1 << 30)
        one: cython.long = 1
        while True:
            block: cython.p_uchar = self._segment(position >> _POSITION_BITS - self._depth)
            width: cython.long = one << _POSITION_BITS - number_at(block, DEPTH)
            end: cython.long = position - position % width + width
            stop: cython.long = end
            left: cython.long = wanted - len(records)
            if left < number_at(block, COUNT):  # the part that has that many, on average
                stop = min(end, position + width // number_at(block, COUNT) * left + 1)
            if number_at(block, SLOTS) and 4 * (stop - position) < width:
                self._records_of_slots(block, position, stop, records)
            else:
                self._records_between(block, position, stop, records)
            if stop >> _POSITION_BITS:
                return 0, records
            position = stop
            if len(records) >= wanted or (stop < end and records):
                return position, records

    def _records_between(
        self,
        block: cython.p_uchar,
        position: cython.long,
        stop: cython.long,
        records: list[bytes],
    ) -> None:
        """Append the records of a segment whose hashes begin with a number in a range."""
        place: cython.Py_ssize_t = first_place(block)
        end: cython.Py_ssize_t = number_at(block, END)
        while place < end:
            self._record_between(block, place, position, stop, records)
            place += taken_bytes(block, place)

    def _records_of_slots(
        self,
        block: cython.p_uchar,
        position: cython.long,
        stop: cython.long,
        records: list[bytes],
    ) -> None:
        """The same by the index: faster, if the range is a small part of the segment."""
        slots: cython.Py_ssize_t = number_at(block, SLOTS)
        depth: cython.int = number_at(block, DEPTH)
        low: cython.ulonglong = position
        high: cython.ulonglong = stop - 1
        slot: cython.Py_ssize_t = home_slot(low << _REST_BITS, depth, slots)
        # How many slots hashes of the range point to; what collided comes after them.
        due: cython.Py_ssize_t = home_slot(high << _REST_BITS | _REST, depth, slots) - slot
        for _ in range(slots):
            place: cython.Py_ssize_t = number_at(block, HEADER + 4 * slot) & PLACES
            if place:
                self._record_between(block, place, position, stop, records)
            elif due < 0:
                break
            due -= 1
            slot += 1
            if slot == slots:
                slot = 0

    def _record_between(
        self,
        block: cython.p_uchar,
        place: cython.Py_ssize_t,
        position: cython.long,
        stop: cython.long,
        records: list[bytes],
    ) -> None:
        """Append the record at a place, if its hash begins with a number in a range."""
        own: cython.long = code_at(self._kind, block, place) >> _REST_BITS
        if position <= own < stop:
            records.append(body_of(block, place))

    def pick(self, below: Callable[[int], int]) -> bytes:
        """A record chosen with `below(n)`, which gives a number in [0, n). There must be one."""
        if self._depth == 0:
            return self._nth(self._block, below(self._count))
        for _ in range(_DRAWS):
            # Each entry of the directory has as many places, and each record one of those of its
            # segment.
            drawn: cython.Py_ssize_t = below(_MOST << self._depth)
            entry: cython.Py_ssize_t = drawn // _MOST
            block = block_at(self._directory, entry)
            drawn = entry % self._span(block) * _MOST + drawn % _MOST
            if drawn < number_at(block, COUNT):
                return self._nth(block, drawn)
        return self._pick_counting(below(self._count))

    def _pick_counting(self, number: cython.Py_ssize_t) -> bytes:
        """The record with a number: where there are few in many entries there are few segments."""
        entry: cython.Py_ssize_t = 0
        block = self._segment(0)
        while number >= number_at(block, COUNT):
            number -= number_at(block, COUNT)
            entry += self._span(block)
            block = self._segment(entry)
        return self._nth(block, number)

    def _nth(self, block: cython.p_uchar, number: cython.Py_ssize_t) -> bytes:
        """The record with a number in a segment, in the order of the index if it has one."""
        slots: cython.Py_ssize_t = number_at(block, SLOTS)
        place: cython.Py_ssize_t = HEADER
        if slots:
            place = nth_slot(block, HEADER, slots, number) & PLACES
        else:
            for _ in range(number):
                place += taken_bytes(block, place)
        return body_of(block, place)

    # -- as a whole ----------------------------------------------------------------------------

    def share_with(self, twin: PackedTable) -> None:
        """Let an empty table have the same records."""
        twin._free()
        twin._block, twin._directory, twin._depth = self._block, no_directory(), self._depth
        twin._deepest, twin._count, twin._memory = self._deepest, self._count, self._memory
        twin.is_ordered = self.is_ordered
        entry: cython.Py_ssize_t
        if self._depth:
            twin._directory = new_directory(1 << self._depth)
            for entry in range(1 << self._depth):
                put_block(twin._directory, entry, block_at(self._directory, entry))
        entry = 0
        while entry < 1 << self._depth:
            block = self._segment(entry)
            entry += self._span(block)
            share(block)

    def memory_bytes(self) -> int:
        """The memory of the table in bytes; each table that shares a segment counts it."""
        return self.table_bytes()

    def table_bytes(self) -> cython.long:
        """The same, whatever a subclass adds to it."""
        return self._memory + allocated(object_bytes(self) + _GC_BYTES)

    def release_records(self, removed_data: RemovedData) -> None:
        """Give up all records when the collection is removed."""
        if self._depth == 0:
            return
        removed: RemovedSegments = RemovedSegments()
        removed._directory, removed._entries = self._directory, 1 << self._depth
        removed._depth = self._depth
        removed_data.add(removed, _SEGMENTS_PER_STEP)  # type: ignore[arg-type]
        self._block, self._directory = new_segment(_LEAST_BYTES, 0, 0), no_directory()
        self._memory = memory_of(self._block)
        self._count = self._depth = self._deepest = 0


# What the garbage collector puts before each table, although it visits nothing in it.
_GC_BYTES: cython.Py_ssize_t = 16 if cython.compiled and PackedTable.__flags__ & 1 << 14 else 0


@cython.cclass
class RemovedSegments:
    """The segments of a table that was removed, which are freed one by one."""

    __slots__ = ("_depth", "_directory", "_entries")

    def __init__(self) -> None:
        self._directory = no_directory()
        self._depth = 0
        self._entries = 0  # how many of the directory are left

    def __len__(self) -> int:
        return self._entries

    def pop(self) -> None:
        """Free the last segment, if any is left."""
        if self._entries:
            block: cython.p_uchar = block_at(self._directory, self._entries - 1)
            self._entries -= 1 << self._depth - number_at(block, DEPTH)
            give_up(block)

    def __dealloc__(self) -> None:
        while self._entries:
            self.pop()
        free_directory(self._directory)


if not cython.compiled:
    # What Cython takes for methods of its own.
    for _class in (PackedTable, RemovedSegments):
        _class.__del__ = _class.__dealloc__  # type: ignore[union-attr]


def _size_of(
    kind: cython.Py_ssize_t, length: cython.Py_ssize_t, value_bytes: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """The size of a record with a key of this length and a value."""
    if kind == MEMBERS:
        return length
    return (1 if length < LONG else LONG_HEADER) + length + value_bytes


def _object_bytes(size: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """What a large record takes beside the block."""
    return allocated(33 + size)


def _roomy_bytes(end: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """The size of the block of a segment that ends there, with some room."""
    return max(end + (end >> 4) + 15 & ~15, _LEAST_BYTES)
