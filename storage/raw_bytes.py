"""Parts of memory, copied and compared; compiled, by the C library."""

from __future__ import annotations

from array import array

import cython


@cython.cfunc
def put_bytes(
    out: cython.p_uchar,
    place: cython.Py_ssize_t,
    data: cython.p_const_uchar,
    start: cython.Py_ssize_t,
    length: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Write a part of `data`, another object, into `out`; the place after it."""
    if cython.compiled:
        # The module's C types have it from libc.
        memcpy(out + place, data + start, length)  # type: ignore[name-defined, operator]  # noqa: F821
    else:
        out[place : place + length] = data[start : start + length]
    return place + length


def move_bytes(
    out: cython.p_uchar, start: cython.Py_ssize_t, end: cython.Py_ssize_t, to: cython.Py_ssize_t
) -> None:
    """Move a part of `out` to another place in it, which may overlap."""
    if cython.compiled:
        memmove(out + to, out + start, end - start)  # type: ignore[name-defined, operator]  # noqa: F821
    else:
        out[to : to + end - start] = out[start:end]


@cython.cfunc
def is_at(
    data: cython.p_const_uchar,
    place: cython.Py_ssize_t,
    text: cython.p_const_uchar,
    length: cython.Py_ssize_t,
) -> cython.bint:
    """Return True if the `length` bytes of `text` are in `data` at `place`."""
    if cython.compiled:
        same: cython.int = memcmp(data + place, text, length)  # type: ignore[name-defined, operator]  # noqa: F821
        return same == 0
    return data[place : place + length] == text


# What the C types of storage/redis_format/lzf.py have in C.


def four_bytes(data: bytes, place: int) -> int:
    """The four bytes from a place on, as a number."""
    return int.from_bytes(data[place : place + 4], "little")


def cleared(numbers: array[int]) -> array[int]:
    """The numbers of an array, all of them 0; compiled, a pointer to them."""
    numbers[:] = array(numbers.typecode, bytes(len(numbers) * numbers.itemsize))
    return numbers
