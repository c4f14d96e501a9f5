"""The records of hashes and of sorted sets, and for sorted sets their table and their order.

A record is one bytes object that has a key in it (key_part.py). That of a hash is a pair of a field
and its value. That of a sorted set is a member with its score:

    bytes 0 to 7    the score: a double, as the processor has it
    bytes 8 ...     the member

The order of these is that of sorted sets: by score, then by the bytes of the member. -0 and 0 are
equal in it, so it is not the order of the bytes. A record with an empty member is the first of its
score: a bound of a range. No score is NaN.

`RecordTable` is a compact hash table: a list of records and, for more than a few, an index: slots
of 32 bits, found by the hash of a key (open addressing, linear probing, at most three quarters in
use). A slot holds the record's place in the list plus one, and above it as many bits of the hash as
there is room for, which spare most comparisons with other keys. 0 is a free slot. A few records are
searched one by one.

    table = RecordTable(MEMBERS)
    table.put(b"m")           # None: it is new
    table.get(b"m")           # b"m"
    table.records()           # in the order of insertion, as long as none is removed
    table.remove(b"m")        # the record that was there

Removal: the last record of the list takes the place of the one that goes. The slot of that stays as
it is, since what is found in a slot is always compared with the key: a slot whose record went, or
has another place by now, is only in the way until the next index is made.

Growth: a larger index is empty at first. Each change enters a few more records into it, from the
last to the first; meanwhile what it does not have is looked up in the former one, which is never
written. So no change takes longer for there being millions of records.

Scans: the cursor is a place in the list, goes from the newest record to the oldest, and needs no
state in the server; a scan always ends, however fast records are added. Records only ever move
towards the oldest, so one that is there during a whole scan is returned at least once.

`RecordOrder` has records of members with scores in order, in parts of some hundred. A part is a
list. Two rows beside the parts, of their first records and of their lengths, lead to the part of a
record or of a rank; an order of one part has none. So adding and removing a record moves no more
than a part, and a rank is found by adding up lengths, which takes a microsecond for a million
members. A span is a pair of ranks, [start, end). A range of scores is one, too:

    start = order.rank_of(make_record(low, b""))

No part is empty, unless the order is. Records differ in their members.
"""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import TypeAlias

import cython

from protocol import replies
from storage.keyspace.deferred_free import SMALL_ITEMS, RemovedData
from storage.memory import instance_bytes

if not cython.compiled:
    # Compiled, they are C functions, which the module's C types import.
    from storage.memory import array_bytes, bytes_object_bytes, list_bytes
    from storage.types.key_part import (
        LONG,
        PAIRS,
        has_key,
        hash_of,
        key_length,
        key_start,
        slots_of,
        zeros,
    )


def pair(field: bytes, value: bytes) -> bytes:
    """The record of a field with its value."""
    if cython.compiled:
        return make_pair(field, value)  # type: ignore[name-defined, no-any-return]  # noqa: F821
    size = len(field)
    header = bytes((size,)) if size < LONG else b"\xff" + size.to_bytes(8, "little")
    return b"%b%b%b" % (header, field, value)


def field_of(record: bytes) -> bytes:
    """The field of a record."""
    if cython.compiled:
        return get_field(record)  # type: ignore[name-defined, no-any-return]  # noqa: F821
    start = key_start(PAIRS, record, 0)
    return record[start : start + key_length(PAIRS, record, 0, len(record), start)]


def value_of(record: bytes) -> bytes:
    """The value of a record's field."""
    if cython.compiled:
        return get_value(record)  # type: ignore[name-defined, no-any-return]  # noqa: F821
    start = key_start(PAIRS, record, 0)
    return record[start + key_length(PAIRS, record, 0, len(record), start) :]


def pair_bulks(head: bytes, records: list[bytes]) -> bytes:
    """The fields and values of records as bulk strings, one after the other, after `head`."""
    if cython.compiled:
        return make_pair_bulks(head, records)  # type: ignore[name-defined, no-any-return]  # noqa: F821
    words = [word for record in records for word in (field_of(record), value_of(record))]
    return head + replies.bulks(words)


