"""Layouts of similar entries: the part that a node's entries have in common is stored once.

Entries of a stream often have the same length and IDs that count up by one, and differ otherwise in
a few places only. Their common part is stored once, in a Layout that all such nodes of a stream
share, and IDs follow from the first one. The rest is packed, and entries are restored from it
without opening the whole node.

There are two kinds: for entries that differ in one number only (storage/entries/number_layout.py),
and for others (storage/entries/column_layout.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

from storage.entries.entry_id import MAX_SEQ, SEQ_BITS, EntryID
from storage.entries.field_row import FieldRow
from storage.entries.id_columns import MS_STEP
from storage.object_size import allocated_bytes, instance_bytes

# An entry begins with the header of an array of two, and that of its ID: *2 CRLF $<bytes> CRLF.
_LENGTH_OF_ID = 4

# The last digits of numbers that count up: all ones, all tens ... of two such periods. They are
# bytearrays, because to assign from these takes half the time.
PERIOD = 10_000
_DIGITS = [
    bytearray(b"".join([b"%d" % digit * unit for digit in range(10)]) * (2 * PERIOD // (10 * unit)))
    for unit in (1, 10, 100, 1000)
]


class Layout(ABC):
    """The common part of similar entries of one length."""

    __slots__ = (
        "_digits_end",
        "_head",
        "_id_bytes",
        "_id_end",
        "_memory_bytes",
        "length",
        "step",
    )

    def __init__(self, entry: bytes, id_text: bytes, step: int) -> None:
        """From one of the entries. `step`: from an ID to the next one, 1 or MS_STEP."""
        id_start = entry.index(b"\r\n", _LENGTH_OF_ID) + 2
        self.length = len(entry)
        self.step = step
        self._id_bytes = len(id_text)
        self._memory_bytes = 0  # once it was asked for
        self._id_end = id_start + len(id_text)
        self._head = entry[:id_start]
        # Where the number ends that counts up.
        counting = id_text.index(b"-") if step == MS_STEP else len(id_text)
        self._digits_end = id_start + counting

    def fits(self, length: int, id_text: bytes, step: int) -> bool:
        """Return True if entries of this length with such IDs may have this layout."""
        return (self.length, self._id_bytes, self.step) == (length, len(id_text), step)

    @abstractmethod
    def squeeze(self, payload: bytes, first_id: EntryID) -> bytes | None:
        """Return the differing parts of these entries, packed; None if part() cannot restore them.

        They have this layout's length, and IDs in its steps from the first one on, all with texts
        of the same length.
        """

    def gives_back(self, payload: bytes, first_id: EntryID, packed: bytes) -> bool:
        """Return True if part() restores exactly these entries from `packed`."""
        count = len(payload) // self.length
        return self.part(first_id, packed, count, 0, count) == payload

    def part(self, first_id: EntryID, packed: bytes, count: int, low: int, high: int) -> bytes:
        """The entries in places [low, high) of `count` that were squeezed.

        `first_id`: that of place `low`, which is below `high`.
        """
        number = first_id & MAX_SEQ if self.step == 1 else first_id >> SEQ_BITS
        start = number % PERIOD
        middle = low + PERIOD - start  # entries before it have the same digits before the last four
        if high <= middle:
            return self._alike(first_id, packed, count, low, high, start)
        later = self.part(first_id + (middle - low) * self.step, packed, count, middle, high)
        return self._alike(first_id, packed, count, low, middle, start) + later

    @abstractmethod
    def _alike(
        self, first_id: EntryID, packed: bytes, count: int, low: int, high: int, start: int
    ) -> bytes:
        """Return part() of entries whose IDs differ in their last four digits at most.

        `start`: these digits of the first ID.
        """

    @abstractmethod
    def row(self) -> FieldRow:
        """The fields of these entries, to be filled in one after the other."""

    def memory_bytes(self) -> int:
        """The memory in bytes."""
        if not self._memory_bytes:
            parts = sum(map(allocated_bytes, (self._head, *self._parts())))
            self._memory_bytes = instance_bytes(type(self)) + parts
        return self._memory_bytes

    @abstractmethod
    def _parts(self) -> Iterable[object]:
        """The objects of which the layout consists, beside its head; numbers are small."""

    def _count_up(self, entries: bytearray, start: int, count: int) -> None:
        """Write the digits that differ into the IDs of `count` entries, which all have the first.

        `start`: the last four digits of that.
        """
        low, high = start, start + count - 1
        length, column = self.length, self._digits_end
        for digits in _DIGITS:
            if low == high:
                break
            column -= 1
            entries[column::length] = digits[start : start + count]
            low, high = low // 10, high // 10


def row_of(fields: bytes, columns: Iterable[int], *, is_number: bool) -> FieldRow:
    """A FieldRow from what follows an entry's ID, and the columns in that."""
    start = fields.index(b"$")
    return FieldRow(fields[start:], [column - start for column in columns], is_number=is_number)


def differing_columns(payload: bytes, length: int, start: int) -> list[int]:
    """The columns from `start` on in which entries of this length are not all the same."""
    found = []
    for column in range(start, length):
        data = payload[column::length]
        if data.count(data[0]) != len(data):
            found.append(column)
    return found
