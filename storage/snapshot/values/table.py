"""All types of values that snapshots hold: by class to write them, by type code to read them.

Strings and streams are here; storage/snapshot/stream_encoder.py and stream_decoder.py have the body
of a stream.
"""

from __future__ import annotations

from collections.abc import Iterator

from storage.redis_format.primitives import Cursor, encode_string
from storage.snapshot import opcodes
from storage.snapshot.format import VALKEY_VERSION, Codec, Decoder, Reading, SnapshotOptions
from storage.snapshot.stream_decoder import decode_stream
from storage.snapshot.stream_encoder import stream_pieces, stream_type
from storage.snapshot.values import hash_format, list_format, set_format, sorted_set_format
from storage.stream import Stream
from storage.types.hashes import HashValue
from storage.types.lists import ListValue
from storage.types.sets import SetValue, SortedSetValue
from storage.types.value import StringValue, Value


def _string_type(value: StringValue, options: SnapshotOptions) -> int:
    return opcodes.STRING


def _string_pieces(value: StringValue, options: SnapshotOptions, now_ms: int) -> Iterator[bytes]:
    yield encode_string(value.to_bytes(), compress=options.compress)


def _decode_string(cursor: Cursor, reading: Reading) -> StringValue:
    return StringValue(cursor.string(), reading.access_ms)


_STRING = Codec(_string_type, _string_pieces)
_STRING_DECODERS: dict[int, Decoder] = {opcodes.STRING: _decode_string}


def _stream_type(stream: Stream, options: SnapshotOptions) -> int:
    return stream_type(stream) if options.stream_type is None else options.stream_type


def _stream_pieces(stream: Stream, options: SnapshotOptions, now_ms: int) -> Iterator[bytes]:
    code = _stream_type(stream, options)
    return stream_pieces(stream, code, compress=options.compress, now_ms=now_ms)


def _stream_decoder(code: int) -> Decoder:
    def decode(cursor: Cursor, reading: Reading) -> Stream:
        return decode_stream(cursor, code, reading)

    return decode


_STREAM = Codec(_stream_type, _stream_pieces, min_version=opcodes.STREAM_VERSIONS)
_STREAM_DECODERS: dict[int, Decoder] = {code: _stream_decoder(code) for code in opcodes.STREAMS}


CODECS: dict[type[Value], Codec] = {
    HashValue: hash_format.CODEC,
    StringValue: _STRING,
    ListValue: list_format.CODEC,
    SetValue: set_format.CODEC,
    SortedSetValue: sorted_set_format.CODEC,
    Stream: _STREAM,
}

DECODERS: dict[int, Decoder] = {
    **hash_format.DECODERS,
    **_STRING_DECODERS,
    **list_format.DECODERS,
    **set_format.DECODERS,
    **sorted_set_format.DECODERS,
    **_STREAM_DECODERS,
}

_VALKEY_DECODERS: dict[int, Decoder] = {
    **{code: decode for code, decode in DECODERS.items() if code <= opcodes.LAST_COMMON_TYPE},
    **hash_format.VALKEY_DECODERS,
}

# What is written when nothing needs a newer one: Redis 7.2 and Valkey read it.
PLAIN_VERSION = 11


def decoders_of(version: int) -> dict[int, Decoder]:
    """The decoders, by type code, of files and payloads of a version."""
    return DECODERS if version < VALKEY_VERSION else _VALKEY_DECODERS


def value_type(value: Value, options: SnapshotOptions) -> int:
    """The type code that a value is written with."""
    return CODECS[type(value)].type_code(value, options)


def value_pieces(value: Value, options: SnapshotOptions, now_ms: int) -> Iterator[bytes]:
    """A value as it stands after its type and key, in pieces."""
    return CODECS[type(value)].pieces(value, options, now_ms)


def plain_version(options: SnapshotOptions) -> int:
    """The version of the format for what every version can say."""
    return options.newest_version or PLAIN_VERSION


def value_version(value: Value, options: SnapshotOptions) -> int:
    """The version of the format that a payload with this value has."""
    if options.newest_version is not None:
        return options.newest_version
    codec = CODECS[type(value)]
    return max(codec.min_version.get(codec.type_code(value, options), 0), PLAIN_VERSION)