Record: TypeAlias = bytes
Pair: TypeAlias = "tuple[float, bytes]"  # (score, member)

SCORE_BYTES = 8

_SCORE = struct.Struct("=d")


def make_record(score: cython.double, member: bytes) -> Record:
    """The record of a member."""
    if cython.compiled:
        return new_record(score, member)  # type: ignore[name-defined, no-any-return]  # noqa: F821
    return _SCORE.pack(score) + member


def score_of(record: Record) -> cython.double:
    """The score of a record."""
    if cython.compiled:
        return score_in(record)  # type: ignore[name-defined, no-any-return]  # noqa: F821
    score: float = _SCORE.unpack_from(record)[0]
    return score


def member_of(record: Record) -> bytes:
    """The member of a record."""
    if cython.compiled:
        return member_in(record)  # type: ignore[name-defined, no-any-return]  # noqa: F821
    return record[SCORE_BYTES:]


def pair_of(record: Record) -> Pair:
    """Score and member of a record."""
    return score_of(record), member_of(record)


def is_before(record: Record, other: Record) -> cython.bint:
    """Return True if a record comes before another one."""
    if cython.compiled:
        return before(record, other)  # type: ignore[name-defined, no-any-return]  # noqa: F821
    return pair_of(record) < pair_of(other)


def place_of(records: list[Record], record: Record) -> cython.Py_ssize_t:
    """The place of a record among others that are in order: how many come before it."""
    if cython.compiled:
        return place_among(records, record)  # type: ignore[name-defined, no-any-return]  # noqa: F821
    return bisect_left(records, pair_of(record), key=pair_of)


def sort_records(records: list[Record]) -> None:
    """Sort a list of records in place. Raises MemoryError."""
    if cython.compiled:
        sort_in_order(records)  # type: ignore[name-defined]  # noqa: F821
    else:
        records.sort(key=pair_of)


# Up to this many records need no index.
FEW = 16
_FEW: cython.Py_ssize_t = FEW
# The least index has 64 slots.
_LEAST_BITS: cython.int = 6

# How many records a change enters into a new index. It has room for a third more than there are, so
# that all are in it before it is full, whatever the changes are.
_ENTERED_AT_ONCE: cython.Py_ssize_t = 4

_NO_SLOTS = array("I")


