"""Payloads: a single value as bytes (DUMP and RESTORE), or libraries of functions.

    type (1 byte), the value as in a file, version of the format (2 bytes), checksum (8 bytes)

both numbers little-endian.

Guarantees: `restore` validates every payload completely. It raises BadChecksum or CorruptSnapshot,
or it returns a consistent value; it neither hangs nor allocates memory for a length that is only
announced. Streams stay packed, so that they take no more memory than the payload until they are
read. Surplus bytes after the value are refused (Redis ignores them).

That of FUNCTION DUMP and FUNCTION RESTORE:

    for each library: FUNCTION (1 byte), its source as a string
    version of the format (2 bytes), checksum (8 bytes)

both numbers little-endian. In a file a library has the same form, and precedes the first database.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from itertools import chain

from storage.redis_format.encoding_limits import EncodingLimits
from storage.redis_format.primitives import (
    CHECKSUM_BYTES,
    Allowance,
    CorruptSnapshot,
    Cursor,
    crc64,
    encode_checksum,
)
from storage.snapshot import opcodes
from storage.snapshot.format import EmptyCollection, Reading, SnapshotOptions, is_known
from storage.snapshot.opcodes import STREAMS
from storage.snapshot.stream_decoder import stream_steps
from storage.snapshot.values.table import decoders_of, value_pieces, value_type, value_version
from storage.snapshot.writer import LIBRARIES_VERSION, encode_library
from storage.types.value import Value

# A stream as programs fill it has up to four elements for each byte of its compressed form; only
# in entries with very many equal fields there are more.
MAX_ELEMENTS = 1 << 20
MAX_ELEMENTS_PER_BYTE = 4

_CHECKED_BYTES = 1 << 20  # of which the checksum is computed in a step
_VERSION_BYTES = 2
_FOOTER_BYTES = _VERSION_BYTES + CHECKSUM_BYTES


class BadChecksum(Exception):
    """The payload is damaged, or newer than what is understood here."""


def dump(value: Value, options: SnapshotOptions, now_ms: int) -> bytes:
    """The payload for a value; it has a checksum, whatever the options say."""
    return b"".join(dump_pieces(value, options, now_ms))


def dump_pieces(value: Value, options: SnapshotOptions, now_ms: int) -> Iterator[bytes]:
    """The payload in pieces: a node of a stream or some hundred pending entries each.

    The value must not change until the last piece is made.
    """
    checksum = 0
    for piece in _content(value, options, now_ms):
        checksum = crc64(piece, checksum)
        yield piece
    yield encode_checksum(checksum)


def _content(value: Value, options: SnapshotOptions, now_ms: int) -> Iterator[bytes]:
    yield bytes((value_type(value, options),))
    yield from value_pieces(value, options, now_ms)
    yield value_version(value, options).to_bytes(_VERSION_BYTES, "little")


def serialized_length(value: Value, options: SnapshotOptions, now_ms: int) -> int:
    """The number of bytes of a value in a file, without its type and key."""
    return sum(map(len, value_pieces(value, options, now_ms)))


def restore(
    payload: bytes,
    now_ms: int,
    *,
    limits: EncodingLimits | None = None,
    max_string_bytes: int | None = None,
) -> Value:
    """The value of a payload, at once; see `restore_in_steps`."""
    steps = restore_in_steps(payload, now_ms, limits=limits, max_string_bytes=max_string_bytes)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            value: Value = end.value
            return value


def restore_in_steps(
    payload: bytes,
    now_ms: int,
    *,
    limits: EncodingLimits | None = None,
    max_string_bytes: int | None = None,
) -> Generator[None, None, Value]:
    """The value of a payload; its access time is `now_ms`. A large stream takes several steps.

    `limits`: for its encoding; None: those of Redis as it is shipped.

    `max_string_bytes`: no more may come out of what is compressed, and not more than MAX_ELEMENTS
    beyond what the payload itself has room for. None: no limits, for what was accepted before.

    Raises BadChecksum if the payload is not as it was made or from a newer version, and
    CorruptSnapshot if it holds no value that Rillway can hold.
    """
    end = len(payload) - _FOOTER_BYTES
    if end < 0:
        raise BadChecksum
    version = int.from_bytes(payload[end : end + _VERSION_BYTES], "little")
    if not is_known(version):
        raise BadChecksum
    checksum, content = 0, memoryview(payload)[: end + _VERSION_BYTES]
    for at in range(0, len(content), _CHECKED_BYTES):
        checksum = crc64(content[at : at + _CHECKED_BYTES], checksum)
        yield
    if payload[len(content) :] != encode_checksum(checksum):
        raise BadChecksum
    cursor = Cursor(payload, 0, end)
    if max_string_bytes is not None:
        elements = MAX_ELEMENTS + len(payload) * MAX_ELEMENTS_PER_BYTE
        cursor.allowance = Allowance(max_string_bytes, elements)
    code = cursor.byte()
    decode = decoders_of(version).get(code)
    if decode is None:
        raise CorruptSnapshot(0, f"type {code} is not supported")
    checks: list[Iterator[None]] = []
    reading = Reading(now_ms, access_ms=now_ms, limits=limits or EncodingLimits(), checks=checks)
    try:
        if code in STREAMS:
            value: Value = yield from stream_steps(cursor, code, reading)
        else:
            value = decode(cursor, reading)
    except EmptyCollection:
        raise cursor.corrupt("a collection has no items") from None
    if cursor.left:
        raise cursor.corrupt(f"{cursor.left} bytes follow the value")
    yield from chain.from_iterable(checks)
    return value


def payload_version(payload: bytes) -> int:
    """The version of the format that a valid payload has."""
    end = len(payload) - _FOOTER_BYTES
    return int.from_bytes(payload[end : end + _VERSION_BYTES], "little")


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
