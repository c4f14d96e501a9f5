"""A compact hash table of records, in the order of insertion.

A record is one bytes object that has its key in it (key_part.py). The table has a list of records
and, for more than a few, an index: slots of 32 bits, found by the hash of a key (open addressing,
linear probing, at most three quarters in use). A slot holds the record's place in the list plus
one, and above it as many bits of the hash as there is room for, which spare most comparisons with
other keys. 0 is a free slot. A few records are searched one by one.

    table = RecordTable(MEMBERS)
    table.put(b"m")           # None: it is new
    table.get(b"m")           # b"m"
    table.records()           # in the order of insertion; a record that replaces another keeps it
    table.remove(b"m")        # the record that was there

Removal leaves a gap in the list; gaps are closed when half of the list is gaps. The order is that
of scans, too. Guarantees: a record that is there during a whole scan is returned at least once. The
cursor is a position in the order, goes from the newest record to the oldest, and needs no state in
the server; a scan always ends, however fast records are added. Closing gaps moves records only
towards the oldest, so a scan misses none, but may return some twice.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator

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
# Gaps are closed once they are half of the list, and more than this.
FEW_GAPS = 16
_FEW_GAPS: cython.Py_ssize_t = FEW_GAPS

_NO_SLOTS = array("I")


@cython.cclass
class RecordTable:
    """Records of one kind, by their keys."""

    __slots__ = (
        "_bits",
        "_gaps",
        "_index",
        "_kind",
        "_mask",
        "_records",
        "_records_bytes",
        "_room",
    )

    def __init__(self, kind: cython.Py_ssize_t) -> None:
        self._kind = kind
        self._records: list[bytes | None] = []  # None where one was removed
        self._records_bytes = 0  # the memory of all records
        self._gaps = 0
        self._index: array[int] | None = None  # 2 ** _bits slots, the last of them _mask
        self._bits = self._mask = 0
        self._room = _FEW  # how long the list may be before the index is made again

    def __len__(self) -> int:
        return len(self._records) - self._gaps

    def __contains__(self, key: bytes) -> bool:
        return self._find(key) >= 0

    def __iter__(self) -> Iterator[bytes]:
        """The records in order, as long as the table does not change."""
        return iter(self.records() if self._gaps else self._records)  # type: ignore[arg-type]

    def get(self, key: bytes) -> bytes | None:
        """The record with this key, or None."""
        place: cython.Py_ssize_t = self._find(key)
        return None if place < 0 else self._records[place]

    def records(self) -> list[bytes]:
        """All records in order, in a new list."""
        if self._gaps:
            return [record for record in self._records if record is not None]
        return self._records[:]  # type: ignore[return-value]

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
            former: bytes = self._records[place]  # type: ignore[assignment]
            self._records[place] = record
            self._records_bytes += bytes_object_bytes(len(record)) - bytes_object_bytes(len(former))
            return former
        if len(self._records) >= self._room:
            self._rebuild_for(1)
            code = 0 if self._index is None else hash_of(record, start, length)
        self._records.append(record)
        self._records_bytes += bytes_object_bytes(len(record))
        if self._index is not None:
            self._enter(code, len(self._records))
        return None

    def remove(self, key: bytes) -> bytes | None:
        """Remove the record with this key; the record, None if there is none."""
        return self._remove_at(self._find(key))

    def _remove_at(self, place: cython.Py_ssize_t) -> bytes | None:
        """Remove the record at a place of the list; none at -1."""
        if place < 0:
            return None
        record: bytes = self._records[place]  # type: ignore[assignment]
        self._records_bytes -= bytes_object_bytes(len(record))
        if self._index is None:
            del self._records[place]  # which moves others towards the oldest
            return record
        self._records[place] = None
        self._gaps += 1
        if self._gaps > _FEW_GAPS and 2 * self._gaps > len(self._records):
            self._rebuild_for(0)
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
        if len(self._records) + count > self._room:
            self._rebuild(len(self._records) - self._gaps + count)

    # -- scans and random picks ----------------------------------------------------------------

    def scan(self, cursor: int, count: int) -> tuple[int, list[bytes]]:
        """(next cursor, records): up to `count` of them. Cursor 0 begins and ends."""
        size = len(self._records)
        end = min(cursor, size) if cursor else size
        start = max(0, end - count)
        return start, [record for record in self._records[start:end] if record is not None]

    def pick(self, below: Callable[[int], int]) -> bytes:
        """A record chosen with `below(n)`, which gives a number in [0, n). There must be one."""
        while True:
            record = self._records[below(len(self._records))]
            if record is not None:
                return record

    # -- as a whole ----------------------------------------------------------------------------

    def copy(self) -> RecordTable:
        """An independent table of the same records."""
        twin = RecordTable(self._kind)
        twin._records = self.records()  # type: ignore[assignment]
        twin._records_bytes = self._records_bytes
        if self._gaps:
            twin._rebuild(len(twin._records))
        elif self._index is not None:
            twin._index, twin._room = self._index[:], self._room
            twin._bits, twin._mask = self._bits, self._mask
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
        twin.put_all([self._records[place] for place in places])  # type: ignore[misc]
        return twin

    def memory_bytes(self) -> int:
        """The memory in bytes, that of the records included."""
        size: cython.longlong = _OWN_BYTES + list_bytes(self._records) + self._records_bytes
        return size if self._index is None else size + array_bytes(self._index)

    def release(self, removed_data: RemovedData) -> None:
        """Give up all records when the collection is removed."""
        removed_data.add(self._records, SMALL_ITEMS)
        self._records = []
        self._records_bytes = 0
        self._gaps = 0
        self._index = None
        self._room = _FEW

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
        record: bytes | None
        if self._index is None:
            for place in range(len(self._records)):
                record = self._records[place]
                if record is not None and has_key(self._kind, record, text, start, length):
                    return place
            return -1
        slots: cython.p_uint = slots_of(self._index)
        mask: cython.uint = self._mask
        tag: cython.uint = code >> 32 + self._bits
        slot: cython.uint = code & mask
        entry: cython.uint
        while True:
            entry = slots[slot]
            if entry == 0:
                return -1
            if entry >> self._bits == tag:
                record = self._records[(entry & mask) - 1]
                if record is not None and has_key(self._kind, record, text, start, length):
                    return (entry & mask) - 1
            slot = slot + 1 & mask

    @cython.boundscheck(False)
    @cython.wraparound(False)
    def _enter(self, code: cython.ulonglong, number: cython.Py_ssize_t) -> None:
        """Enter the record that is the `number`th of the list, counted from 1, into the index."""
        assert self._index is not None
        slots: cython.p_uint = slots_of(self._index)
        mask: cython.uint = self._mask
        slot: cython.uint = code & mask
        while slots[slot]:
            slot = slot + 1 & mask
        slots[slot] = (code >> 32 + self._bits) << self._bits | number

    def _rebuild_for(self, more: cython.Py_ssize_t) -> None:
        """Make the index again for `more` records than there are, with some room to spare."""
        count: cython.Py_ssize_t = len(self._records) - self._gaps
        self._rebuild(count + count // 3 + more)

    def _rebuild(self, count: cython.Py_ssize_t) -> None:
        """Close the gaps, and make an index that has room for `count` records, if they need one."""
        if self._gaps:
            self._records = [record for record in self._records if record is not None]
            self._gaps = 0
        self._index = None
        self._room = _FEW
        size: cython.Py_ssize_t = _FEW
        bits: cython.int = 4
        if count > _FEW:
            while self._room < count:
                size *= 2
                bits += 1
                self._room = size - size // 4
            assert bits < 32
            self._bits, self._mask = bits, size - 1
            self._index = zeros(_NO_SLOTS, size)
            self._enter_all()

    @cython.boundscheck(False)
    @cython.wraparound(False)
    def _enter_all(self) -> None:
        """Enter all records into the index, which is empty."""
        start: cython.Py_ssize_t
        length: cython.Py_ssize_t
        place: cython.Py_ssize_t
        record: bytes | None
        for place in range(len(self._records)):
            if cython.compiled:
                prefetch(self._records, place)  # type: ignore[name-defined]  # noqa: F821
            record = self._records[place]
            assert record is not None
            start = key_start(self._kind, record, 0)
            length = key_length(self._kind, record, 0, len(record), start)
            self._enter(hash_of(record, start, length), place + 1)


_OWN_BYTES: cython.longlong = instance_bytes(RecordTable)
