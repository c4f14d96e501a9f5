"""Strings in snapshots and payloads."""

from __future__ import annotations

from collections.abc import Iterator

from storage.redis_format.primitives import Cursor, encode_string
from storage.snapshot import opcodes
from storage.snapshot.options import Reading, SnapshotOptions
from storage.snapshot.values.codec import Codec, Decoder
from storage.types.value import StringValue


def _type_code(value: StringValue, options: SnapshotOptions) -> int:
    return opcodes.STRING


def _pieces(value: StringValue, options: SnapshotOptions, now_ms: int) -> Iterator[bytes]:
    yield encode_string(value.to_bytes(), compress=options.compress)


def _decode(cursor: Cursor, reading: Reading) -> StringValue:
    return StringValue(cursor.string(), reading.access_ms)


CODEC = Codec(_type_code, _pieces)
DECODERS: dict[int, Decoder] = {opcodes.STRING: _decode}
