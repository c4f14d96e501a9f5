"""The encoded form of an entry, in which it is stored and sent: an array of its ID and its fields.

    *2  $<bytes> <ms>-<seq>  *<2 * pairs>  $<bytes> <field>  $<bytes> <value>  ...

with a CRLF after each part.

The form is the same in RESP2 and RESP3, so that a reply is a join of
entries. The fields are the bulk strings of the client's request, stored unparsed. They are decoded
only for snapshots, and measured in place (storage/redis_format/listpack_size.py).
"""

from __future__ import annotations

from collections.abc import Sequence

import cython
import hiredis

from protocol.replies import bulk
from storage.entries.entry_id import MAX_ID, MAX_SEQ, SEQ_BITS, EntryID, format_id
from storage.entries.packed_form import Packing
from storage.memory import instance_bytes
from storage.redis_format.listpack_size import header_bytes, integer_bytes

if not cython.compiled:
    # Compiled, they are C functions, which the module's C types import.
    from storage.memory import bytes_object_bytes, list_bytes

# The bulk string header of an ID, by the length of the ID with its CRLF.
_ID_BULK_HEADERS = [
    b"$%d\r\n" % (length - len(b"\r\n")) for length in range(len(format_id(MAX_ID) + b"\r\n") + 1)
]

# Every entry begins with the header of an array of two.
_HEADER = b"*2\r\n"
ENTRY_HEADER_BYTES = len(_HEADER)

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
    return b"".join((_HEADER, id_bulk, fields_header(words), fields))


def fields_position(entry: bytes) -> int:
    """The offset of the fields in an encoded entry."""
    position = entry.index(b"\n", len(_HEADER)) + 1  # the text of the ID
    position = entry.index(b"\n", position) + 1  # the number of words
    return entry.index(b"\n", position) + 1


class Shape:
    """The field names of an entry, and a template for entries that have the same ones.

    A listpack leaves out the names of an entry that equal those of the node's first one. Loading a
    snapshot fills in the template, in half the time of encoding every field.
    """

    __slots__ = ("_memory_bytes", "_template", "header_bytes", "names", "packing")

    def __init__(self, names: list[bytes], packing: Packing | None = None) -> None:
        """`packing`: the packing statistics of the stream's nodes."""
        self.names = names
        self.packing = packing or Packing()
        # The size of a listpack with these names, without entries and their counts.
        self.header_bytes = header_bytes(0, 0, names) - 2 * integer_bytes(0)
        self._template: bytes | None = None
        self._memory_bytes = 0  # once it was asked for

    def memory_bytes(self) -> int:
        """The memory of the shape in bytes, without a template and the packing."""
        if not self._memory_bytes:
            self._memory_bytes = _SHAPE_BYTES + _names_bytes(self.names)
        return self._memory_bytes

    def join(self, packing: Packing) -> None:
        """Become that of a node in a stream with this packing, where it needs no template."""
        self.packing = packing
        self._template = None

    @property
    def template(self) -> bytes:
        """A `%`-format for an encoded ID, and the length and the text of each value."""
        if self._template is None:
            slots = [bulk(name).replace(b"%", b"%%") + b"$%d\r\n%b\r\n" for name in self.names]
            head = (_HEADER, b"%b", b"*%d\r\n" % (2 * len(self.names)))
            self._template = b"".join([*head, *slots])
        return self._template

    def encode_values(self, id_bulk: bytes, values: Sequence[bytes]) -> bytes:
        """The entry with the encoded ID `id_bulk`, and these values of this shape's names."""
        if len(values) == 1:
            return self.template % (id_bulk, len(values[0]), values[0])
        arguments: list[bytes | int] = [id_bulk]
        for value in values:
            arguments += (len(value), value)
        return self.template % tuple(arguments)


_SHAPE_BYTES: cython.longlong = instance_bytes(Shape)


@cython.cfunc
def _names_bytes(names: list[bytes]) -> cython.longlong:
    """The memory of a list of names."""
    size: cython.longlong = list_bytes(names)
    name: bytes
    for name in names:
        size += bytes_object_bytes(len(name))
    return size


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
