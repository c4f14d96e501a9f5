"""The payload of FUNCTION DUMP and FUNCTION RESTORE: libraries of functions as bytes.

    for each library: FUNCTION (1 byte), its source as a string
    version of the format (2 bytes), checksum (8 bytes)

both numbers little-endian. In a file a library has the same form, and precedes the first database.
"""

from __future__ import annotations

from collections.abc import Sequence

from storage.redis_format.checksum import CHECKSUM_BYTES, crc64, encode_checksum
from storage.redis_format.primitives import Cursor
from storage.snapshot import opcodes
from storage.snapshot.header import is_known
from storage.snapshot.payload import BadChecksum
from storage.snapshot.writer import LIBRARIES_VERSION, encode_library

_VERSION_BYTES = 2


class NotAFunction(Exception):
    """The payload holds something else."""


def dump_libraries(codes: Sequence[bytes], *, compress: bool) -> bytes:
    """The payload for the sources of libraries."""
    content = b"".join(encode_library(code, compress=compress) for code in codes)
    content += LIBRARIES_VERSION.to_bytes(_VERSION_BYTES, "little")
    return content + encode_checksum(crc64(content))


def restore_libraries(payload: bytes) -> list[bytes]:
    """The sources in a payload. Raises BadChecksum, NotAFunction and CorruptSnapshot."""
    end = len(payload) - _VERSION_BYTES - CHECKSUM_BYTES
    if end < 0:
        raise BadChecksum
    content = payload[: end + _VERSION_BYTES]
    version = int.from_bytes(payload[end : end + _VERSION_BYTES], "little")
    if not is_known(version) or payload[len(content) :] != encode_checksum(crc64(content)):
        raise BadChecksum
    cursor = Cursor(payload, 0, end)
    codes = []
    while cursor.left:
        if cursor.byte() != opcodes.FUNCTION:
            raise NotAFunction
        codes.append(cursor.string())
    return codes
