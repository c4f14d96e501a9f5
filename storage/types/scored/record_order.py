"""Records of members with scores, in order, in parts of some hundred.

A part is a list. Two rows beside the parts, of their first records and of their lengths, lead to
the part of a record or of a rank; an order of one part has none. So adding and removing a record
moves no more than a part, and a rank is found by adding up lengths, which takes a microsecond for a
million members.

A span is a pair of ranks, [start, end). A range of scores is one, too:

    start = order.rank_of(make_record(low, b""))

Guarantees: no part is empty, unless the order is. Records differ in their members.

Leaves out: the table from members to records (storage/types/sorted_sets.py).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import TypeAlias

import cython

from storage.object_size import instance_bytes
from storage.types.scored.record import Record, is_before, member_of, place_of

if not cython.compiled:
    # Compiled, they are C functions, which the module's C types import.
    from storage.object_size import array_bytes, list_bytes

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

    def first_part(self) -> Part:
        """The first part itself: all records, while they are few. Do not modify it."""
        return self._parts[0]

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
        size: cython.longlong = _OWN_BYTES + list_bytes(self._parts) + self._parts_bytes
        if self._counts is not None:
            size += array_bytes(self._counts) + list_bytes(self._firsts)  # type: ignore[arg-type]
        return size


_OWN_BYTES: cython.longlong = instance_bytes(RecordOrder)


def _lengths(order: RecordOrder) -> cython.p_int:
    """The lengths of the parts; compiled, a pointer to them."""
    if cython.compiled:
        return order._counts.data.as_ints  # type: ignore[union-attr]
    return order._counts
