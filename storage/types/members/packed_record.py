"""A record in a block of memory: its size in one byte, and its body (key_part.py).

The body of a record of 255 bytes or more is a bytes object, to which the block refers: 255 in place
of the size, and then a reference of 8 bytes (memory.py). So blocks stay small.

Compiled, these are the inline functions of storage/types/members/packed_record.pxd; this module is
not compiled.
"""

from __future__ import annotations

from storage.types.members.key_part import hash_at, key_length, key_start
from storage.types.members.memory import bytes_at, kept

# In place of the size of a record that is an object, and what such a record takes in a block.
LARGE = 255
LARGE_BYTES = 9


def taken_bytes(block: bytearray, place: int) -> int:
    """What the record at a place takes in the block."""
    return 1 + block[place] if block[place] != LARGE else LARGE_BYTES


def body_text(block: bytearray, place: int) -> bytes | bytearray:
    """What has the body in it: the block, or the object of a large record."""
    return block if block[place] != LARGE else kept(block, place + 1)


def body_start(block: bytearray, place: int) -> int:
    """Where the body begins in `body_text`."""
    return place + 1 if block[place] != LARGE else 0


def body_size(block: bytearray, place: int) -> int:
    """The size of the body."""
    return block[place] if block[place] != LARGE else len(kept(block, place + 1))


def body_of(block: bytearray, place: int) -> bytes:
    """The body of the record at a place."""
    return bytes_at(body_text(block, place), body_start(block, place), body_size(block, place))


def code_at(kind: int, block: bytearray, place: int) -> int:
    """The hash of the key of the record at a place."""
    text, at = body_text(block, place), body_start(block, place)
    start = key_start(kind, text, at)
    return hash_at(text, start, key_length(kind, text, at, body_size(block, place), start))


def has_key_at(kind: int, block: bytearray, place: int, wanted: bytes, length: int) -> bool:
    """Return True if the key of the record at a place is the first `length` bytes of `wanted`."""
    text, at = body_text(block, place), body_start(block, place)
    start = key_start(kind, text, at)
    return (
        key_length(kind, text, at, body_size(block, place), start) == length
        and text[start : start + length] == wanted[:length]
    )
