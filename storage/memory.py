"""Memory, as C sees it: what objects take, and parts of memory that are copied and compared.

The sizes are in bytes: what the allocators use for objects, not what they request. CPython rounds
requests up to multiples of 16 bytes, and takes those of up to 512 bytes from pools of its own;
larger ones come from malloc, which adds a header of 8 bytes. Lists, dicts, sets, arrays and
bytearrays take two blocks: the object, and one for what is in it, with its room for more. All
functions take constant time.

Compiled modules have the functions of storage/memory.pxd; this module is not compiled.
"""

from __future__ import annotations

import sys
from array import array
from typing import Any

_ALIGNMENT_BYTES = 16
_POOLED_BYTES = 512
_HEADER_BYTES = 8

# What is before an object that the garbage collector knows.
_COLLECTED_BYTES = 16
_IS_COLLECTED = 1 << 14

_CONTAINERS = (dict, set, list, array)

_BYTES_BYTES = sys.getsizeof(b"")


def block_bytes(request: int) -> int:
    """What a block takes of which `request` bytes are used."""
    if request > _POOLED_BYTES:
        request += _HEADER_BYTES
    return request + _ALIGNMENT_BYTES - 1 & -_ALIGNMENT_BYTES


def bytes_object_bytes(length: int) -> int:
    """What a bytes object of this length takes."""
    return block_bytes(_BYTES_BYTES + length)


def int_object_bytes(number: int) -> int:
    """What an int, which is not negative, takes; 0 for those that are always there."""
    return 0 if number <= 256 else block_bytes(sys.getsizeof(number))


# What an int that was computed from others takes, up to 59 bits: it has a digit to spare.
COMPUTED_INT_BYTES = block_bytes(sys.getsizeof(1 << 60))


def instance_bytes(cls: type[Any]) -> int:
    """What an object of a class takes, without the attributes themselves.

    Not for classes whose instances have a dict or a variable size.
    """
    collected = _COLLECTED_BYTES if cls.__flags__ & _IS_COLLECTED else 0
    return block_bytes(cls.__basicsize__ + collected)


def container_bytes(container: dict[Any, Any] | set[Any] | list[Any] | array[Any]) -> int:
    """What a container takes, its room included, without its items."""
    own = type(container).__basicsize__ + _COLLECTED_BYTES
    return block_bytes(own) + block_bytes(sys.getsizeof(container) - own)


# Compiled, there is one for each type.
array_bytes = dict_bytes = list_bytes = set_bytes = container_bytes


def bytearray_bytes(text: bytearray) -> int:
    """What a bytearray takes, its room included."""
    own = bytearray.__basicsize__
    return block_bytes(own) + block_bytes(sys.getsizeof(text) - own)


def allocated_bytes(item: object) -> int:
    """What an object takes, without its referents; 0 for None and small ints."""
    if item is None or (isinstance(item, int) and -5 <= item <= 256):
        return 0
    if isinstance(item, _CONTAINERS):
        return container_bytes(item)
    if isinstance(item, bytearray):
        return bytearray_bytes(item)
    return block_bytes(sys.getsizeof(item))


def put_bytes(out: bytearray, place: int, data: bytes, start: int, length: int) -> int:
    """Write a part of `data`, another object, into `out`; the place after it."""
    out[place : place + length] = data[start : start + length]
    return place + length


def move_bytes(out: bytearray, start: int, end: int, to: int) -> None:
    """Move a part of `out` to another place in it, which may overlap."""
    out[to : to + end - start] = out[start:end]


def is_at(data: bytes, place: int, text: bytes, length: int) -> bool:
    """Return True if the `length` bytes of `text` are in `data` at `place`."""
    return data[place : place + length] == text[:length]


def four_bytes(data: bytes, place: int) -> int:
    """The four bytes from a place on, as a number."""
    return int.from_bytes(data[place : place + 4], "little")


def cleared(numbers: array[int]) -> array[int]:
    """The numbers of an array, all of them 0; compiled, a pointer to them."""
    numbers[:] = array(numbers.typecode, bytes(len(numbers) * numbers.itemsize))
    return numbers
