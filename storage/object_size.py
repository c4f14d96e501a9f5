"""The memory of an object in bytes, allocator overhead included.

sys.getsizeof() returns the size that an object requests. CPython rounds it up to multiples of 16
bytes, up to 512 bytes from pools of its own; larger blocks come from malloc, which adds a header of
8 bytes.
"""

from __future__ import annotations

import sys

import cython

_ALIGNMENT_BYTES = 16
_POOLED_BYTES = 512
_HEADER_BYTES = 8
# What a bytes object takes beside its bytes.
_BYTES_HEADER: cython.Py_ssize_t = 33


def allocated_bytes(item: object) -> int:
    """The memory of an object in bytes, without its referents. 0 for None and small ints."""
    if item is None or (isinstance(item, int) and -5 <= item <= 256):
        return 0
    return block_size(sys.getsizeof(item))


def block_size(requested: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """The memory of a block of that many bytes."""
    if requested > _POOLED_BYTES:
        requested += _HEADER_BYTES
    return (requested + _ALIGNMENT_BYTES - 1) // _ALIGNMENT_BYTES * _ALIGNMENT_BYTES


def bytes_size(length: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """The memory of a bytes object of that length."""
    return block_size(_BYTES_HEADER + length)
