"""Parts of memory, copied and compared: what the C library does in compiled modules.

Compiled, these are the inline functions of storage/raw_bytes.pxd, and of the C types of
storage/redis_format/lzf.py; this module is not compiled.
"""

from __future__ import annotations

from array import array


def put_bytes(out: bytearray, place: int, data: bytes, start: int, length: int) -> int:
    """Write a part of `data`, another object, into `out`; the place after it."""
    out[place : place + length] = data[start : start + length]
    return place + length


def move_bytes(out: bytearray, start: int, end: int, to: int) -> None:
    """Move a part of `out` to another place in it, which may overlap."""
    out[to : to + end - start] = out[start:end]


def is_at(data: bytes, place: int, text: bytes, length: int) -> bool:
    """Return True if the `length` bytes of `text` are in `data` at `place`."""
    return data[place : place + length] == text


def four_bytes(data: bytes, place: int) -> int:
    """The four bytes from a place on, as a number."""
    return int.from_bytes(data[place : place + 4], "little")


def cleared(numbers: array[int]) -> array[int]:
    """The numbers of an array, all of them 0; compiled, a pointer to them."""
    numbers[:] = array(numbers.typecode, bytes(len(numbers) * numbers.itemsize))
    return numbers
