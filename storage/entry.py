"""An entry in the form in which it is kept and sent: an array of its ID and its fields.

    *2  $<bytes> <ms>-<seq>  *<2 * pairs>  $<bytes> <field>  $<bytes> <value>  ...

with a CRLF behind each part.

The form is the same in RESP2 and RESP3 (reference, section 0), so that a reply is a join of
entries. Fields are encoded once, when the entry is appended, and taken apart again only where the
size of an old node has to be known (storage/listpack_size.py).
"""

from __future__ import annotations

from storage.listpack_size import integer_bytes

# Every entry begins with the header of an array of two.
_HEADER = b"*2\r\n"

# A bulk string of less than 4096 bytes takes at least so many more on the wire than as an element
# of a listpack.
_BULK_SURPLUS_BYTES = 4


class Shape:
    """The field names of an entry, and a template for entries that have the same ones.

    Producers send the same names again and again: to compare the names and to fill in a template
    takes half the time of encoding every field anew.
    """

    __slots__ = ("_template", "names", "surplus_bytes")

    def __init__(self, names: list[bytes]) -> None:
        self.names = names
        fields_header = b"*%d\r\n" % (2 * len(names))
        bulks = [b"$%d\r\n%b\r\n" % (len(name), name) for name in names]
        slots = [bulk.replace(b"%", b"%%") + b"$%d\r\n%b\r\n" for bulk in bulks]
        self._template = b"".join([_HEADER, b"%b", fields_header, *slots])
        # An entry of this shape and less than 4096 bytes is, its ID aside, at least so many bytes
        # longer than in a listpack whose first entry has the same names: they are left out there.
        self.surplus_bytes = (
            len(_HEADER)
            + len(fields_header)
            + sum(map(len, bulks))
            + len(names) * _BULK_SURPLUS_BYTES
            - integer_bytes(0)
            - integer_bytes(len(names) + 3)
        )

    def encode(self, id_bulk: bytes, fields: list[bytes]) -> bytes:
        """The entry with the encoded ID `id_bulk`; `fields` is flat and has this shape's names."""
        if len(fields) == 2:
            value = fields[1]
            return self._template % (id_bulk, len(value), value)
        arguments: list[bytes | int] = [id_bulk]
        for value in fields[1::2]:
            arguments += (len(value), value)
        return self._template % tuple(arguments)


def decode_fields(entry: bytes) -> list[bytes]:
    """The flat list of fields and values of an encoded entry."""
    position = entry.index(b"\r\n", len(_HEADER)) + 2  # behind the length of the ID
    position = entry.index(b"\r\n", position) + 2  # behind the ID
    end = entry.index(b"\r\n", position)
    fields = []
    for _ in range(int(entry[position + 1 : end])):
        start = end + 2
        end = entry.index(b"\r\n", start)
        length = int(entry[start + 1 : end])
        start, end = end + 2, end + 2 + length
        fields.append(entry[start:end])
    return fields
