"""The records of a segment as bulk strings: their keys, or their values, or both.

Compiled, these are the inline functions of storage/types/members/member_bulks.pxd; this module is
not compiled.
"""

from __future__ import annotations

from protocol import replies
from storage.types.members.key_part import KEYS, VALUES, key_length, key_start
from storage.types.members.memory import number_at
from storage.types.members.packed_record import body_of, taken_bytes
from storage.types.members.segment import END, first_place


def new_bytes(size: int) -> bytearray:
    """Memory for a reply; compiled, a new bytes object."""
    return bytearray(size)


def bulk_at(text: bytes | bytearray, start: int, size: int) -> bytes:
    """A part of `text` as a bulk string."""
    return replies.bulk(bytes(text[start : start + size]))


def _encoded(kind: int, block: bytearray, parts: int) -> bytes:
    words: list[bytes] = []
    place = first_place(block)
    while place < number_at(block, END):
        record = body_of(block, place)
        start = key_start(kind, record, 0)
        end = start + key_length(kind, record, 0, len(record), start)
        if parts & KEYS:
            words.append(record[start:end])
        if parts & VALUES:
            words.append(record[end:])
        place += taken_bytes(block, place)
    return replies.bulks(words)


def bulks_bytes(kind: int, block: bytearray, parts: int) -> int:
    """The size of the bulk strings."""
    return len(_encoded(kind, block, parts))


def put_bulks(kind: int, out: bytearray, to: int, block: bytearray, parts: int) -> int:
    """Write the bulk strings to a place of `out`; the place after them."""
    encoded = _encoded(kind, block, parts)
    out[to : to + len(encoded)] = encoded
    return to + len(encoded)
