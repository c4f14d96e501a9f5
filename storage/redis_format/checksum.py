"""The checksum at the end of RDB files and DUMP payloads: CRC-64 with Jones's polynomial.

It starts at 0 and goes over everything before it. 0 in its place means that there is none.
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
    """The checksum of `data`, or of it and what came before, whose checksum is `previous`."""
    checksum: int = _CRC.calc(data, previous)
    return checksum


def encode_checksum(checksum: int) -> bytes:
    """As it is stored: 8 bytes, little-endian."""
    return checksum.to_bytes(CHECKSUM_BYTES, "little")
