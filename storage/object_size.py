"""The bytes that an object takes in memory, allocator included.

sys.getsizeof() tells what an object asks for. CPython gives out blocks of multiples of 16 bytes,
up to 512 bytes from pools of its own; larger ones come from malloc, which puts 8 bytes before each.
"""

from __future__ import annotations

import sys

_ALIGNMENT_BYTES = 16
_POOLED_BYTES = 512
_HEADER_BYTES = 8


def allocated_bytes(item: object) -> int:
    """The memory that an object takes, without what it refers to. None and small ints: nothing."""
    if item is None or (isinstance(item, int) and -5 <= item <= 256):
        return 0
    size = sys.getsizeof(item)
    if size > _POOLED_BYTES:
        size += _HEADER_BYTES
    return -(-size // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES
