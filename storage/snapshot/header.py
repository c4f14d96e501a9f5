"""The first nine bytes of an RDB file: whose format it is, and the version.

    REDIS0011    Redis, Rillway, and Valkey up to 8
    VALKEY080    Valkey from 9 on

Valkey counts from 80 on, and Redis is far below, so the number alone, which is all that a payload
has, shows whose it is. Both have type codes of their own for what came after Redis 7.2.
"""

from __future__ import annotations

import re

from storage.redis_format.primitives import Buffer, CorruptSnapshot, Cursor

# The newest versions that are read: those of Redis 8.10 and Valkey 9.1.
NEWEST_VERSION = 15
VALKEY_VERSION = 80

_BYTES = 9
_PATTERN = re.compile(rb"([A-Z]+)([0-9]+)")
_REDIS, _VALKEY = b"REDIS", b"VALKEY"


class ForeignSnapshot(CorruptSnapshot):
    """A snapshot of another program, or of a newer version: it may be sound."""


def encode_header(version: int) -> bytes:
    """The first bytes of a file of this version."""
    return b"REDIS%04d" % version if version < VALKEY_VERSION else b"VALKEY%03d" % version


def is_known(version: int) -> bool:
    """Return True if files and payloads of this version are read."""
    return version <= NEWEST_VERSION or version == VALKEY_VERSION


def begins_snapshot(buffer: Buffer) -> bool:
    """Return True if a file begins as a snapshot does, whoever wrote it."""
    begin = buffer[:_BYTES]
    return begin.startswith((_REDIS, _VALKEY)) or _PATTERN.fullmatch(begin) is not None


def read_header(cursor: Cursor) -> int:
    """The version. Raises ForeignSnapshot, and CorruptSnapshot where no snapshot begins."""
    start = cursor.position
    begin = cursor.buffer[start : start + _BYTES]
    if not len(_REDIS) <= len(begin) < _BYTES or begins_snapshot(begin):
        begin = cursor.raw(_BYTES)  # or TruncatedSnapshot
    found = _PATTERN.fullmatch(begin)
    if found is None:
        raise CorruptSnapshot(start, f"{begin!r} does not begin a snapshot")
    maker, version = found[1], int(found[2])
    newest = {_REDIS: NEWEST_VERSION, _VALKEY: VALKEY_VERSION}.get(maker)
    if newest is None:
        name = begin.decode()
        raise ForeignSnapshot(start, f"it is a file of another program, which begins {name!r}")
    if version > newest:
        name = maker.decode().capitalize()
        reason = f"it is of a newer {name}: version {version} of its format is above {newest}"
        raise ForeignSnapshot(start, reason)
    if begin != encode_header(version) or version < 1:
        raise CorruptSnapshot(start, f"{begin!r} does not begin a snapshot")
    return version
