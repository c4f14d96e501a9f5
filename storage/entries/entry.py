"""The encoded form of an entry, in which it is stored and sent: an array of its ID and its fields.

    *2  $<bytes> <ms>-<seq>  *<2 * pairs>  $<bytes> <field>  $<bytes> <value>  ...

with a CRLF after each part.

The form is the same in RESP2 and RESP3, so that a reply is a join of entries. The fields are the
bulk strings of the client's request, stored unparsed. They are decoded only for snapshots, and
measured in place (storage/redis_format/listpack_elements.py).

`EntryReader` reads entries one after the other, without making objects of what is in them.

A `Frame` is what entries that have the same names have in common, their framing and their names.
The nodes of a stream share it. Of each entry remains, which is best to compress:

    ID      its milliseconds less those of the entry before it, and its sequence number; in the
            same millisecond less the one before it
    values  each as its length and its bytes

first the IDs of all entries, then the values of all. Numbers have 7 bits in each byte, the lowest
first, and the highest bit set in all bytes but the last. Compiled, a word takes some nanoseconds in
either direction. Interpreted it takes a microsecond, so frames are used only where this is compiled
(storage/entries/packed_form.py).

A `FieldRow` has the fields of an entry that has a layout, filled in from what is packed, without
the entry. A snapshot needs the values alone. The names, and where the values are, are the same in
all entries of a layout, so they are found once.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import cython
import hiredis

from storage.entries.entry_id import MAX_ID, MAX_SEQ, SEQ_BITS, EntryID, format_id
from storage.memory import instance_bytes

if not cython.compiled:
    # Compiled, they are C functions, which the module's C types import.
    from storage.entries.entry_id import numbers_of
    from storage.memory import bytes_object_bytes, is_at, list_bytes, put_bytes
    from storage.redis_format.listpack_elements import digits_of, put_decimal

# The bulk string header of an ID, by the length of the ID with its CRLF.
_ID_BULK_HEADERS = [
    b"$%d\r\n" % (length - len(b"\r\n")) for length in range(len(format_id(MAX_ID) + b"\r\n") + 1)
]

# Every entry begins with the header of an array of two.
ENTRY_HEADER = b"*2\r\n"
ENTRY_HEADER_BYTES = len(ENTRY_HEADER)

# The array header before the fields, by the number of names and values.
_FIELDS_HEADERS = [b"*%d\r\n" % words for words in range(256)]


def encode_id(entry_id: EntryID) -> bytes:
    """An ID as a bulk string, as an entry begins with."""
    text = b"%d-%d\r\n" % (entry_id >> SEQ_BITS, entry_id & MAX_SEQ)
    return _ID_BULK_HEADERS[len(text)] + text


@cython.ccall
def encode_id_parts(ms: cython.ulonglong, seq: cython.ulonglong) -> bytes:
    """encode_id() from the two halves of an ID."""
    if not cython.compiled:
        return encode_id(ms << SEQ_BITS | seq)
    # From the end: CR LF, the sequence number, `-`, the milliseconds, and the header.
    text = cython.declare(cython.uchar[48])
    place: cython.Py_ssize_t = 46
    text[46], text[47] = 13, 10
    while True:
        place -= 1
        text[place] = 48 + seq % 10
        seq //= 10
        if seq == 0:
            break
    place -= 1
    text[place] = 45
    while True:
        place -= 1
        text[place] = 48 + ms % 10
        ms //= 10
        if ms == 0:
            break
    length: cython.Py_ssize_t = 46 - place
    place -= 2
    text[place], text[place + 1] = 13, 10
    place -= 1
    text[place] = 48 + length % 10
    if length >= 10:
        place -= 1
        text[place] = 48 + length // 10
    place -= 1
    text[place] = 36
    encoded: bytes = text[place:48]
    return encoded


def encode_fields(fields: Sequence[bytes]) -> bytes:
    """Names and values in turn, as bulk strings: what append() takes."""
    packed: bytes = hiredis.pack_command(tuple(fields))  # type: ignore[arg-type]
    return packed[packed.index(b"\n") + 1 :]


def decode_words(text: bytes, words: int) -> list[bytes]:
    """`words` bulk strings as objects: the reverse of encode_fields()."""
    reader = hiredis.Reader()
    reader.feed(b"*%d\r\n%b" % (words, text))
    decoded: list[bytes] = reader.gets()
    return decoded


@cython.ccall
def fields_header(words: cython.Py_ssize_t) -> bytes:
    """The array header of `words` names and values."""
    return _FIELDS_HEADERS[words] if words < 256 else b"*%d\r\n" % words


def encode_entry(id_bulk: bytes, fields: bytes, words: int) -> bytes:
    """An entry with the encoded ID `id_bulk`; `fields` are `words` bulk strings."""
    return b"".join((ENTRY_HEADER, id_bulk, fields_header(words), fields))


def fields_position(entry: bytes) -> int:
    """The offset of the fields in an encoded entry."""
    position = entry.index(b"\n", len(ENTRY_HEADER)) + 1  # the text of the ID
    position = entry.index(b"\n", position) + 1  # the number of words
    return entry.index(b"\n", position) + 1


def decode_fields(entry: bytes) -> list[bytes]:
    """The flat list of fields and values of an encoded entry."""
    return decode_payload(entry, 1)[0]


def decode_payload(payload: bytes, count: int) -> list[list[bytes]]:
    """The flat lists of fields and values of `count` encoded entries, one after the other."""
    # With an array header before them they are a reply, which hiredis parses.
    reader = hiredis.Reader()
    reader.feed(b"*%d\r\n" % count)
    reader.feed(payload)
    return [fields for _, fields in reader.gets()]


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


_READER = EntryReader()

# What an entry begins with.
_ENTRY_START: bytes = b"*2\r\n$"
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
            place = put_bytes(out, place, _ENTRY_START, 0, len(_ENTRY_START))
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
            size: cython.long = _OWN_BYTES + bytes_object_bytes(len(self._count))
            name: bytes
            for names in (self.names, self._names):
                size += list_bytes(names)
                for name in names:
                    size += bytes_object_bytes(len(name))
            self._memory_bytes = size
        return self._memory_bytes


_OWN_BYTES: cython.long = instance_bytes(Frame)


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


_HEX_DIGITS: bytes = b"0123456789abcdef"


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
        digits: cython.p_const_uchar = _HEX_DIGITS
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
    column: cython.Py_ssize_t
    start: cython.Py_ssize_t
    length: cython.Py_ssize_t
    for column in columns:
        for start, length in spans:
            if start <= column < start + length:
                break
        else:
            return False
    return True