@cython.cclass
class RecordTable:
    """Records of one kind, by their keys."""

    __slots__ = (
        "_bits",
        "_former",
        "_former_bits",
        "_index",
        "_kind",
        "_left",
        "_records",
        "_records_bytes",
        "_room",
    )

    def __init__(self, kind: cython.Py_ssize_t) -> None:
        self._kind = kind
        self._records: list[bytes] = []
        self._records_bytes = 0  # the memory of all records
        self._index: array[int] | None = None  # 2 ** _bits slots
        self._bits = 0
        self._room = 0  # how many slots may still be used
        self._former: array[int] | None = None  # the index before, which is still needed
        self._former_bits = 0
        self._left = 0  # how many records, the first of the list, are to be entered into the index

    def __len__(self) -> int:
        return len(self._records)

    def __contains__(self, key: bytes) -> bool:
        return self._find(key) >= 0

    def __iter__(self) -> Iterator[bytes]:
        """The records, as long as the table does not change."""
        return iter(self._records)

    def get(self, key: bytes) -> bytes | None:
        """The record with this key, or None."""
        place: cython.Py_ssize_t = self._find(key)
        return None if place < 0 else self._records[place]

    def records(self) -> list[bytes]:
        """All records, in a new list."""
        return self._records[:]

    # -- changing ------------------------------------------------------------------------------

    @cython.boundscheck(False)
    @cython.wraparound(False)
    def put(self, record: bytes) -> bytes | None:
        """Add a record, or replace the one with the same key; the former one, None if it is new."""
        start: cython.Py_ssize_t = key_start(self._kind, record, 0)
        length: cython.Py_ssize_t = key_length(self._kind, record, 0, len(record), start)
        code: cython.ulonglong = 0 if self._index is None else hash_of(record, start, length)
        place: cython.Py_ssize_t = self._place(record, start, length, code)
        if place >= 0:
            former: bytes = self._records[place]
            self._records[place] = record
            self._records_bytes += bytes_object_bytes(len(record)) - bytes_object_bytes(len(former))
            return former
        self._records.append(record)
        self._records_bytes += bytes_object_bytes(len(record))
        if self._index is not None:
            self._enter(code, len(self._records))
            if self._left:
                self._enter_some(_ENTERED_AT_ONCE)
            elif self._room <= 0:
                self._renew(0)
        elif len(self._records) > _FEW:
            self._renew(0)
        return None

    def remove(self, key: bytes) -> bytes | None:
        """Remove the record with this key; the record, None if there is none."""
        return self._remove_at(self._find(key))

    @cython.boundscheck(False)
    @cython.wraparound(False)
    def _remove_at(self, place: cython.Py_ssize_t) -> bytes | None:
        """Remove the record at a place of the list; none at -1."""
        if place < 0:
            return None
        record: bytes = self._records[place]
        self._records_bytes -= bytes_object_bytes(len(record))
        if self._index is None:
            del self._records[place]
            return record
        last: cython.Py_ssize_t = len(self._records) - 1
        moved: bytes = self._records.pop()
        if self._left > last:
            self._left = last
        if place < last:
            self._records[place] = moved
            self._move(moved, last + 1, place + 1)
        if self._left:
            self._enter_some(_ENTERED_AT_ONCE)
        elif self._bits > _LEAST_BITS and last < 1 << self._bits - 3:
            self._renew(0)
        return record

    def put_all(self, records: list[bytes]) -> None:
        """Put many records, of which most are new."""
        self.reserve(len(records))
        at: cython.Py_ssize_t
        for at in range(len(records)):
            if cython.compiled:
                prefetch(records, at)  # type: ignore[name-defined]  # noqa: F821
            self.put(records[at])

    @cython.boundscheck(False)
    @cython.wraparound(False)
    def discard_all(self, records: list[bytes]) -> None:
        """Remove the records that have the keys of these."""
        at: cython.Py_ssize_t
        for at in range(len(records)):
            if cython.compiled:
                prefetch(records, at)  # type: ignore[name-defined]  # noqa: F821
            record: bytes = records[at]
            start: cython.Py_ssize_t = key_start(self._kind, record, 0)
            length: cython.Py_ssize_t = key_length(self._kind, record, 0, len(record), start)
            code: cython.ulonglong = 0 if self._index is None else hash_of(record, start, length)
            self._remove_at(self._place(record, start, length, code))

    def reserve(self, count: cython.Py_ssize_t) -> None:
        """Prepare for `count` more records, which are going to be put."""
        if count > self._room and len(self._records) + count > _FEW:
            self._renew(count)

    # -- scans ---------------------------------------------------------------------------------

    def scan(self, cursor: int, count: int) -> tuple[int, list[bytes]]:
        """(next cursor, records): up to `count` of them. Cursor 0 begins and ends."""
        size = len(self._records)
        end = min(cursor, size) if cursor else size
        start = max(0, end - count)
        return start, self._records[start:end]

    # -- as a whole ----------------------------------------------------------------------------

    def copy(self) -> RecordTable:
        """An independent table of the same records."""
        twin = RecordTable(self._kind)
        twin._records, twin._records_bytes = self._records[:], self._records_bytes
        if self._index is not None:
            twin._index, twin._bits, twin._room = self._index[:], self._bits, self._room
        twin._former, twin._former_bits, twin._left = self._former, self._former_bits, self._left
        return twin

    @cython.boundscheck(False)
    @cython.wraparound(False)
    def selected(self, records: list[bytes]) -> RecordTable:
        """Another table of some of its records, in the same order."""
        places: list[int] = []
        record: bytes
        for record in records:
            start: cython.Py_ssize_t = key_start(self._kind, record, 0)
            length: cython.Py_ssize_t = key_length(self._kind, record, 0, len(record), start)
            code: cython.ulonglong = 0 if self._index is None else hash_of(record, start, length)
            places.append(self._place(record, start, length, code))
        places.sort()
        twin = RecordTable(self._kind)
        twin.put_all([self._records[place] for place in places])
        return twin

    def memory_bytes(self) -> int:
        """The memory in bytes, that of the records included."""
        size: cython.long = _TABLE_BYTES + list_bytes(self._records) + self._records_bytes
        if self._former is not None:
            size += array_bytes(self._former)
        return size if self._index is None else size + array_bytes(self._index)

    def release(self, removed_data: RemovedData) -> None:
        """Give up all records when the collection is removed."""
        removed_data.add(self._records, SMALL_ITEMS)
        self.__init__(self._kind)  # type: ignore[misc]

    # -- the index -----------------------------------------------------------------------------

    def _find(self, key: bytes) -> cython.Py_ssize_t:
        """The place of the record with this key; -1 without one."""
        length: cython.Py_ssize_t = len(key)
        code: cython.ulonglong = 0 if self._index is None else hash_of(key, 0, length)
        return self._place(key, 0, length, code)

    @cython.boundscheck(False)
    @cython.wraparound(False)
    def _place(
        self,
        text: bytes,
        start: cython.Py_ssize_t,
        length: cython.Py_ssize_t,
        code: cython.ulonglong,
    ) -> cython.Py_ssize_t:
        """The place of the record whose key is a part of `text`, with the hash `code`."""
        place: cython.Py_ssize_t
        if self._index is None:
            for place in range(len(self._records)):
                if has_key(self._kind, self._records[place], text, start, length):
                    return place
            return -1
        place = self._place_in(self._index, self._bits, text, start, length, code)
        if place < 0 and self._former is not None:
            place = self._place_in(self._former, self._former_bits, text, start, length, code)
        return place

    @cython.boundscheck(False)
    @cython.wraparound(False)
    def _place_in(
        self,
        index: array[int],
        bits: cython.int,
        text: bytes,
        start: cython.Py_ssize_t,
        length: cython.Py_ssize_t,
        code: cython.ulonglong,
    ) -> cython.Py_ssize_t:
        """The place that an index of 2 ** `bits` slots has for a key."""
        slots: cython.p_uint = slots_of(index)
        mask: cython.uint = (1 << bits) - 1
        tag: cython.uint = code >> 32 + bits
        slot: cython.uint = code & mask
        entry: cython.uint
        place: cython.Py_ssize_t
        while True:
            entry = slots[slot]
            if entry == 0:
                return -1
            if entry >> bits == tag:
                place = (entry & mask) - 1
                if place < len(self._records) and has_key(
                    self._kind, self._records[place], text, start, length
                ):
                    return place
            slot = slot + 1 & mask

    def _enter(self, code: cython.ulonglong, number: cython.Py_ssize_t) -> None:
        """Enter the record that is the `number`th of the list, counted from 1, into the index."""
        assert self._index is not None
        slots: cython.p_uint = slots_of(self._index)
        mask: cython.uint = (1 << self._bits) - 1
        slot: cython.uint = code & mask
        while slots[slot]:
            slot = slot + 1 & mask
        slots[slot] = (code >> 32 + self._bits) << self._bits | number
        self._room -= 1

    def _move(self, record: bytes, number: cython.Py_ssize_t, new: cython.Py_ssize_t) -> None:
        """A record that was the `number`th of the list is the `new` one: change its slot."""
        assert self._index is not None
        code: cython.ulonglong = self._code_of(record)
        slots: cython.p_uint = slots_of(self._index)
        mask: cython.uint = (1 << self._bits) - 1
        tag: cython.uint = (code >> 32 + self._bits) << self._bits
        slot: cython.uint = code & mask
        while slots[slot] and slots[slot] != tag | number:
            slot = slot + 1 & mask
        if slots[slot]:
            slots[slot] = tag | new
        else:
            self._enter(code, new)

    def _code_of(self, record: bytes) -> cython.ulonglong:
        """The hash of the key of a record."""
        start: cython.Py_ssize_t = key_start(self._kind, record, 0)
        return hash_of(record, start, key_length(self._kind, record, 0, len(record), start))

    @cython.boundscheck(False)
    @cython.wraparound(False)
    def _enter_some(self, count: cython.Py_ssize_t) -> None:
        """Enter up to `count` of the remaining records into the index."""
        while count and self._left:
            self._left -= 1
            count -= 1
            self._enter(self._code_of(self._records[self._left]), self._left + 1)
        if self._left == 0:
            self._former = None

    def _renew(self, more: cython.Py_ssize_t) -> None:
        """Begin an index for `more` records than there are, with some room to spare."""
        self._enter_some(self._left)
        count: cython.Py_ssize_t = len(self._records)
        bits: cython.int = _LEAST_BITS
        while (3 << bits) // 4 < count + count // 3 + more:
            bits += 1
        assert bits < 32
        self._former, self._former_bits = self._index, self._bits
        self._index, self._bits = zeros(_NO_SLOTS, 1 << bits), bits
        self._room = (3 << bits) // 4
        self._left = count
        if self._former is None:
            self._enter_some(count)


