"""Entries that have the same names, without what they have in common: what is best to compress.

Their framing and their names are there once, in a Frame that the nodes of a stream share. Of each
entry remains:

    ID      its milliseconds less those of the entry before it, and its sequence number; in the
            same millisecond less the one before it
    values  each as its length and its bytes

first the IDs of all entries, then the values of all. Numbers have 7 bits in each byte, the lowest
first, and the highest bit set in all bytes but the last.

Compiled, a word takes some nanoseconds in either direction. Interpreted it takes a microsecond, so
frames are used only where this is compiled (storage/entries/packed_form.py).
"""

from __future__ import annotations

import cython

from storage.entries.entry_id import MAX_SEQ, SEQ_BITS, EntryID
from storage.entries.entry_reader import EntryReader
from storage.object_size import instance_bytes

if not cython.compiled:
    # Compiled, they are C functions, which the module's C types import.
    from storage.decimals import digits_of, put_decimal
    from storage.object_size import bytes_object_bytes, list_bytes
    from storage.raw_bytes import is_at, put_bytes

_READER = EntryReader()

# What an entry begins with.
_HEADER: bytes = b"*2\r\n$"
_CRLF: bytes = b"\r\n"
# The values of the entries that are being stripped.
_VALUES = bytearray()


@cython.cclass
class Frame:
    """The `names` of entries, and all that is around their values."""

    def __init__(self, entries: bytes | bytearray) -> None:
        """From the first of these entries."""
        reader: EntryReader = _READER
        reader.load(entries)
        self._words = reader.read_head()
        self.names: list[bytes] = []
        self._names: list[bytes] = []  # as bulk strings, each with the `$` of its value
        start: cython.Py_ssize_t
        for _ in range(self._words // 2):
            start = reader.place
            reader.read_word()
            self.names.append(bytes(entries[reader.start : reader.start + reader.length]))
            self._names.append(bytes(entries[start : reader.place]) + b"$")
            reader.read_word()
        self._memory_bytes = 0  # once it was asked for
        self._count = b"\r\n*%d\r\n" % self._words

    def strip(
        self, first_id: EntryID, text: bytearray, size: cython.Py_ssize_t, room: bytearray
    ) -> int:
        """Write the stripped entries into `room`; return their number of bytes, or -1.

        -1: some have other names. The entries are the first `size` bytes of `text`, and `room` is
        as long as they are.
        """
        reader: EntryReader = _READER
        if len(_VALUES) < size:
            _VALUES.extend(bytes(size - len(_VALUES)))
        buffer: bytearray = _VALUES
        values: cython.p_uchar = buffer
        # That is enough: numbers take no more bytes than they have digits.
        out: cython.p_uchar = room
        place: cython.Py_ssize_t = 0
        end: cython.Py_ssize_t = 0  # of the values
        ms: cython.ulonglong = first_id >> SEQ_BITS
        seq: cython.ulonglong = first_id & MAX_SEQ
        reader.load(text, size)
        while reader.place < reader.end:
            if reader.read_head() != self._words:
                return -1
            place = _put_number(out, place, reader.ms - ms)
            place = _put_number(out, place, reader.seq - seq if reader.ms == ms else reader.seq)
            ms = reader.ms
            seq = reader.seq
            end = self._put_values(text, reader, values, end)
            if end < 0:
                return -1
        return put_bytes(out, place, values, 0, end)  # type: ignore[arg-type]

    def _put_values(
        self, text: bytearray, reader: EntryReader, out: cython.p_uchar, end: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Read an entry's fields, and write its values; the place after them.

        -1: they have other names than this frame.
        """
        data: cython.p_const_uchar = text  # type: ignore[assignment]  # C does not mind
        place: cython.Py_ssize_t
        size: cython.Py_ssize_t
        name: bytes
        letters: cython.p_const_uchar
        for name in self._names:
            letters = name
            size = len(name)
            place = reader.place
            if size > reader.end - place or not is_at(data, place, letters, size):
                return -1
            reader.place = place + size - 1
            reader.read_word()
            end = _put_number(out, end, reader.length)
            end = put_bytes(out, end, data, reader.start, reader.length)
        return end

    def build(
        self,
        first_id: EntryID,
        stripped: bytes,
        count: cython.Py_ssize_t,
        size: cython.Py_ssize_t,
    ) -> bytes:
        """The `count` entries of which this remained; they have `size` bytes."""
        memory = bytearray(size)
        out: cython.p_uchar = memory
        place: cython.Py_ssize_t = 0
        ms: cython.ulonglong = first_id >> SEQ_BITS
        seq: cython.ulonglong = first_id & MAX_SEQ
        ids = Numbers(stripped)
        values = Numbers(stripped)
        values.pass_over(2 * count)
        data: cython.p_const_uchar = stripped
        elapsed: cython.ulonglong
        length: cython.Py_ssize_t
        text: bytes
        for _ in range(count):
            elapsed = ids.next()
            seq = ids.next() + (0 if elapsed else seq)
            ms += elapsed
            place = put_bytes(out, place, _HEADER, 0, len(_HEADER))
            place = put_decimal(out, place, digits_of(ms) + 1 + digits_of(seq))
            place = put_bytes(out, place, _CRLF, 0, len(_CRLF))
            place = put_decimal(out, place, ms)
            out[place] = 45  # -
            place = put_decimal(out, place + 1, seq)
            text = self._count
            place = put_bytes(out, place, text, 0, len(text))
            for text in self._names:
                place = put_bytes(out, place, text, 0, len(text))
                length = values.next()
                place = put_decimal(out, place, length)
                place = put_bytes(out, place, _CRLF, 0, len(_CRLF))
                place = put_bytes(out, place, data, values.place, length)
                values.place += length
                place = put_bytes(out, place, _CRLF, 0, len(_CRLF))
        return bytes(memory)

    def memory_bytes(self) -> int:
        """The memory in bytes."""
        if not self._memory_bytes:
            size: cython.longlong = _OWN_BYTES + bytes_object_bytes(len(self._count))
            name: bytes
            for names in (self.names, self._names):
                size += list_bytes(names)
                for name in names:
                    size += bytes_object_bytes(len(name))
            self._memory_bytes = size
        return self._memory_bytes


_OWN_BYTES: cython.longlong = instance_bytes(Frame)


@cython.cclass
class Numbers:
    """Reads the numbers of stripped entries, from a place on."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._data = self._text
        self.place = 0

    def next(self) -> int:
        """The number at the place."""
        data = self._data
        place: cython.Py_ssize_t = self.place
        number: cython.ulonglong = 0
        byte: cython.ulonglong = 0x80
        shift: cython.int = 0
        while byte & 0x80:
            byte = data[place]
            number |= (byte & 0x7F) << shift
            shift += 7
            place += 1
        self.place = place
        return number

    def pass_over(self, count: cython.Py_ssize_t) -> None:
        """Pass over numbers."""
        for _ in range(count):
            self.next()


def _put_number(
    out: cython.p_uchar, place: cython.Py_ssize_t, number: cython.ulonglong
) -> cython.Py_ssize_t:
    """Write a number; the place after it."""
    while number > 0x7F:
        out[place] = 0x80 | number & 0x7F
        place += 1
        number >>= 7
    out[place] = number
    return place + 1
