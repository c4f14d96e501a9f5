"""Sorted sets in snapshots and payloads.

    3     members and scores    length, then each a string and its score as text
    5     members and scores    length, then each a string and 8 bytes of its score
    12    a ziplist             in one string: member, score, ... ascending
    17    a listpack            in one string: the same (Redis 7.0)

Scores as text have a byte before them: their length, or 253 for NaN, 254 and 255 for the
infinities.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from itertools import chain
from math import inf

from protocol.replies import format_double
from storage.redis_format.listpack import Element, decode_listpack, encode_listpack
from storage.redis_format.primitives import CorruptSnapshot, Cursor, encode_length, encode_string
from storage.redis_format.ziplist import decode_ziplist
from storage.snapshot.format import Codec, Decoder, EmptyCollection, Reading, SnapshotOptions
from storage.types.records import Record, make_record, member_of, score_of
from storage.types.sets import LISTPACK, SortedSetValue

_ZSET = 3
_ZSET_2 = 5
_ZSET_ZIPLIST = 12
_ZSET_LISTPACK = 17

_LISTPACK_VERSION = 10

_MEMBERS_PER_PIECE = 100

# Texts of scores that are none, by the byte that stands for them.
_SPECIAL_SCORES = {254: inf, 255: -inf}
_NAN = 253

_DOUBLE = struct.Struct("<d")


# -- writing -----------------------------------------------------------------------------------


def _type_code(value: SortedSetValue, options: SnapshotOptions) -> int:
    is_small = value.encoding == LISTPACK and options.allows(_LISTPACK_VERSION)
    return _ZSET_LISTPACK if is_small else _ZSET_2


def _pieces(value: SortedSetValue, options: SnapshotOptions, now_ms: int) -> Iterator[bytes]:
    if _type_code(value, options) == _ZSET_LISTPACK:
        elements = chain.from_iterable(
            (member, format_double(score)) for score, member in value.pairs()
        )
        yield encode_string(encode_listpack(elements), compress=options.compress)
        return
    yield encode_length(len(value))
    # From the highest score down, as Redis does, which loads it faster that way.
    for end in range(len(value), 0, -_MEMBERS_PER_PIECE):
        records = value.records(max(end - _MEMBERS_PER_PIECE, 0), end)
        yield b"".join(
            [
                encode_string(member_of(record), compress=options.compress)
                + _DOUBLE.pack(score_of(record))
                for record in reversed(records)
            ]
        )


# -- reading -----------------------------------------------------------------------------------


def _made(records: list[Record], offset: int, reading: Reading) -> SortedSetValue:
    """The sorted set of these members. Raises CorruptSnapshot and EmptyCollection."""
    if not records:
        raise EmptyCollection
    if any(score != score for score in map(score_of, records)):
        raise CorruptSnapshot(offset, "a score is not a number")
    records.reverse()  # Redis writes the highest score first: what is in order is not sorted
    try:
        return SortedSetValue.of_records(records, reading.limits, reading.access_ms)
    except ValueError as error:
        raise CorruptSnapshot(offset, str(error)) from None


def _decode_text_scores(cursor: Cursor, reading: Reading) -> SortedSetValue:
    offset = cursor.position
    count = cursor.count(smallest=2)
    records: list[Record] = []
    for _ in range(count):
        member = cursor.string()
        records.append(make_record(_text_score(cursor), member))
    return _made(records, offset, reading)


def _text_score(cursor: Cursor) -> float:
    length = cursor.byte()
    if length in _SPECIAL_SCORES:
        return _SPECIAL_SCORES[length]
    if length == _NAN:
        raise cursor.corrupt("a score is not a number")
    offset = cursor.position
    return _score(cursor.raw(length), offset)


def _decode_scores(cursor: Cursor, reading: Reading) -> SortedSetValue:
    offset = cursor.position
    count = cursor.count(smallest=9)
    records: list[Record] = []
    for _ in range(count):
        member = cursor.string()
        records.append(make_record(_DOUBLE.unpack(cursor.raw(8))[0], member))
    return _made(records, offset, reading)


def _decode_listpack(cursor: Cursor, reading: Reading) -> SortedSetValue:
    offset = cursor.position
    elements = decode_listpack(cursor.string(), offset, cursor.allowance)
    return _of_elements(elements, offset, reading)


def _decode_ziplist(cursor: Cursor, reading: Reading) -> SortedSetValue:
    offset = cursor.position
    elements = decode_ziplist(cursor.string(), offset, cursor.allowance)
    return _of_elements(elements, offset, reading)


def _of_elements(elements: Sequence[Element], offset: int, reading: Reading) -> SortedSetValue:
    """The sorted set of members and scores that alternate."""
    if len(elements) % 2:
        raise CorruptSnapshot(offset, "the last member of a sorted set has no score")
    members = [b"%d" % one if isinstance(one, int) else one for one in elements[::2]]
    scores = [float(one) if isinstance(one, int) else _score(one, offset) for one in elements[1::2]]
    return _made(list(map(make_record, scores, members)), offset, reading)


def _score(text: bytes, offset: int) -> float:
    """The score that is written as this text. Raises CorruptSnapshot."""
    try:
        if b"_" not in text:  # between digits Python passes over it
            return float(text)
    except ValueError:
        pass
    raise CorruptSnapshot(offset, f"{text!r} is no score")


CODEC = Codec(_type_code, _pieces, min_version={_ZSET_LISTPACK: _LISTPACK_VERSION})
DECODERS: dict[int, Decoder] = {
    _ZSET: _decode_text_scores,
    _ZSET_2: _decode_scores,
    _ZSET_ZIPLIST: _decode_ziplist,
    _ZSET_LISTPACK: _decode_listpack,
}
