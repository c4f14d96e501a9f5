"""What all parts of a snapshot share: the header, the options, and the form of a type of values.

The first nine bytes of an RDB file say whose format it is, and the version:

    REDIS0011    Redis, Rillway, and Valkey up to 8
    VALKEY080    Valkey from 9 on

Valkey counts from 80 on, and Redis is far below, so the number alone, which is all that a payload
has, shows whose it is. Both have type codes of their own for what came after Redis 7.2.

A module of storage/snapshot/values/ defines the form of a type, and table.py puts them together:

    CODEC = Codec(type_code, pieces, min_version={16: 10, ...})
    DECODERS = {4: decode_pairs, 16: decode_listpack, ...}
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any, TypeAlias

from protocol.records import frozen_record
from storage.redis_format.encoding_limits import EncodingLimits
from storage.redis_format.primitives import Buffer, CorruptSnapshot, Cursor
from storage.snapshot import opcodes
from storage.types.value import Value

# The newest versions that are read: those of Redis 8.10 and Valkey 9.1.
NEWEST_VERSION = 15
VALKEY_VERSION = 80

_BYTES = 9
_PATTERN = rb"([A-Z]+)([0-9]+)"
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
    return begin.startswith((_REDIS, _VALKEY)) or re.fullmatch(_PATTERN, begin) is not None


def read_header(cursor: Cursor) -> int:
    """The version. Raises ForeignSnapshot, and CorruptSnapshot where no snapshot begins."""
    start = cursor.position
    begin = cursor.buffer[start : start + _BYTES]
    if not len(_REDIS) <= len(begin) < _BYTES or begins_snapshot(begin):
        begin = cursor.raw(_BYTES)  # or TruncatedSnapshot
    found = re.fullmatch(_PATTERN, begin)
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


@frozen_record
class SnapshotOptions:
    """The options of writing snapshots and payloads."""

    compress: bool = True  # rdbcompression
    checksum: bool = True  # rdbchecksum; payloads always have one
    stream_type: int | None = None  # 15, 19, 21, 26 or 27; None: what the content needs
    # For Valkey 9, together with stream_type 21: hashes with times of fields in Valkey's own form.
    for_valkey: bool = False
    # Whether files keep how long keys were not used, or how often they are (maxmemory-policy).
    keeps_idle_times: bool = False
    keeps_frequencies: bool = False

    @property
    def newest_version(self) -> int | None:
        """The version of the format that every value has to fit into; None: any.

        It follows from a fixed type of stream. State that the version cannot express is left out.
        """
        fixed = self.stream_type
        return None if fixed is None or self.for_valkey else opcodes.STREAM_VERSIONS[fixed]

    def allows(self, version: int) -> bool:
        """Return True if types that a version of the format introduced may be written."""
        fixed = self.stream_type
        return fixed is None or version <= opcodes.STREAM_VERSIONS[fixed]


@frozen_record
class Reading:
    """The options of decoding."""

    now_ms: int
    access_ms: int  # of the values that are made
    trusted: bool = False  # a checksum has shown that the bytes are as they were written
    limits: EncodingLimits = field(default_factory=EncodingLimits)
    # Fields of hashes by the template that the file names them by; payloads have none.
    templates: dict[int, list[bytes]] = field(default_factory=dict)
    # Whether to refuse what Redis 8.10 refuses and is put right otherwise (stream_refusals.py).
    strict: bool = False
    # Where a decoder puts the checks that take long; None: they are made before it returns.
    checks: list[Iterator[None]] | None = None


class EmptyCollection(Exception):
    """A collection without items was read to its end. A file's reader passes over it."""


@frozen_record
class Codec:
    """The functions that write values of one class."""

    # The type code that a value is written with.
    type_code: Callable[[Any, SnapshotOptions], int]
    # A value as it stands after its type and key, in pieces; the last argument is now_ms.
    pieces: Callable[[Any, SnapshotOptions, int], Iterator[bytes]]
    # By type code: the oldest version of the format that has it. Those that all have are left out.
    min_version: dict[int, int] = field(default_factory=dict)


# Reads a value that begins at the cursor, whose type code it was entered under. Raises
# CorruptSnapshot or EmptyCollection.
Decoder: TypeAlias = Callable[[Cursor, Reading], Value]
