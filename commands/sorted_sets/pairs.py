"""Encoding of members and scores in replies: from records straight to RESP."""

from __future__ import annotations

from collections.abc import Iterator

import cython

from commands.core.long_reply import LongReply
from protocol import replies
from storage.types.records import Record, member_of, score_of

# A reply of more members is sent in pieces of this many.
MANY_MEMBERS = 10_000
MEMBERS_PER_PIECE = 500


def score_or_nil(record: Record | None, resp: cython.int) -> bytes:
    """The score of a record, null for None."""
    return replies.NIL[resp] if record is None else replies.double(score_of(record), resp)


def flat_pair(record: Record, resp: cython.int) -> bytes:
    """A member and its score, one after the other."""
    return replies.bulk(member_of(record)) + replies.double(score_of(record), resp)


def nested_pair(record: Record, resp: cython.int) -> bytes:
    """An array of a member and its score."""
    return b"*2\r\n" + flat_pair(record, resp)


def members_reply(
    records: list[Record], resp: cython.int, *, with_scores: bool = False
) -> bytes | LongReply:
    """An array of members. With scores it is flat in RESP2, and of arrays in RESP3.

    In pieces if there are many; then it takes over the list.
    """
    count: cython.Py_ssize_t = len(records)
    header = replies.array_header(2 * count if with_scores and resp == 2 else count)
    if count > MANY_MEMBERS:
        return LongReply(_pieces(header, records, resp, with_scores))
    return encoded(records, resp, with_scores, header)


def encoded(
    records: list[Record], resp: cython.int, with_scores: cython.bint, header: bytes = b""
) -> bytes:
    """The items of an array of members, after its header."""
    if cython.compiled:
        return make_members(header, records, resp if with_scores else 0)  # type: ignore[name-defined, no-any-return]  # noqa: F821
    if not with_scores:
        return header + b"".join([replies.bulk(member_of(record)) for record in records])
    encode = nested_pair if resp == 3 else flat_pair
    return header + b"".join([encode(record, resp) for record in records])


def _pieces(header: bytes, records: list[Record], resp: int, with_scores: bool) -> Iterator[bytes]:
    yield header
    for start in range(0, len(records), MEMBERS_PER_PIECE):
        yield encoded(records[start : start + MEMBERS_PER_PIECE], resp, with_scores)
