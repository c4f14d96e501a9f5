"""Counting, searching and combining the bits of long strings.

Bit 0 is the highest bit of the first byte, as in Redis. Strings are worked on in blocks, or in
words of 64 bits where this is compiled, and not as one number: a number of 512 MB takes seconds,
and several times the memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import cython

Data: TypeAlias = bytes | bytearray

BLOCK_BYTES = 64 * 1024
_BLOCKS = {0: bytes(BLOCK_BYTES), 0xFF: b"\xff" * BLOCK_BYTES}

# How the bits of a string are merged into those of another one.
AND: cython.int = 0
OR: cython.int = 1
XOR: cython.int = 2
AND_NOT: cython.int = 3


def count_bits(data: Data, first: cython.Py_ssize_t, last: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """The number of bits that are set in the bytes from `first` to before `last`."""
    if cython.compiled:
        text: cython.p_const_uchar = data  # type: ignore[assignment]
        return count_set_bits(text + first, last - first)  # type: ignore[name-defined,operator,no-any-return]  # noqa: F821
    found = 0
    for at in range(first, last, BLOCK_BYTES):
        found += int.from_bytes(data[at : min(at + BLOCK_BYTES, last)]).bit_count()
    return found


def find_other_byte(
    data: Data, byte: cython.uchar, first: cython.Py_ssize_t, last: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """The index of the first byte that is not `byte`, from `first` to before `last`, or `last`.

    `byte` is 0 or 255.
    """
    if cython.compiled:
        text: cython.p_const_uchar = data  # type: ignore[assignment]
        return first + find_other(text + first, byte, last - first)  # type: ignore[name-defined,operator,no-any-return]  # noqa: F821
    block = _BLOCKS[byte]
    while last - first >= len(block) and data.startswith(block, first):
        first += len(block)
    rest = data[first : min(first + len(block), last)]
    return first + len(rest) - len(rest.lstrip(block[:1]))


def merge(
    how: cython.int,
    target: bytearray,
    target_at: cython.Py_ssize_t,
    source: Data,
    source_at: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
) -> None:
    """Merge `size` bytes of `source` into `target`. Both have zeros after their end."""
    there = max(min(size, len(source) - source_at), 0)
    if cython.compiled:
        into: cython.p_uchar = target
        text: cython.p_const_uchar = source  # type: ignore[assignment]
        merge_bits(how, into + target_at, text + source_at, there)  # type: ignore[name-defined,operator]  # noqa: F821
    else:
        end = target_at + there
        old = int.from_bytes(target[target_at:end])
        new = int.from_bytes(source[source_at : source_at + there])
        merged = (old & new, old | new, old ^ new, old & ~new)[how]
        target[target_at:end] = merged.to_bytes(there)
    if how == AND and there < size:
        target[target_at + there : target_at + size] = bytes(size - there)


def combine(name: bytes, sources: Sequence[Data]) -> bytearray:
    """The result of BITOP, as long as the longest source.

    `name`: AND, OR, XOR, NOT, DIFF, DIFF1, ANDOR or ONE. The others but the first are joined by OR
    for DIFF, DIFF1 and ANDOR; ONE keeps the bits that one source alone has.
    """
    length = max(map(len, sources))
    start, steps = _steps(name, sources)
    result = bytearray(start)
    if len(start) < length:
        result += bytes(length - len(start))
    for at in range(0, length, BLOCK_BYTES):
        size = min(BLOCK_BYTES, length - at)
        if name == b"ONE":
            _merge_one(result, sources, at, size)
        for how, source in steps:
            merge(how, result, at, source, at if source is not _BLOCKS[0xFF] else 0, size)
    return result


def _steps(name: bytes, sources: Sequence[Data]) -> tuple[Data, list[tuple[int, Data]]]:
    """Return the data that the result begins as, and the operations to merge into it, in order."""
    first, others = sources[0], sources[1:]
    if name == b"NOT":
        return first, [(XOR, _BLOCKS[0xFF])]
    if name == b"ONE":
        return b"", []
    if name in (b"DIFF1", b"ANDOR"):
        last = AND if name == b"ANDOR" else AND_NOT
        return others[0], [*((OR, one) for one in others[1:]), (last, first)]
    how = {b"AND": AND, b"OR": OR, b"XOR": XOR, b"DIFF": AND_NOT}[name]
    return first, [(how, one) for one in others]


def _merge_one(result: bytearray, sources: Sequence[Data], at: int, size: int) -> None:
    """A block of ONE: the bits that are set, without those that are set more than once."""
    more = bytearray(size)
    for source in sources:
        both = result[at : at + size]
        merge(AND, both, 0, source, at, size)
        merge(OR, more, 0, both, 0, size)
        merge(OR, result, at, source, at, size)
    merge(AND_NOT, result, at, more, 0, size)