_TABLE_BYTES: cython.long = instance_bytes(RecordTable)


Part: TypeAlias = "list[Record]"
Parts: TypeAlias = "list[list[Record]]"

# A part has at most this many records: moving 4 KiB takes less time than finding the place.
PART_RECORDS = 512
_PART_RECORDS: cython.Py_ssize_t = PART_RECORDS
# One with fewer is joined with a neighbour, unless both together have more than FULL_RECORDS.
SPARSE_RECORDS = 128
FULL_RECORDS = 384
_SPARSE_RECORDS: cython.Py_ssize_t = SPARSE_RECORDS


@cython.cclass
class RecordOrder:
    """Records in order; see the module. `count` is their number."""

    __slots__ = ("_counts", "_firsts", "_parts", "_parts_bytes", "count")

    def __init__(self) -> None:
        self.count = 0
        self._parts: Parts = [[]]
        self._parts_bytes = list_bytes(self._parts[0])  # the memory of the parts
        self._firsts: list[Record] | None = None
        self._counts: array[int] | None = None

    # -- changing ------------------------------------------------------------------------------

    def fill(self, records: list[Record]) -> None:
        """Take records that are in order in place of all that is there. It takes over the list."""
        self.count = len(records)
        if self.count <= PART_RECORDS:
            self._set_parts([records])
        else:
            starts = range(0, self.count, PART_RECORDS)
            self._set_parts([records[start : start + PART_RECORDS] for start in starts])

    def _set_parts(self, parts: Parts) -> None:
        self._parts = parts
        self._measure_parts()
        self._firsts = self._counts = None
        if len(parts) > 1:
            self._firsts = [part[0] for part in parts]
            self._counts = array("i", [len(part) for part in parts])

    @cython.cfunc
    def _measure_parts(self) -> None:
        part: list[Record]
        self._parts_bytes = 0
        for part in self._parts:
            self._parts_bytes += list_bytes(part)

    @cython.boundscheck(False)
    @cython.wraparound(False)
    def add(self, record: Record) -> None:
        """Add a record whose member is not there."""
        index: cython.Py_ssize_t = self._part_of(record)
        part: list[Record] = self._parts[index]
        length: cython.Py_ssize_t = len(part)
        # Often the last one of all: then nothing is searched.
        place: cython.Py_ssize_t = length
        if length and is_before(record, part[length - 1]):
            place = place_of(part, record)
        self._parts_bytes -= list_bytes(part)
        part.insert(place, record)
        self._parts_bytes += list_bytes(part)
        self.count += 1
        if self._counts is not None:
            _lengths(self)[index] += 1
            if place == 0:
                self._firsts[index] = record  # type: ignore[index]
        if length >= _PART_RECORDS:
            self._divide(index, place)

    @cython.boundscheck(False)
    @cython.wraparound(False)
    def remove(self, record: Record) -> None:
        """Remove a record that is there."""
        index: cython.Py_ssize_t = self._part_of(record)
        part: list[Record] = self._parts[index]
        place: cython.Py_ssize_t = place_of(part, record)
        self._parts_bytes -= list_bytes(part)
        del part[place]
        self._parts_bytes += list_bytes(part)
        self.count -= 1
        if self._counts is not None:
            _lengths(self)[index] -= 1
            length: cython.Py_ssize_t = len(part)
            if place == 0 and length:
                self._firsts[index] = part[0]  # type: ignore[index]
            if length < _SPARSE_RECORDS:
                self._join(index)

    @cython.boundscheck(False)
    @cython.wraparound(False)
    def replace(self, record: Record, new: Record) -> None:
        """Put a record in the place of one that is there; both may have the same member."""
        index: cython.Py_ssize_t = self._part_of(record)
        part: list[Record] = self._parts[index]
        place: cython.Py_ssize_t = place_of(part, record)
        last: cython.Py_ssize_t = len(part) - 1
        # An end of a part is the place of none but itself.
        if 0 < place < last and is_before(part[place - 1], new) and is_before(new, part[place + 1]):
            part[place] = new
        else:
            self.remove(record)
            self.add(new)

    def _divide(self, index: cython.Py_ssize_t, place: cython.Py_ssize_t) -> None:
        """Divide a part that is full, after a record was added at `place`."""
        parts = self._parts
        part = parts[index]
        # Records that come in order leave full parts.
        is_last = index == len(parts) - 1 and place == len(part) - 1
        middle = place if is_last else len(part) // 2
        parts[index : index + 1] = [part[:middle], part[middle:]]
        if self._counts is None or self._firsts is None:
            self._set_parts(parts)
        else:
            self._parts_bytes += list_bytes(parts[index]) + list_bytes(parts[index + 1])
            self._parts_bytes -= list_bytes(part)
            self._firsts.insert(index + 1, part[middle])
            self._counts[index] = middle
            self._counts.insert(index + 1, len(part) - middle)

    def _join(self, index: cython.Py_ssize_t) -> None:
        """Join a part of few records with a neighbour, if that has room; drop an empty one."""
        parts, firsts, counts = self._parts, self._firsts, self._counts
        assert firsts is not None and counts is not None
        length = len(parts[index])
        left = index - 1 if index else index
        if length and (left + 1 == len(parts) or counts[left] + counts[left + 1] > FULL_RECORDS):
            return
        if len(parts) == 1:
            return
        joined = parts[left] + parts[left + 1]
        self._parts_bytes += list_bytes(joined)
        self._parts_bytes -= list_bytes(parts[left]) + list_bytes(parts[left + 1])
        parts[left : left + 2] = [joined]
        counts[left] = len(joined)
        firsts[left] = joined[0]
        del counts[left + 1], firsts[left + 1]

    def remove_span(self, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> Parts:
        """Remove the records at these ranks; lists of what they were, in order."""
        gone: Parts = []
        kept: Parts = []
        place = 0  # the rank of a part's first record
        for part in self._parts:
            low, high = max(start - place, 0), min(end - place, len(part))
            place += len(part)
            if low >= high:
                kept.append(part)
                continue
            gone.append(part[low:high])
            if high - low < len(part):
                del part[low:high]
                kept.append(part)
        self.count -= max(end - start, 0)
        self._set_parts(kept or [[]])
        return gone

    # -- finding -------------------------------------------------------------------------------

    @cython.boundscheck(False)
    @cython.wraparound(False)
    def _part_of(self, record: Record) -> cython.Py_ssize_t:
        """The index of the part in which a record is, or belongs."""
        firsts = self._firsts
        if firsts is None:
            return 0
        index: cython.Py_ssize_t = place_of(firsts, record)
        if index < len(firsts) and not is_before(record, firsts[index]):
            return index
        return index - 1 if index else 0

    @cython.boundscheck(False)
    @cython.wraparound(False)
    def rank_of(self, record: Record) -> cython.Py_ssize_t:
        """The number of records before one, which need not be there."""
        index: cython.Py_ssize_t = self._part_of(record)
        part: list[Record] = self._parts[index]
        return self._rank_before(index) + place_of(part, record)

    @cython.boundscheck(False)
    @cython.wraparound(False)
    def _rank_before(self, index: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """The number of records in the parts before one."""
        total: cython.Py_ssize_t = 0
        if self._counts is not None:
            counts: cython.p_int = _lengths(self)
            at: cython.Py_ssize_t
            for at in range(index):
                total += counts[at]
        return total

    @cython.boundscheck(False)
    @cython.wraparound(False)
    def rank_where(self, holds: Callable[[bytes], bool]) -> cython.Py_ssize_t:
        """The rank of the first record whose member `holds` is true for; it must be true for all
        after that.
        """
        parts = self._parts
        low: cython.Py_ssize_t = 0
        high: cython.Py_ssize_t = len(parts)
        middle: cython.Py_ssize_t
        while high - low > 1:
            middle = (low + high) // 2
            if holds(member_of(parts[middle][0])):
                high = middle
            else:
                low = middle
        index: cython.Py_ssize_t = low
        part: list[Record] = parts[index]
        low, high = 0, len(part)
        while low < high:
            middle = (low + high) // 2
            if holds(member_of(part[middle])):
                high = middle
            else:
                low = middle + 1
        return self._rank_before(index) + low

    # -- reading -------------------------------------------------------------------------------

    def at(self, rank: cython.Py_ssize_t) -> Record:
        """The record at a rank from 0 on."""
        index: cython.Py_ssize_t = 0
        if self._counts is not None:
            counts: cython.p_int = _lengths(self)
            while rank >= counts[index]:
                rank -= counts[index]
                index += 1
        part: list[Record] = self._parts[index]
        return part[rank]

    @cython.boundscheck(False)
    @cython.wraparound(False)
    def records(self, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> list[Record]:
        """The records at the ranks of a span, as far as there are any, in a list of their own."""
        if end > self.count:
            end = self.count
        if start >= end:
            return []
        index: cython.Py_ssize_t = 0
        if self._counts is not None:
            counts: cython.p_int = _lengths(self)
            while start >= counts[index]:
                start -= counts[index]
                end -= counts[index]
                index += 1
        part: list[Record] = self._parts[index]
        found: list[Record] = part[start:end]
        end -= len(part)
        while end > 0:
            index += 1
            part = self._parts[index]
            found += part if end >= len(part) else part[:end]
            end -= len(part)
        return found

    def take_parts(self) -> Parts:
        """Remove everything; the parts, to be freed incrementally."""
        parts = self._parts
        self.__init__()  # type: ignore[misc]
        return parts

    # -- as a whole ----------------------------------------------------------------------------

    def copy(self) -> RecordOrder:
        """An independent order of the same records."""
        twin: RecordOrder = RecordOrder()
        twin.count = self.count
        twin._set_parts([part.copy() for part in self._parts])
        return twin

    def memory_bytes(self) -> int:
        """The memory of the order in bytes, without that of its records."""
        size: cython.long = _ORDER_BYTES + list_bytes(self._parts) + self._parts_bytes
        if self._counts is not None:
            size += array_bytes(self._counts) + list_bytes(self._firsts)  # type: ignore[arg-type]
        return size


_ORDER_BYTES: cython.long = instance_bytes(RecordOrder)


def _lengths(order: RecordOrder) -> cython.p_int:
    """The lengths of the parts; compiled, a pointer to them."""
    if cython.compiled:
        return order._counts.data.as_ints  # type: ignore[union-attr]
    return order._counts
