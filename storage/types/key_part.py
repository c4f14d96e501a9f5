"""The key of a record: where it is in the record, and its hash.

A record is one bytes object. Its kind says where its key is:

MEMBERS   the record is the key                                      sets
SCORED    8 bytes, and then the key                                  sorted sets
PAIRS     the key's length, the key, and then a value                hashes

The length in front of a key takes one byte up to 254; a longer key has 255 there and its length in
the 8 bytes after it, least significant first.

The hash is that of a bytes object with the same content: keyed with a random number by each
process, so that clients cannot choose keys that collide."""

from __future__ import annotations

from array import array

MEMBERS = 0
SCORED = 8
PAIRS = -1

# The parts of records: they add up.
KEYS = 1
VALUES = 2

# In place of the length of a key that one byte cannot hold, and the length of the header then.
LONG = 255
LONG_HEADER = 9

_MASK = (1 << 64) - 1

# Compiled, these are C functions, which the modules that use them import from key_part.pxd.


def key_start(kind: int, text: bytes | bytearray, at: int) -> int:
    """Where the key of the record begins that is at a place of `text`."""
    if kind >= 0:
        return at + kind
    return at + (1 if text[at] != LONG else LONG_HEADER)


def key_length(kind: int, text: bytes | bytearray, at: int, size: int, start: int) -> int:
    """The length of the key of a record of `size` bytes at a place; the key begins at `start`."""
    if kind >= 0:
        return at + size - start
    if text[at] != LONG:
        return text[at]
    return int.from_bytes(text[at + 1 : at + LONG_HEADER], "little")


def hash_of(text: bytes, start: int, length: int) -> int:
    """The hash of a part of `text`, as a number of 64 bits."""
    return hash(text[start : start + length]) & _MASK


def hash_at(text: bytes | bytearray, start: int, length: int) -> int:
    """The same of memory that may be no object."""
    return hash(bytes(text[start : start + length])) & _MASK


def has_key(kind: int, record: bytes, text: bytes, start: int, length: int) -> bool:
    """Return True if the key of a record is this part of `text`."""
    own = key_start(kind, record, 0)
    return (
        key_length(kind, record, 0, len(record), own) == length
        and record[own : own + length] == text[start : start + length]
    )


def zeros(alike: array[int], count: int) -> array[int]:
    """An array of zeros, of the same type as another one."""
    return array(alike.typecode, bytes(alike.itemsize * count))


def slots_of(index: array[int]) -> array[int]:
    """The array; compiled, a pointer to its numbers."""
    return index
