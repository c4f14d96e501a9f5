"""The fields of an entry that has a layout, filled in from what is packed, without the entry.

A snapshot needs the values alone. The names, and where the values are, are the same in all entries
of a layout, so they are found once.
"""

from __future__ import annotations

from array import array

import cython

from storage.entries.entry_reader import EntryReader

if not cython.compiled:
    # Compiled, it returns a pointer, and the module's C types import it.
    from storage.entries.entry_ids import numbers_of

_READER = EntryReader()
_DIGITS: bytes = b"0123456789abcdef"


@cython.cclass
class FieldRow:
    """The fields of one entry after the other; `text` has those of the last one.

    `names` are the names of all entries, `width` is their number, and `size` that of the bytes of
    `text`. Each value begins at one of `starts`, and has one of `lengths`.

    Without `is_plain`, entries differ elsewhere than in values, and this is of no use.
    """

    def __init__(self, fields: bytes, columns: list[int], *, is_number: bool) -> None:
        """From the fields of any entry, as bulk strings.

        `columns`: where entries differ. With `is_number` they are successive hexadecimal digits,
        two of them in each packed byte; else each column is packed for all entries, one after the
        other.
        """
        self._memory = bytearray(fields)
        self.text: bytes = self._memory  # type: ignore[assignment]  # C does not mind
        self._out = self._memory
        self.size = len(fields)
        self._differing = len(columns)
        self._is_number = is_number
        self.names: list[bytes] = []
        starts, lengths = array("Q"), array("Q")
        reader: EntryReader = _READER
        reader.load(fields)
        while reader.place < reader.end:
            reader.read_word()
            self.names.append(fields[reader.start : reader.start + reader.length])
            reader.read_word()
            starts.append(reader.start)
            lengths.append(reader.length)
        self.width = len(self.names)
        self.is_plain = _are_in(columns, list(zip(starts, lengths, strict=True)))
        # These arrays do not grow any more: pointers to their numbers stay valid.
        self._column_numbers, self._start_numbers = array("Q", columns), starts
        self._length_numbers = lengths
        self._columns = numbers_of(self._column_numbers)
        self.starts, self.lengths = numbers_of(starts), numbers_of(lengths)

    def fill(
        self, packed: cython.p_const_uchar, count: cython.Py_ssize_t, place: cython.Py_ssize_t
    ) -> None:
        """Make `text` that of the entry at a place. `packed`: what remained of `count` entries."""
        out = self._out
        columns = self._columns
        digits: cython.p_const_uchar = _DIGITS
        index: cython.Py_ssize_t
        column: cython.Py_ssize_t
        byte: cython.int
        size: cython.Py_ssize_t = self._differing // 2
        if self._is_number:
            column = columns[0]
            for index in range(size):
                byte = packed[place * size + index]
                out[column + 2 * index] = digits[byte >> 4]
                out[column + 2 * index + 1] = digits[byte & 15]
            return
        for index in range(self._differing):
            column = columns[index]
            out[column] = packed[index * count + place]


def _are_in(columns: list[int], spans: list[tuple[int, int]]) -> bool:
    """Return True if all columns are in these spans, which are (start, length)."""
    return all(
        any(start <= column < start + length for start, length in spans) for column in columns
    )
