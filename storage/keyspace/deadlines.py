"""The deadlines of a database's keys: when each expires, and which expires first.

A deadline is in a slot, and the value of its key has the number of the slot (`Value.deadline`; 0:
it has none). A slot has the time and the serial of the key, by which `CreationOrder` finds the key.
A binary heap of the slots' numbers has the earliest one on top. All numbers are in arrays: 24 bytes
for a key.

Guarantees: adding, moving and dropping a deadline takes constant time, but for a heap's logarithm,
and less for one that is later than most others.

Leaves out: the table from keys to values, and so the renumbering of slots when most deadlines have
been dropped (`is_sparse`, storage/keyspace/database.py).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Any

import cython

from storage.keyspace.ordered_index import Chance
from storage.memory import instance_bytes

if not cython.compiled:
    # Compiled, they are C functions, which the module's C types import.
    from storage.memory import array_bytes
    from storage.types.key_part import slots_of

    def times_of(numbers: array[int]) -> Any:
        """The array; compiled, a pointer to its numbers."""
        return numbers


NO_DEADLINE = -1
_NO_DEADLINE: cython.long = NO_DEADLINE
# The arrays grow by an eighth, and by this number of slots at least.
_LEAST_GROWTH: cython.Py_ssize_t = 16
# The slots are renumbered when there are four times as many as deadlines; few are left alone.
_FEW_SLOTS: cython.Py_ssize_t = 1000


@cython.no_gc  # it refers to arrays of numbers only
@cython.cclass
class Deadlines:
    """Times (Unix ms) by slot."""

    __slots__ = ("_free", "_heap", "_places", "_serials", "_times", "_used", "count")

    def __init__(self) -> None:
        self._clear()

    @cython.cfunc
    def _clear(self) -> None:
        self.count = 0
        self._used = 0  # the last slot in use
        self._free = 0  # the first free slot before it; each has the next one as its place
        self._times: array[int] = array("q", [NO_DEADLINE])  # by slot, as the next two
        self._serials: array[int] = array("q", [0])
        self._places: array[int] = array("I", [0])  # where in the heap the slot is
        self._heap: array[int] = array("I", [0])  # slots; begins at 1

    def __len__(self) -> int:
        return self.count

    def at(self, slot: cython.uint) -> cython.long:
        """The time of a slot; NO_DEADLINE for slot 0."""
        when_ms: cython.long = times_of(self._times)[slot]
        return when_ms

    # -- changing ------------------------------------------------------------------------------

    def add(self, when_ms: cython.long, serial: cython.long) -> cython.uint:
        """Add the deadline of the key with a serial; return its slot."""
        slot: cython.uint = self._free
        if slot:
            self._free = slots_of(self._places)[slot]
        else:
            self._used += 1
            if self._used == len(self._times):
                self._grow()
            slot = self._used
        times_of(self._times)[slot] = when_ms
        times_of(self._serials)[slot] = serial
        self.count += 1
        self._rise(slot, self.count)
        return slot

    def move(self, slot: cython.uint, when_ms: cython.long) -> None:
        """Change the time of a slot."""
        times: cython.p_long = times_of(self._times)
        former_ms: cython.long = times[slot]
        times[slot] = when_ms
        place: cython.Py_ssize_t = slots_of(self._places)[slot]
        if when_ms < former_ms:
            self._rise(slot, place)
        else:
            self._sink(slot, place)

    def drop(self, slot: cython.uint) -> None:
        """Remove the deadline in a slot."""
        if self.count == 1:
            self._clear()
            return
        places: cython.p_uint = slots_of(self._places)
        heap: cython.p_uint = slots_of(self._heap)
        place: cython.Py_ssize_t = places[slot]
        last: cython.uint = heap[self.count]
        self.count -= 1
        if last != slot:
            if self._is_before(last, slot):
                self._rise(last, place)
            else:
                self._sink(last, place)
        times_of(self._times)[slot] = _NO_DEADLINE
        places[slot] = self._free
        self._free = slot

    @cython.cfunc
    def _grow(self) -> None:
        more = max(len(self._times) // 8, _LEAST_GROWTH)
        for numbers in (self._times, self._serials, self._places, self._heap):
            numbers.frombytes(bytes(numbers.itemsize * more))

    def _is_before(self, one: cython.uint, other: cython.uint) -> cython.bint:
        times: cython.p_long = times_of(self._times)
        if times[one] != times[other]:
            return times[one] < times[other]
        serials: cython.p_long = times_of(self._serials)
        return serials[one] < serials[other]

    def _rise(self, slot: cython.uint, place: cython.Py_ssize_t) -> None:
        """Put a slot at a place of the heap, or above it."""
        places: cython.p_uint = slots_of(self._places)
        heap: cython.p_uint = slots_of(self._heap)
        while place > 1:
            above: cython.uint = heap[place >> 1]
            if not self._is_before(slot, above):
                break
            heap[place] = above
            places[above] = place
            place >>= 1
        heap[place] = slot
        places[slot] = place

    def _sink(self, slot: cython.uint, place: cython.Py_ssize_t) -> None:
        """Put a slot at a place of the heap, or below it."""
        places: cython.p_uint = slots_of(self._places)
        heap: cython.p_uint = slots_of(self._heap)
        while 2 * place <= self.count:
            below: cython.Py_ssize_t = 2 * place
            if below < self.count and self._is_before(heap[below + 1], heap[below]):
                below += 1
            if not self._is_before(heap[below], slot):
                break
            heap[place] = heap[below]
            places[heap[place]] = place
            place = below
        heap[place] = slot
        places[slot] = place

    # -- reading -------------------------------------------------------------------------------

    def first(self) -> int | None:
        """The serial of the key that expires first; None without any."""
        return self._serials[self._heap[1]] if self.count else None

    def before(self, now_ms: int, limit: int) -> list[int]:
        """The serials of up to `limit` keys that expire before a time, the earliest first."""
        serials: list[int] = []
        at, heap = self._times, self._heap
        found: list[tuple[int, int, int]] = []  # time, serial, place: those next to the taken ones
        below = [1]
        while len(serials) < limit:
            for place in below:
                if place <= self.count and at[heap[place]] < now_ms:
                    slot = heap[place]
                    heappush(found, (at[slot], self._serials[slot], place))
            if not found:
                break
            _, serial, place = heappop(found)
            serials.append(serial)
            below = [2 * place, 2 * place + 1]
        return serials

    def random(self, chance: Chance) -> int | None:
        """The serial of a key, each equally likely; None without any."""
        if not self.count:
            return None
        return self._serials[self._heap[1 + chance.below(self.count)]]

    def sample(self, limit: int) -> list[int]:
        """Up to `limit` of the times, from all parts of the heap."""
        number = min(limit, self.count)
        return [self._times[self._heap[1 + i * self.count // number]] for i in range(number)]

    def items(self) -> Iterator[tuple[int, int]]:
        """The serials of the keys with their times, in an order that makes a heap quickly."""
        for slot in self._heap[1 : self.count + 1]:
            yield self._serials[slot], self._times[slot]

    # -- the whole -----------------------------------------------------------------------------

    @property
    def is_sparse(self) -> bool:
        """Return True if the slots should be renumbered."""
        return self._used > 4 * self.count + _FEW_SLOTS

    def memory_bytes(self) -> int:
        """The memory in bytes."""
        numbers = (self._times, self._serials, self._places, self._heap)
        return _OWN_BYTES + sum([array_bytes(part) for part in numbers])


_OWN_BYTES: cython.long = instance_bytes(Deadlines)
