"""A row of entry IDs, held as pairs of numbers.

IDs take this form on their way from the nodes of a stream to a group's pending entries and into the
append-only file, and from a request to the pending entries that it acknowledges. Compiled, no
object is made of an ID there. Other code reads a row as it would a list.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from operator import eq

import cython

from storage.entries.entry_id import EntryID, PlainID, id_ms, id_seq, make_id

_PLAIN_ID = PlainID()


@cython.cclass
class EntryIDs:
    """IDs in any order; `count` is their number."""

    __slots__ = ("_numbers", "count")

    def __init__(self) -> None:
        self.count = 0
        self._numbers: array[int] = array("Q")  # the halves of each ID, and room for more

    @staticmethod
    def of(ids: Iterable[EntryID]) -> EntryIDs:
        """A row of these IDs."""
        row = EntryIDs()
        row.extend(ids)
        return row

    def clear(self) -> None:
        """Remove all, to use the row again."""
        self.count = 0

    def cut(self, count: cython.Py_ssize_t) -> None:
        """Keep only the first `count` IDs."""
        self.count = min(count, self.count)

    def add(self, entry_id: EntryID) -> None:
        """Append an ID."""
        place: cython.Py_ssize_t = 2 * self.count
        if place == len(self._numbers):
            self._numbers.frombytes(bytes(16 * max(4, self.count)))
        numbers: cython.p_ulonglong = numbers_of(self._numbers)
        numbers[place] = id_ms(entry_id)
        numbers[place + 1] = id_seq(entry_id)
        self.count += 1

    def add_plain(self, text: bytes) -> bool:
        """Append an ID in canonical form; False for any other text, an ID or not."""
        plain: PlainID = _PLAIN_ID
        if not plain.read(text):
            return False
        self.add(make_id(plain.ms, plain.seq))
        return True

    def extend(self, ids: Iterable[EntryID]) -> None:
        """Append IDs."""
        for entry_id in ids:
            self.add(entry_id)

    def at(self, place: cython.Py_ssize_t) -> EntryID:
        """The ID at a place, which must be one of [0, count)."""
        numbers: cython.p_ulonglong = numbers_of(self._numbers)
        return make_id(numbers[2 * place], numbers[2 * place + 1])

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, place: cython.Py_ssize_t) -> EntryID:
        if place < 0:
            place += self.count
        if not 0 <= place < self.count:
            raise IndexError(place)
        return self.at(place)

    def __iter__(self) -> Iterator[EntryID]:
        return iter([self.at(place) for place in range(self.count)])

    def __eq__(self, other: object) -> bool:
        """Return True for a sequence of the same IDs in the same order."""
        if not isinstance(other, EntryIDs | list):
            return NotImplemented
        return self.count == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]


def numbers_of(numbers: object) -> cython.p_ulonglong:
    """An array of numbers; compiled, a pointer to them, valid until the array is resized."""
    if cython.compiled:
        # The module's C types have it.
        return pointer_to(numbers)  # type: ignore[name-defined]  # noqa: F821
    return numbers
