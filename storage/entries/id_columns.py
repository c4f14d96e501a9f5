"""Compact storage of the IDs of a frozen node, relative to its key.

Most nodes have one ID in each millisecond, or consecutive IDs of one millisecond: an IDProgression,
which all such nodes share. Other nodes have IDColumns: for each entry the distance of its
millisecond to that of the key, and its sequence number. Both have the same methods.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from functools import lru_cache
from typing import TypeAlias

import cython

from storage.entries.entry_id import SEQ_BITS, EntryID, id_ms, id_seq, make_id
from storage.entries.entry_ids import EntryIDs
from storage.object_size import instance_bytes

if not cython.compiled:
    # Compiled, they are C functions, which the module's C types import.
    from storage.entries.entry_ids import numbers_of
    from storage.object_size import array_bytes, bytes_object_bytes

Column: TypeAlias = "bytes | array[int]"

# The distance of IDs in successive milliseconds with the same sequence number.
MS_STEP = 1 << SEQ_BITS

# The number of different columns and progressions that are cached for sharing.
SHARED = 1024


@cython.cclass
class NodeIDs:
    """The IDs of a frozen node, which ascend. They are relative to its key, an argument of all."""

    __slots__ = ("count",)

    count: int

    def __len__(self) -> int:
        return self.count

    def at(self, key: EntryID, place: cython.Py_ssize_t) -> EntryID:
        """The ID at a place, which may be counted from the end."""
        raise NotImplementedError

    def place(self, key: EntryID, entry_id: EntryID) -> cython.Py_ssize_t:
        """The place of the first ID that is not below `entry_id`."""
        raise NotImplementedError

    def add_to(
        self, ids: EntryIDs, key: EntryID, low: cython.Py_ssize_t, high: cython.Py_ssize_t
    ) -> None:
        """Append the IDs at places [low, high) to a row."""
        raise NotImplementedError

    def between(
        self, key: EntryID, low: cython.Py_ssize_t, high: cython.Py_ssize_t
    ) -> list[EntryID]:
        """The IDs at places [low, high)."""
        ids = EntryIDs()
        self.add_to(ids, key, low, high)
        return list(ids)

    def memory_bytes(self) -> int:
        """The memory in bytes, except for what nodes share."""
        raise NotImplementedError


@cython.cclass
class IDProgression(NodeIDs):
    """An arithmetic progression of IDs; nodes share it."""

    __slots__ = ("_offset", "step")

    def __init__(self, offset: int, step: int, count: int) -> None:
        """`offset`: of the first ID, to the key. `step`: 1 or MS_STEP."""
        self._offset = offset
        self.step = step
        self.count = count

    def at(self, key: EntryID, place: cython.Py_ssize_t) -> EntryID:
        """Return the ID at a place, which may be counted from the end."""
        if place < 0:
            place += self.count
        return key + self._offset + self.step * place

    def place(self, key: EntryID, entry_id: EntryID) -> cython.Py_ssize_t:
        """Return the place of the first ID that is not below `entry_id`."""
        first = key + self._offset
        if entry_id <= first:
            return 0
        count = self.count
        place = entry_id - first
        if self.step != 1:  # it is MS_STEP; rounded up
            place = (place - 1 >> 64) + 1
        return place if place < count else count

    def add_to(
        self, ids: EntryIDs, key: EntryID, low: cython.Py_ssize_t, high: cython.Py_ssize_t
    ) -> None:
        """Append the IDs at places [low, high) to a row."""
        entry_id = key + self._offset + self.step * low
        for _ in range(low, high):
            ids.add(entry_id)
            entry_id += self.step

    def memory_bytes(self) -> int:
        """Return 0: all nodes with the same progression share it."""
        return 0


@cython.cclass
class IDColumns(NodeIDs):
    """IDs that are not a progression."""

    __slots__ = ("_ms", "_seq")

    def __init__(self, ms: Column, seq: Column) -> None:
        self._ms = ms
        self._seq = seq
        self.count = len(ms)

    def at(self, key: EntryID, place: cython.Py_ssize_t) -> EntryID:
        """Return the ID at a place, which may be counted from the end."""
        return make_id(id_ms(key) + self._ms[place], self._seq[place])

    def place(self, key: EntryID, entry_id: EntryID) -> cython.Py_ssize_t:
        """Return the place of the first ID that is not below `entry_id`."""
        if entry_id <= key:
            return 0
        ms = id_ms(entry_id) - id_ms(key)
        low = bisect_left(self._ms, ms)
        high = bisect_right(self._ms, ms, low)
        return bisect_left(self._seq, id_seq(entry_id), low, high)

    def add_to(
        self, ids: EntryIDs, key: EntryID, low: cython.Py_ssize_t, high: cython.Py_ssize_t
    ) -> None:
        """Append the IDs at places [low, high) to a row."""
        base_ms: cython.ulonglong = id_ms(key)
        place: cython.Py_ssize_t
        ms: cython.ulonglong
        for place in range(low, high):
            ms = self._ms[place]
            ids.add(make_id(base_ms + ms, self._seq[place]))

    def memory_bytes(self) -> int:
        """Return the memory in bytes, without columns of equal numbers, which nodes share."""
        size: cython.longlong = _COLUMNS_BYTES
        for numbers in (self._ms, self._seq):
            if not is_uniform(numbers):
                size += column_bytes(numbers)
        return size


_COLUMNS_BYTES: cython.longlong = instance_bytes(IDColumns)


def column_bytes(numbers: Column) -> cython.longlong:
    """The memory of a column in bytes."""
    if type(numbers) is bytes:
        return bytes_object_bytes(len(numbers))
    return array_bytes(numbers)  # type: ignore[arg-type]


def pack_ids(
    key: EntryID,
    ms: array[int],
    seqs: array[int],
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
) -> NodeIDs:
    """The compact form of `count` ascending IDs, at least one, none below the key.

    Their halves are in two arrays, from index `first` on.
    """
    all_ms: cython.p_ulonglong = numbers_of(ms)
    all_seqs: cython.p_ulonglong = numbers_of(seqs)
    if _is_run(all_ms, first, count, 0) and _is_run(all_seqs, first, count, 1):
        return progression(make_id(ms[first], seqs[first]) - key, 1, count)
    if _is_run(all_ms, first, count, 1) and _is_run(all_seqs, first, count, 0):
        return progression(make_id(ms[first], seqs[first]) - key, MS_STEP, count)
    base_ms: cython.ulonglong = id_ms(key)
    return IDColumns(
        _column_of(all_ms, first, count, base_ms), _column_of(all_seqs, first, count, 0)
    )


@cython.cfunc
def _is_run(
    numbers: cython.p_ulonglong,
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    step: cython.ulonglong,
) -> cython.bint:
    """Return True if each number is the one before it plus `step`."""
    index: cython.Py_ssize_t
    for index in range(first + 1, first + count):
        if numbers[index] - numbers[index - 1] != step:
            return False
    return True


@cython.cfunc
def _column_of(
    numbers: cython.p_ulonglong,
    first: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
    base: cython.ulonglong,
) -> Column:
    """`column()` of `count` numbers from index `first` on, each less `base`."""
    top: cython.ulonglong = 0
    index: cython.Py_ssize_t
    if _is_run(numbers, first, count, 0):
        return _uniform_column(numbers[first] - base, count)
    for index in range(first, first + count):
        if numbers[index] - base > top:
            top = numbers[index] - base
    if top >= 2**8:
        return _packed_column([numbers[index] - base for index in range(first, first + count)], top)
    column = bytearray(count)
    data: cython.p_uchar = column
    for index in range(count):
        data[index] = numbers[first + index] - base
    return bytes(column)


@lru_cache(SHARED)
def progression(offset: int, step: int, count: int) -> IDProgression:
    """`count` IDs in equal steps, the first at `offset` from the key; shared by all nodes."""
    return IDProgression(offset, step, count)


def column(numbers: list[int]) -> Column:
    """The numbers in the smallest array type that holds them; shared if all are equal."""
    if is_uniform(numbers):
        return _uniform_column(numbers[0], len(numbers))
    return _packed_column(numbers, max(numbers))


def is_uniform(numbers: list[int] | Column) -> bool:
    """Return True if all numbers are equal; there must be at least one."""
    first = numbers[0]
    return first == numbers[-1] and numbers.count(first) == len(numbers)


@lru_cache(SHARED)
def _uniform_column(number: int, count: int) -> Column:
    return _packed_column([number] * count, number)


def _packed_column(numbers: list[int], top: int) -> Column:
    if top < 2**8:
        return bytes(numbers)
    return array("H" if top < 2**16 else "I" if top < 2**32 else "Q", numbers)
