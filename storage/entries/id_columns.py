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

try:
    import cython
except ImportError:
    from protocol import uncompiled as cython  # type: ignore[no-redef]

from storage.entries.entry_id import MAX_SEQ, SEQ_BITS, EntryID, id_ms, id_seq
from storage.object_size import allocated_bytes

Column: TypeAlias = "bytes | array[int]"

# The distance of IDs in successive milliseconds with the same sequence number.
MS_STEP = 1 << SEQ_BITS

# The number of different columns and progressions that are cached for sharing.
SHARED = 1024


class IDProgression:
    """An arithmetic progression of IDs."""

    __slots__ = ("_count", "_offset", "_step")

    def __init__(self, offset: int, step: int, count: int) -> None:
        """`offset`: of the first ID, to the key."""
        self._offset = offset
        self._step = step
        self._count = count

    def __len__(self) -> int:
        return self._count

    def at(self, key: EntryID, place: int) -> EntryID:
        """The ID at a place, which may be counted from the end."""
        if place < 0:
            place += self._count
        return key + self._offset + place * self._step

    def place(self, key: EntryID, entry_id: EntryID) -> int:
        """The place of the first ID that is not below `entry_id`."""
        distance = entry_id - key - self._offset
        if distance <= 0:
            return 0
        # Rounded up. A step is 1 or MS_STEP, and a shift takes half the time of a division.
        place = distance if self._step == 1 else -(-distance >> SEQ_BITS)
        return place if place < self._count else self._count

    def between(self, key: EntryID, low: int, high: int) -> list[EntryID]:
        """The IDs at places [low, high)."""
        first, step = key + self._offset, self._step
        if high - low == 1:  # consumers that ask for one entry
            return [first + low * step]
        return list(range(first + low * step, first + high * step, step))

    def memory_bytes(self) -> int:
        """Nothing: nodes share it."""
        return 0


class IDColumns:
    """IDs that are not a progression."""

    __slots__ = ("_ms", "_seq")

    def __init__(self, ms: Column, seq: Column) -> None:
        self._ms = ms
        self._seq = seq

    def __len__(self) -> int:
        return len(self._ms)

    def at(self, key: EntryID, place: int) -> EntryID:
        """The ID at a place, which may be counted from the end."""
        return ((key >> SEQ_BITS) + self._ms[place]) << SEQ_BITS | self._seq[place]

    def place(self, key: EntryID, entry_id: EntryID) -> int:
        """The place of the first ID that is not below `entry_id`."""
        ms = (entry_id >> SEQ_BITS) - (key >> SEQ_BITS)
        low = bisect_left(self._ms, ms)
        high = bisect_right(self._ms, ms, low)
        return bisect_left(self._seq, entry_id & MAX_SEQ, low, high)

    def between(self, key: EntryID, low: int, high: int) -> list[EntryID]:
        """The IDs at places [low, high)."""
        if high - low == 1:
            return [self.at(key, low)]
        base_ms = key >> SEQ_BITS
        pairs = zip(self._ms[low:high], self._seq[low:high], strict=True)
        return [(base_ms + ms) << SEQ_BITS | seq for ms, seq in pairs]

    def memory_bytes(self) -> int:
        """The memory of the columns in bytes, except for those that nodes share."""
        own = [column for column in (self._ms, self._seq) if len(set(column)) > 1]
        return allocated_bytes(self) + sum(map(allocated_bytes, own))


NodeIDs: TypeAlias = IDProgression | IDColumns


def pack_ids(key: EntryID, ids: list[EntryID]) -> NodeIDs:
    """The compact form of ascending IDs, at least one, none below the key."""
    count = len(ids)
    if is_progression(ids):
        return progression(ids[0] - key, step_of(ids), count)
    _split(id_ms(key), ids)
    return IDColumns(_column_of(_elapsed_ms(), count), _column_of(_seqs(), count))


# The halves of the IDs of one node at a time.
_ELAPSED_MS = array("Q")
_SEQS = array("Q")


@cython.cfunc
def _split(base_ms: cython.ulonglong, ids: list[EntryID]) -> None:
    """Write the halves of these IDs, their milliseconds less `base_ms`, as numbers of C."""
    count: cython.Py_ssize_t = len(ids)
    if len(_SEQS) < count:
        room = bytes(8 * (count - len(_SEQS)))
        _ELAPSED_MS.frombytes(room)
        _SEQS.frombytes(room)
    elapsed_ms: cython.p_ulonglong = _elapsed_ms()
    seqs: cython.p_ulonglong = _seqs()
    place: cython.Py_ssize_t
    for place in range(count):
        elapsed_ms[place] = id_ms(ids[place]) - base_ms
        seqs[place] = id_seq(ids[place])


@cython.cfunc
def _elapsed_ms() -> cython.p_ulonglong:
    """Compiled, a pointer to the numbers, until there is more room for them."""
    if cython.compiled:
        return _ELAPSED_MS.data.as_ulonglongs  # type: ignore[attr-defined]
    return _ELAPSED_MS


@cython.cfunc
def _seqs() -> cython.p_ulonglong:
    if cython.compiled:
        return _SEQS.data.as_ulonglongs  # type: ignore[attr-defined]
    return _SEQS


@cython.cfunc
def _column_of(numbers: cython.p_ulonglong, count: cython.Py_ssize_t) -> Column:
    """`column()` of the first `count` of these numbers."""
    first: cython.ulonglong = numbers[0]
    top: cython.ulonglong = first
    is_same: cython.bint = True
    place: cython.Py_ssize_t
    for place in range(count):
        if numbers[place] != first:
            is_same = False
            if numbers[place] > top:
                top = numbers[place]
    if is_same:
        return _uniform_column(first, count)
    if top >= 2**8:
        return _packed_column([numbers[place] for place in range(count)], top)
    column = bytearray(count)
    data: cython.p_uchar = column
    for place in range(count):
        data[place] = numbers[place]
    return bytes(column)


def is_progression(ids: list[EntryID]) -> bool:
    """Whether these IDs, which ascend, proceed in steps of 1 or of MS_STEP."""
    steps = len(ids) - 1
    span = ids[-1] - ids[0]
    if span != steps * MS_STEP:
        return span == steps  # then there are no others between them
    seq: cython.ulonglong = id_seq(ids[0])
    place: cython.Py_ssize_t
    for place in range(len(ids)):  # noqa: SIM110  (a C loop)
        if id_seq(ids[place]) != seq:
            return False
    return True


def step_of(ids: list[EntryID]) -> int:
    """The step in which a progression proceeds."""
    return 1 if ids[-1] - ids[0] == len(ids) - 1 else MS_STEP


@lru_cache(SHARED)
def progression(offset: int, step: int, count: int) -> IDProgression:
    """`count` IDs in equal steps, the first at `offset` from the key; shared by all nodes."""
    return IDProgression(offset, step, count)


def column(numbers: list[int]) -> Column:
    """The numbers in the smallest array type that holds them; shared if all are equal."""
    if is_uniform(numbers):
        return _uniform_column(numbers[0], len(numbers))
    return _packed_column(numbers, max(numbers))


def is_uniform(numbers: list[int]) -> bool:
    """Whether all of these, at least one, are equal."""
    first = numbers[0]
    return first == numbers[-1] and numbers.count(first) == len(numbers)


@lru_cache(SHARED)
def _uniform_column(number: int, count: int) -> Column:
    return _packed_column([number] * count, number)


def _packed_column(numbers: list[int], top: int) -> Column:
    if top < 2**8:
        return bytes(numbers)
    return array("H" if top < 2**16 else "I" if top < 2**32 else "Q", numbers)
