"""A compact hash table of records.

A record is one bytes object that has its key in it (key_part.py). The table has a list of records
and, for more than a few, an index: slots of 32 bits, found by the hash of a key (open addressing,
linear probing, at most three quarters in use). A slot holds the record's place in the list plus
one, and above it as many bits of the hash as there is room for, which spare most comparisons with
other keys. 0 is a free slot. A few records are searched one by one.

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
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import cython

from storage.keyspace.deferred_free import SMALL_ITEMS, RemovedData
from storage.object_size import instance_bytes

if not cython.compiled:
    # Compiled, they are C functions, which the module's C types import.
    from storage.object_size import array_bytes, bytes_object_bytes, list_bytes
    from storage.types.members.key_part import (
        has_key,
        hash_of,
        key_length,
        key_start,
        slots_of,
        zeros,
    )

# Up to this many records need no index.
FEW = 16
_FEW: cython.Py_ssize_t = FEW
# The least index has 64 slots.
_LEAST_BITS: cython.int = 6

# How many records a change enters into a new index. It has room for a third more than there are, so
# that all are in it before it is full, whatever the changes are.
_STEP: cython.Py_ssize_t = 4

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
                self._enter_some(_STEP)
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
            self._enter_some(_STEP)
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
        size: cython.longlong = _OWN_BYTES + list_bytes(self._records) + self._records_bytes
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


_OWN_BYTES: cython.longlong = instance_bytes(RecordTable)
