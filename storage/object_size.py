"""The memory of an object in bytes, allocator overhead included.

sys.getsizeof() returns the size that an object requests. CPython rounds it up to multiples of 16
bytes, up to 512 bytes from pools of its own; larger blocks come from malloc, which adds a header of
8 bytes.
"""

from __future__ import annotations

import sys

_ALIGNMENT_BYTES = 16
_POOLED_BYTES = 512
_HEADER_BYTES = 8


def allocated_bytes(item: object) -> int:
    """The memory of an object in bytes, without its referents. 0 for None and small ints."""
    if item is None or (isinstance(item, int) and -5 <= item <= 256):
        return 0
    size = sys.getsizeof(item)
    if size > _POOLED_BYTES:
        size += _HEADER_BYTES
    return -(-size // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES
