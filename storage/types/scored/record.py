"""A member of a sorted set with its score, in one bytes object.

    bytes 0 to 7    the score: a double, as the processor has it
    bytes 8 ...     the member

The order of records is that of sorted sets: by score, then by the bytes of the member. -0 and 0 are
equal in it, so it is not the order of the bytes. A record with an empty member is the first of its
score: a bound of a range.

Guarantees: no score is NaN.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from typing import TypeAlias

import cython

Record: TypeAlias = bytes
Pair: TypeAlias = "tuple[float, bytes]"  # (score, member)

SCORE_BYTES = 8

_SCORE = struct.Struct("=d")


def make_record(score: cython.double, member: bytes) -> Record:
    """The record of a member."""
    if cython.compiled:
        return new_record(score, member)  # type: ignore[name-defined, no-any-return]  # noqa: F821
    return _SCORE.pack(score) + member


def score_of(record: Record) -> cython.double:
    """The score of a record."""
    if cython.compiled:
        return score_in(record)  # type: ignore[name-defined, no-any-return]  # noqa: F821
    score: float = _SCORE.unpack_from(record)[0]
    return score


def member_of(record: Record) -> bytes:
    """The member of a record."""
    if cython.compiled:
        return member_in(record)  # type: ignore[name-defined, no-any-return]  # noqa: F821
    return record[SCORE_BYTES:]


def pair_of(record: Record) -> Pair:
    """Score and member of a record."""
    return score_of(record), member_of(record)


def is_before(record: Record, other: Record) -> cython.bint:
    """Return True if a record comes before another one."""
    if cython.compiled:
        return before(record, other)  # type: ignore[name-defined, no-any-return]  # noqa: F821
    return pair_of(record) < pair_of(other)


def place_of(records: list[Record], record: Record) -> cython.Py_ssize_t:
    """The place of a record among others that are in order: how many come before it."""
    if cython.compiled:
        return place_among(records, record)  # type: ignore[name-defined, no-any-return]  # noqa: F821
    return bisect_left(records, pair_of(record), key=pair_of)


def find_member(records: list[Record], member: bytes) -> cython.Py_ssize_t:
    """The place of the record of a member, -1 without one: all are looked at."""
    if cython.compiled:
        return find_among(records, member)  # type: ignore[name-defined, no-any-return]  # noqa: F821
    size = SCORE_BYTES + len(member)
    for place, record in enumerate(records):
        if len(record) == size and record.endswith(member):
            return place
    return -1


def sort_records(records: list[Record]) -> None:
    """Sort a list of records in place. Raises MemoryError."""
    if cython.compiled:
        sort_in_order(records)  # type: ignore[name-defined]  # noqa: F821
    else:
        records.sort(key=pair_of)
