"""Encoding of members and scores in replies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from commands.core.long_reply import LongReply
from protocol import replies
from storage.types.sorted_sets import Pair

# A reply of more members is sent in pieces of this many.
MANY_MEMBERS = 10_000
MEMBERS_PER_PIECE = 500


def score_or_nil(score: float | None, resp: int) -> bytes:
    """A score, null for None."""
    return replies.NIL[resp] if score is None else replies.double(score, resp)


def flat_pair(pair: Pair, resp: int) -> bytes:
    """A member and its score, one after the other."""
    score, member = pair
    text = replies.format_double(score)
    if resp == 3:
        return b"$%d\r\n%b\r\n,%b\r\n" % (len(member), member, text)
    return b"$%d\r\n%b\r\n$%d\r\n%b\r\n" % (len(member), member, len(text), text)


def nested_pair(pair: Pair, resp: int) -> bytes:
    """An array of a member and its score."""
    return b"*2\r\n" + flat_pair(pair, resp)


def members_reply(
    pairs: Iterable[Pair], count: int, resp: int, *, with_scores: bool = False
) -> bytes | LongReply:
    """An array of `count` members. With scores it is flat in RESP2, and of arrays in RESP3.

    In pieces if there are many; then `pairs` are listed now.
    """
    header = replies.array_header(2 * count if with_scores and resp == 2 else count)
    if count > MANY_MEMBERS:
        return LongReply(_pieces(header, list(pairs), resp, with_scores))
    return header + encoded(pairs, resp, with_scores)


def encoded(pairs: Iterable[Pair], resp: int, with_scores: bool) -> bytes:
    """The items of an array of members."""
    if not with_scores:
        return b"".join([replies.bulk(member) for _, member in pairs])
    encode = nested_pair if resp == 3 else flat_pair
    return b"".join([encode(pair, resp) for pair in pairs])


def _pieces(header: bytes, pairs: list[Pair], resp: int, with_scores: bool) -> Iterator[bytes]:
    yield header
    for start in range(0, len(pairs), MEMBERS_PER_PIECE):
        yield encoded(pairs[start : start + MEMBERS_PER_PIECE], resp, with_scores)
