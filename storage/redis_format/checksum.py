"""The checksum at the end of RDB files and DUMP payloads: CRC-64 with Jones's polynomial.

It starts at 0 and covers everything before it. A stored 0 means that there is no checksum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import anycrc

if TYPE_CHECKING:
    from mmap import mmap

Data: TypeAlias = "bytes | memoryview | mmap"

CHECKSUM_BYTES = 8
NO_CHECKSUM = bytes(CHECKSUM_BYTES)

_CRC = anycrc.CRC(width=64, poly=0xAD93D23594C935A9, init=0, refin=True, refout=True, xorout=0)


def crc64(data: Data, previous: int = 0) -> int:
    """The checksum of `data`, continued from the checksum `previous` of the data before it."""
    checksum: int = _CRC.calc(data, previous)
    return checksum


def encode_checksum(checksum: int) -> bytes:
    """The stored form: 8 bytes, little-endian."""
    return checksum.to_bytes(CHECKSUM_BYTES, "little")
