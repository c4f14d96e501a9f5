"""ZRANDMEMBER: members chosen at random."""

from __future__ import annotations

from collections.abc import Iterator

from commands.core.arguments import INT64_MAX
from commands.core.client import Client
from commands.core.long_reply import LongReply
from commands.core.registry import READONLY, command, one_key
from commands.sets.spop import parse_random_count
from commands.sorted_sets.pairs import MANY_MEMBERS, MEMBERS_PER_PIECE, encoded, members_reply
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from storage.types.records import member_of
from storage.types.sets import SortedSetValue, distinct_numbers


@command("ZRANDMEMBER", arity=-2, flags=READONLY, keys=one_key(b"RO", b"ACCESS"))
def zrandmember(client: Client, argv: Request) -> bytes | LongReply:
    """Bulk string, or null without the key; with `count` an array, in which members repeat if it is
    negative. Source: Redis 7.2."""
    count, with_scores = _parse(argv)
    value = client.lookup_typed(argv[1], SortedSetValue)
    if value is None:
        return replies.NIL[client.resp] if count is None else replies.EMPTY_ARRAY
    below, size = client.instance.host.random_below, len(value)
    if count is None:
        return replies.bulk(member_of(value.at(below(size))))
    if count >= size:
        # Redis begins at the end.
        records = value.records(0, size)[::-1]
        return members_reply(records, client.resp, with_scores=with_scores)
    if count >= 0:
        chosen = [value.at(rank) for rank in distinct_numbers(count, size, below)]
        return members_reply(chosen, client.resp, with_scores=with_scores)
    if count < -MANY_MEMBERS:
        return LongReply(_repeated(client, value.copy(), -count, with_scores))
    picked = [value.at(below(size)) for _ in range(-count)]
    return members_reply(picked, client.resp, with_scores=with_scores)


def _parse(argv: Request) -> tuple[int | None, bool]:
    """The count, None without one, and whether the scores are wanted."""
    if len(argv) == 2:
        return None, False
    count = parse_random_count(argv[2])
    with_scores = len(argv) == 4 and argv[3].upper() == b"WITHSCORES"
    if len(argv) > 3 and not with_scores:
        raise ReplyError(errors.SYNTAX)
    if with_scores and not -INT64_MAX // 2 <= count <= INT64_MAX // 2:
        raise ReplyError(errors.RANDOM_COUNT_TOO_LARGE)
    return count, with_scores


def _repeated(
    client: Client, value: SortedSetValue, count: int, with_scores: bool
) -> Iterator[bytes]:
    """The reply of `count` members, any of which may repeat, in pieces."""
    below, resp = client.instance.host.random_below, client.resp
    flat = with_scores and resp == 2
    yield replies.array_header(2 * count if flat else count)
    while count:
        some = min(count, MEMBERS_PER_PIECE)
        picked = [value.at(below(len(value))) for _ in range(some)]
        yield encoded(picked, resp, with_scores)
        count -= some
