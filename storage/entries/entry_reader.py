"""Reads encoded entries, one after the other, without making objects of what is in them."""

from __future__ import annotations

import cython

if not cython.compiled:
    # Compiled, it is a C function, which the module's C types import.
    from storage.raw_bytes import is_at


@cython.cclass
class EntryReader:
    """A walk over entries; the attributes are those of what was read last.

    `place` is up to where they were read. `ms` and `seq` are the halves of an entry's ID; a word
    has `length` bytes from `start` on.
    """

    def __init__(self) -> None:
        self.load(b"")

    def load(self, entries: bytes | bytearray, end: cython.Py_ssize_t = -1) -> None:
        """Begin with these entries. `end`: where they end, by default with the text."""
        self.entries = entries
        self._data = self.entries
        self.end = len(entries) if end < 0 else end
        self.place = 0
        self.ms = self.seq = 0
        self.start = self.length = 0

    def read_head(self) -> int:
        """Read an entry up to its fields; how many words follow."""
        self.place += 5  # the header of an array of two, and the `$` of the ID
        self._read_number()
        self.place += 2
        self.ms = self._read_number()
        self.place += 1
        self.seq = self._read_number()
        self.place += 3  # CR LF and the `*` of the fields
        words: cython.Py_ssize_t = self._read_number()
        self.place += 2
        return words

    def read_word(self) -> None:
        """Read a bulk string."""
        self.place += 1
        self.length = self._read_number()
        self.start = self.place + 2
        self.place = self.start + self.length + 2

    def _read_number(self) -> cython.ulonglong:
        """Read digits, and stop at what comes after them."""
        data = self._data
        place: cython.Py_ssize_t = self.place
        number: cython.ulonglong = 0
        while data[place] >= 48:
            number = number * 10 + (data[place] - 48)
            place += 1
        self.place = place
        return number

    def pass_over(self, text: bytes) -> bool:
        """Move past these bytes if they are what comes next."""
        size: cython.Py_ssize_t = len(text)
        data: cython.p_const_uchar = self._data  # type: ignore[assignment]  # or a bytearray
        if size > self.end - self.place or not is_at(data, self.place, text, size):
            return False
        self.place += size
        return True
