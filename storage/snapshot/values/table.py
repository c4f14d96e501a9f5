"""All types of values that snapshots hold: by class to write them, by type code to read them."""

from __future__ import annotations

from collections.abc import Iterator

from storage.snapshot import opcodes
from storage.snapshot.header import VALKEY_VERSION
from storage.snapshot.options import SnapshotOptions
from storage.snapshot.values import (
    hash_format,
    list_format,
    set_format,
    sorted_set_format,
    stream_format,
    string_format,
)
from storage.snapshot.values.codec import Codec, Decoder
from storage.stream import Stream
from storage.types.hashes import HashValue
from storage.types.lists import ListValue
from storage.types.sets import SetValue, SortedSetValue
from storage.types.value import StringValue, Value

CODECS: dict[type[Value], Codec] = {
    HashValue: hash_format.CODEC,
    StringValue: string_format.CODEC,
    ListValue: list_format.CODEC,
    SetValue: set_format.CODEC,
    SortedSetValue: sorted_set_format.CODEC,
    Stream: stream_format.CODEC,
}

DECODERS: dict[int, Decoder] = {
    **hash_format.DECODERS,
    **string_format.DECODERS,
    **list_format.DECODERS,
    **set_format.DECODERS,
    **sorted_set_format.DECODERS,
    **stream_format.DECODERS,
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
