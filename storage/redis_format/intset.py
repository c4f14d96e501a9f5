"""Intsets: Redis's encoding of a small set of integers in one string.

    width      4 bytes, little-endian: 2, 4 or 8, the bytes of each member
    members    4 bytes, little-endian: how many
    member, member, ...                 ascending, little-endian with a sign

Guarantees: decoding checks the input completely.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import pairwise

from storage.redis_format.primitives import CorruptSnapshot

_HEADER = struct.Struct("<II")
_FORMATS = {2: "h", 4: "i", 8: "q"}  # by width


def encode_intset(members: Sequence[int]) -> bytes:
    """An intset of ascending 64-bit integers."""
    width = next(
        width
        for width in _FORMATS
        if -(1 << 8 * width - 1) <= members[0] and members[-1] < 1 << 8 * width - 1
    )
    packed = struct.pack(f"<{len(members)}{_FORMATS[width]}", *members)
    return _HEADER.pack(width, len(members)) + packed


def decode_intset(blob: bytes, offset: int) -> tuple[int, ...]:
    """The members. Raises CorruptSnapshot, with `offset`."""
    if len(blob) < _HEADER.size:
        raise CorruptSnapshot(offset, f"an intset cannot be of {len(blob)} bytes")
    width, count = _HEADER.unpack_from(blob)
    if width not in _FORMATS or len(blob) != _HEADER.size + width * count:
        raise CorruptSnapshot(offset, f"an intset of {count} times {width} has {len(blob)} bytes")
    members: tuple[int, ...] = struct.unpack_from(f"<{count}{_FORMATS[width]}", blob, _HEADER.size)
    if any(low >= high for low, high in pairwise(members)):
        raise CorruptSnapshot(offset, "the members of an intset do not ascend")
    return members
