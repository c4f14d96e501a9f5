"""An entry in the form in which it is kept and sent: an array of its ID and its fields.

    *2  $<bytes> <ms>-<seq>  *<2 * pairs>  $<bytes> <field>  $<bytes> <value>  ...

with a CRLF behind each part.

The form is the same in RESP2 and RESP3 (reference, section 0), so that a reply is a join of
entries. Fields are encoded once, when the entry is appended, and taken apart again only where the
size of an old node has to be known (storage/listpack_size.py), and for snapshots.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import chain, repeat

import hiredis

from protocol.replies import bulk
from storage.allocation import allocated_bytes
from storage.entry_id import MAX_ID, MAX_SEQ, SEQ_BITS, EntryID, format_id
from storage.listpack_size import header_bytes, integer_bytes
from storage.packing import Packing

# What goes before an ID and its CRLF to make a bulk string of it, by the length of these.
ID_BULK_HEADERS = [
    b"$%d\r\n" % (length - len(b"\r\n")) for length in range(len(format_id(MAX_ID) + b"\r\n") + 1)
]

# Every entry begins with the header of an array of two.
_HEADER = b"*2\r\n"

# What the numbers of live and deleted entries take in a listpack at most.
_MOST_COUNTS_BYTES = 2 * integer_bytes(sys.maxsize)

# The dictionary of a shape's attributes.
_ATTRIBUTES_BYTES = allocated_bytes(dict.fromkeys(range(6)))

# A bulk string of less than 4096 bytes takes at least so many more on the wire than as an element
# of a listpack.
_BULK_SURPLUS_BYTES = 4


def encode_id(entry_id: EntryID) -> bytes:
    """An ID as a bulk string, as an entry begins with."""
    text = b"%d-%d\r\n" % (entry_id >> SEQ_BITS, entry_id & MAX_SEQ)
    return ID_BULK_HEADERS[len(text)] + text


# The sequence numbers of one busy millisecond, with the CRLF behind an ID.
_SEQ_TEXTS = [b"%d\r\n" % seq for seq in range(4096)]


def id_texts(first_id: EntryID, count: int) -> Iterator[tuple[bytes, list[bytes]]]:
    """`count` consecutive IDs of one millisecond as bulk strings, in two halves.

    The first half is that of all IDs with as many digits; the second halves come in a list.
    """
    ms_text, seq = b"%d-" % (first_id >> SEQ_BITS), first_id & MAX_SEQ
    last = seq + count
    while seq < last:
        digits = len(b"%d" % seq)
        end = min(last, 10**digits)
        head = ID_BULK_HEADERS[len(ms_text) + digits + 2] + ms_text
        if end <= len(_SEQ_TEXTS):
            yield head, _SEQ_TEXTS[seq:end]
        else:
            yield head, [b"%d\r\n" % number for number in range(seq, end)]
        seq = end


def encode_ids(first_id: EntryID, count: int) -> list[bytes]:
    """`count` consecutive IDs of one millisecond as bulk strings, as encode_id() for each."""
    return [head + text for head, texts in id_texts(first_id, count) for text in texts]


def encode_entry(id_bulk: bytes, fields: list[bytes]) -> bytes:
    """An entry with the encoded ID `id_bulk`; `fields` is flat: field, value, field, value ..."""
    encoded: bytes = hiredis.pack_command(tuple(fields))  # type: ignore[arg-type]
    return _HEADER + id_bulk + encoded


class Shape:
    """The field names of an entry, and a template for entries that have the same ones.

    Producers send the same names again and again: to compare the names and to fill in a template
    takes half the time of encoding every field anew. The template is made when it is used: names
    that come only once need none.
    """

    def __init__(self, names: list[bytes], packing: Packing | None = None) -> None:
        """`packing`: what is known of how nodes of the stream are packed."""
        self.names = names
        self.single_name = names[0] if len(names) == 1 else None
        self.packing = packing or Packing()

    def memory_bytes(self) -> int:
        """The memory that the shape takes, with all that it may make for itself."""
        numbers = self.most_empty_node_bytes, self.surplus_bytes
        parts: list[object] = [self, self.names, *self.names, self.packing, self.template, *numbers]
        return _ATTRIBUTES_BYTES + sum(map(allocated_bytes, parts))

    @cached_property
    def template(self) -> bytes:
        """A `%`-format for an encoded ID, and the length and the text of each value."""
        slots = [bulk(name).replace(b"%", b"%%") + b"$%d\r\n%b\r\n" for name in self.names]
        return b"".join([_HEADER, b"%b", b"*%d\r\n" % (2 * len(self.names)), *slots])

    @cached_property
    def most_empty_node_bytes(self) -> int:
        """The size of a listpack for such names without its entries, at most."""
        return header_bytes(sys.maxsize, sys.maxsize, self.names)

    def empty_node_bytes(self, live: int, deleted: int) -> int:
        """The same for a node with so many entries."""
        counts = integer_bytes(live) + integer_bytes(deleted) - _MOST_COUNTS_BYTES
        return self.most_empty_node_bytes + counts

    @cached_property
    def surplus_bytes(self) -> int:
        """How much longer an entry is than in a listpack whose first entry has the same names.

        At least, its ID aside, and for one of less than 4096 bytes.
        """
        names = self.names
        names_bytes = sum(map(len, map(bulk, names)))
        return (
            len(_HEADER)
            + len(b"*%d\r\n" % (2 * len(names)))
            + names_bytes
            + len(names) * _BULK_SURPLUS_BYTES
            - integer_bytes(0)
            - integer_bytes(len(names) + 3)
        )

    def encode(self, id_bulk: bytes, fields: list[bytes]) -> bytes:
        """The entry with the encoded ID `id_bulk`; `fields` is flat and has this shape's names."""
        if len(fields) == 2:
            value = fields[1]
            return self.template % (id_bulk, len(value), value)
        return self.encode_values(id_bulk, fields[1::2])

    def encode_values(self, id_bulk: bytes, values: Sequence[bytes]) -> bytes:
        """As encode(), from the values alone."""
        if len(values) == 1:
            return self.template % (id_bulk, len(values[0]), values[0])
        arguments: list[bytes | int] = [id_bulk]
        for value in values:
            arguments += (len(value), value)
        return self.template % tuple(arguments)

    def encode_columns(
        self, id_bulks: Sequence[bytes], values: Sequence[Sequence[bytes]]
    ) -> list[bytes]:
        """Many entries at once; `values` has a column for each name."""
        return _fill(self.template, [id_bulks], values)

    def encode_columns_with_texts(
        self, id_texts: Sequence[bytes], values: Sequence[Sequence[bytes]]
    ) -> list[bytes]:
        """As encode_columns(), from the texts of the IDs."""
        return _fill(self.template.replace(b"%b", b"$%d\r\n%b\r\n", 1), [], [id_texts, *values])


@lru_cache(maxsize=256)
def _shared_part(fields: tuple[bytes, ...]) -> bytes:
    """What entries have in common behind their IDs, if all but their last value is the same."""
    return b"".join([b"*%d\r\n" % (len(fields) + 1), *map(bulk, fields)])


def encode_additions(key: bytes, id_bulks: Sequence[bytes], entries: Sequence[bytes]) -> bytes:
    """The requests `XADD key id field value ...` that add these entries, all of the same names."""
    position = len(_HEADER) + len(id_bulks[0])
    header_end = entries[0].index(b"\n", position) + 1
    words = int(entries[0][position + 1 : header_end]) + 3
    head = b"*%d\r\n$4\r\nXADD\r\n$%d\r\n%b\r\n" % (words, len(key), key)
    # What is before the fields in an entry, without the ID.
    skipped = len(_HEADER) + header_end - position
    fields = [
        entry[skipped + len(id_bulk) :] for entry, id_bulk in zip(entries, id_bulks, strict=True)
    ]
    return b"".join(chain.from_iterable(zip(repeat(head), id_bulks, fields)))


def _fill(
    template: bytes, first: Sequence[Iterable[bytes]], texts: Iterable[Sequence[bytes]]
) -> list[bytes]:
    """The template for each row: the columns `first` as they are, then texts with their lengths."""
    columns: list[Iterable[bytes | int]] = [*first]
    for column in texts:
        columns += (map(len, column), column)
    return list(map(template.__mod__, zip(*columns, strict=True)))


def encode_alike(
    first_id: EntryID, fields: Sequence[bytes], last_bulks: Sequence[bytes]
) -> tuple[list[bytes], bytes]:
    """Entries whose fields are alike but for the last value, and their IDs as joined bulk strings.

    The IDs are consecutive ones of one millisecond. `fields`: what the entries share, from the
    first name to the last one. `last_bulks`: the last values, as bulk strings without the CRLF
    behind them.
    """
    return _join(first_id, _shared_part(tuple(fields)), last_bulks, b"\r\n")


def encode_tails(
    first_id: EntryID, fields: int, tails: Sequence[bytes]
) -> tuple[list[bytes], bytes]:
    """As encode_alike(), from all fields and values of each entry as bulk strings.

    `fields`: how many words these are.
    """
    return _join(first_id, b"*%d\r\n" % fields, tails, b"")


def _join(
    first_id: EntryID, shared: bytes, rests: Sequence[bytes], end: bytes
) -> tuple[list[bytes], bytes]:
    """Entries of an ID, what they share, and the rest of each; and their IDs."""
    entries: list[bytes] = []
    id_bulks: list[bytes] = []
    for head, texts in id_texts(first_id, len(rests)):
        part = rests[len(entries) : len(entries) + len(texts)]
        parts = repeat(_HEADER + head), texts, repeat(shared), part, repeat(end)
        entries += map(b"".join, zip(*parts))  # noqa: B905  (repeat() has no end)
        id_bulks.append(head + head.join(texts))
    return entries, b"".join(id_bulks)


def decode_fields(entry: bytes) -> list[bytes]:
    """The flat list of fields and values of an encoded entry."""
    return decode_payload(entry, 1)[0]


def decode_payload(payload: bytes, count: int) -> list[list[bytes]]:
    """The flat lists of fields and values of `count` encoded entries, one behind the other."""
    # They are a reply once the header of an array is before them.
    reader = hiredis.Reader()
    reader.feed(b"*%d\r\n" % count)
    reader.feed(payload)
    return [fields for _, fields in reader.gets()]
