"""Sets in snapshots and payloads.

2     members               length, then each a string
11    an intset             in one string
20    a listpack            in one string (Redis 7.2)
"""

from __future__ import annotations

from collections.abc import Iterator

from storage.redis_format.intset import decode_intset, encode_intset
from storage.redis_format.listpack import decode_listpack, encode_listpack
from storage.redis_format.primitives import CorruptSnapshot, Cursor, encode_length, encode_string
from storage.snapshot.options import Reading, SnapshotOptions
from storage.snapshot.values.codec import Codec, Decoder, EmptyCollection
from storage.types.sets import INTSET, LISTPACK, SetValue

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
