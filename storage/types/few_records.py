"""The members of a small sorted set, packed into one bytes object, which is never changed.

byte 0    the number of members
          for each member, in order of its score and then of its bytes:
byte 0        the length of the member
byte 1        the size of the score: 1 or 4 for an integer, 8 for a double
bytes 2 ...   the score, as the processor has it, and then the member

A place is where a member begins. Records (storage/types/records.py) are made when they are read.

Compiled, these are C functions, which storage/types/sets.py imports from few_records.pxd.
"""

from __future__ import annotations

import struct
from bisect import bisect_left

NOTHING = b"\0"
# Longer members are not packed.
MOST_BYTES = 255

_SCORES = {1: struct.Struct("=b"), 4: struct.Struct("=i"), 8: struct.Struct("=d")}
_RECORD_SCORE = _SCORES[8]
_HEADER_BYTES = 2


def packed(records: list[bytes]) -> bytes:
    """These records, which are in order."""
    return bytes([len(records)]) + b"".join(map(_entry, records))


def find_packed(few: bytes, member: bytes) -> int:
    """The place of a member, -1 without it."""
    for place in _places(few):
        start = place + _HEADER_BYTES + few[place + 1]
        if few[start : start + few[place]] == member:
            return place
    return -1


def place_at(few: bytes, rank: int) -> int:
    """The place of the member at a rank; the end of all at their number."""
    return [*_places(few), len(few)][rank]


def rank_at(few: bytes, place: int) -> int:
    """The rank of the member at a place."""
    return _places(few).index(place)


def score_at(few: bytes, place: int) -> float:
    """The score of the member at a place."""
    score: float = _SCORES[few[place + 1]].unpack_from(few, place + _HEADER_BYTES)[0]
    return float(score)


def record_at(few: bytes, place: int) -> bytes:
    """The record of the member at a place."""
    start = place + _HEADER_BYTES + few[place + 1]
    return _RECORD_SCORE.pack(score_at(few, place)) + few[start : start + few[place]]


def rank_before(few: bytes, record: bytes) -> int:
    """The number of members that come before a record, which need not be there."""
    return bisect_left(packed_records(few, 0, few[0]), _key(record), key=_key)


def packed_records(few: bytes, start: int, end: int) -> list[bytes]:
    """The records at the ranks from `start` to before `end`, as far as there are any."""
    return [record_at(few, place) for place in _places(few)[start:end]]


def with_record(few: bytes, record: bytes) -> bytes:
    """These and one more record, whose member is not there."""
    place = place_at(few, rank_before(few, record))
    return b"%c%b%b%b" % (few[0] + 1, few[1:place], _entry(record), few[place:])


def without_ranks(few: bytes, start: int, end: int) -> bytes:
    """These without the members at the ranks from `start` to before `end`."""
    kept = few[1 : place_at(few, start)], few[place_at(few, end) :]
    return b"%c%b%b" % (few[0] - (end - start), *kept)


def _places(few: bytes) -> list[int]:
    places, place = [], 1
    while place < len(few):
        places.append(place)
        place += _HEADER_BYTES + few[place + 1] + few[place]
    return places


def _entry(record: bytes) -> bytes:
    score, member = _key(record)
    size = 8
    if -(1 << 31) <= score < 1 << 31 and score == int(score) and str(score) != "-0.0":
        size = 1 if -128 <= score < 128 else 4
    number = score if size == 8 else int(score)
    return bytes((len(member), size)) + _SCORES[size].pack(number) + member


def _key(record: bytes) -> tuple[float, bytes]:
    return _RECORD_SCORE.unpack_from(record)[0], record[_RECORD_SCORE.size :]
