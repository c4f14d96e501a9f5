"""Sets in snapshots and payloads.

2     members               length, then each a string
11    an intset             in one string
20    a listpack            in one string (Redis 7.2)

An intset is a small set of integers in one string:

    width      4 bytes, little-endian: 2, 4 or 8, the bytes of each member
    members    4 bytes, little-endian: how many
    member, member, ...                 ascending, little-endian with a sign

Decoding checks the input completely.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from itertools import pairwise

from storage.redis_format.listpack import decode_listpack, encode_listpack
from storage.redis_format.primitives import CorruptSnapshot, Cursor, encode_length, encode_string
from storage.snapshot.format import Codec, Decoder, EmptyCollection, Reading, SnapshotOptions
from storage.types.sets import INTSET, LISTPACK, SetValue

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


_SET = 2
_SET_INTSET = 11
_SET_LISTPACK = 20

_LISTPACK_VERSION = 11


def _type_code(value: SetValue, options: SnapshotOptions) -> int:
    if value.encoding == INTSET:
        return _SET_INTSET
    if value.encoding == LISTPACK and options.allows(_LISTPACK_VERSION):
        return _SET_LISTPACK
    return _SET


def _pieces(value: SetValue, options: SnapshotOptions, now_ms: int) -> Iterator[bytes]:
    code = _type_code(value, options)
    if code == _SET_INTSET:
        numbers = list(map(int, value.members()))
        yield encode_string(encode_intset(numbers), compress=options.compress)
    elif code == _SET_LISTPACK:
        yield encode_string(encode_listpack(value.members()), compress=options.compress)
    else:
        yield encode_length(len(value))
        for some in value.batches():
            yield b"".join([encode_string(one, compress=options.compress) for one in some])


def _made(members: list[bytes], offset: int, reading: Reading) -> SetValue:
    """The set of these members. Raises CorruptSnapshot and EmptyCollection."""
    if not members:
        raise EmptyCollection
    value = SetValue.of(members, reading.limits, reading.access_ms)
    if len(value) != len(members):
        raise CorruptSnapshot(offset, "a member comes twice in a set")
    return value


def _decode_members(cursor: Cursor, reading: Reading) -> SetValue:
    offset = cursor.position
    count = cursor.count(smallest=1)
    return _made([cursor.string() for _ in range(count)], offset, reading)


def _decode_intset(cursor: Cursor, reading: Reading) -> SetValue:
    offset = cursor.position
    members = decode_intset(cursor.string(), offset)
    return _made([b"%d" % member for member in members], offset, reading)


def _decode_listpack(cursor: Cursor, reading: Reading) -> SetValue:
    offset = cursor.position
    elements = decode_listpack(cursor.string(), offset, cursor.allowance)
    members = [b"%d" % one if isinstance(one, int) else one for one in elements]
    return _made(members, offset, reading)


CODEC = Codec(_type_code, _pieces, min_version={_SET_LISTPACK: _LISTPACK_VERSION})
DECODERS: dict[int, Decoder] = {
    _SET: _decode_members,
    _SET_INTSET: _decode_intset,
    _SET_LISTPACK: _decode_listpack,
}
