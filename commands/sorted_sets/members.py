"""ZREMRANGEBYRANK and its kin, ZMPOP, the blocking forms of ZPOPMIN, ZRANDMEMBER, ZSCAN.

Pops are propagated as the ZPOPMIN or ZPOPMAX that has the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from commands.core.arguments import INT64_MAX, Arguments, parse_int
from commands.core.blocked_clients import Block
from commands.core.client import Client
from commands.core.long_reply import LongReply, is_long, items_per_piece
from commands.core.registry import (
    BLOCKING,
    FAST,
    MOVABLE_KEYS,
    READONLY,
    WRITE,
    KeySpec,
    command,
    counted_keys,
    one_key,
)
from commands.keys.pattern import matches
from commands.keys.scan import parse_cursor, parse_scan_options
from commands.lists.blocking_pops import (
    first_of,
    parse_multi_pop,
    parse_timeout,
    pop_or_wait,
)
from commands.sets.members import parse_random_count
from commands.sorted_sets.scores import (
    HIGHEST,
    LOWEST,
    MANY_MEMBERS,
    MEMBERS_PER_PIECE,
    End,
    encoded,
    flat_pair,
    members_reply,
    nested_pair,
    parse_lex_bounds,
    parse_score_bounds,
    pop_members,
    rank_span,
    removed_reply,
)
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.replies import EMPTY_ARRAY, NIL, NIL_ARRAY, ZERO
from protocol.request import Request
from storage.types.records import Record, member_of
from storage.types.sets import SortedSetValue, Span, distinct_numbers

_DELETES = one_key(b"RW", b"DELETE")


@command("ZREMRANGEBYRANK", arity=4, flags=WRITE, keys=_DELETES)
def zremrangebyrank(client: Client, argv: Request) -> bytes:
    """Integer: how many were removed. Source: Redis 7.2."""
    start, end = parse_int(argv[2]), parse_int(argv[3])
    return _remove_span(
        client, argv[1], lambda value: rank_span(start, end, len(value)), b"zremrangebyrank"
    )


@command("ZREMRANGEBYSCORE", arity=4, flags=WRITE, keys=_DELETES)
def zremrangebyscore(client: Client, argv: Request) -> bytes:
    """Integer: the number of members removed."""
    bounds = parse_score_bounds(argv[2], argv[3])
    return _remove_span(
        client, argv[1], lambda value: value.span_of_scores(bounds), b"zremrangebyscore"
    )


@command("ZREMRANGEBYLEX", arity=4, flags=WRITE, keys=_DELETES)
def zremrangebylex(client: Client, argv: Request) -> bytes:
    """Integer: the number of members removed."""
    bounds = parse_lex_bounds(argv[2], argv[3])
    return _remove_span(
        client, argv[1], lambda value: value.span_of_members(bounds), b"zremrangebylex"
    )


def _remove_span(
    client: Client, key: bytes, span_in: Callable[[SortedSetValue], Span], event: bytes
) -> bytes:
    value = client.lookup_typed_for_write(key, SortedSetValue)
    if value is None:
        return ZERO
    start, end = span_in(value)
    client.instance.background_work.discard(value.remove_span(start, end))
    return removed_reply(client, key, value, end - start, event)


_ENDS = {b"MIN": LOWEST, b"MAX": HIGHEST}
_POPS = (b"RW", b"ACCESS", b"DELETE")
_ALL_BUT_LAST = (KeySpec(begin=1, last=-2, flags=_POPS),)


@command("ZMPOP", arity=-4, flags=WRITE | MOVABLE_KEYS, keys=counted_keys(*_POPS))
def zmpop(client: Client, argv: Request) -> bytes:
    """Array of the key and an array of pairs; null if no key is there. Source: Redis 7.2."""
    wanted = parse_multi_pop(Arguments(argv, 1), (b"MIN", b"MAX"))
    reply = _serve_several(wanted.keys, wanted.count, _ENDS[wanted.where], client)
    return NIL_ARRAY[client.resp] if reply is None else reply


@command("BZMPOP", arity=-5, flags=WRITE | BLOCKING | MOVABLE_KEYS, keys=counted_keys(*_POPS, at=2))
def bzmpop(client: Client, argv: Request) -> bytes | Block:
    """Array of the key and an array of pairs; null after the timeout, in seconds.

    Source: Redis 7.2.
    """
    wanted = parse_multi_pop(Arguments(argv, 2), (b"MIN", b"MAX"))
    timeout_ms = parse_timeout(argv[1], client.instance.now_ms)
    serve = partial(_serve_several, wanted.keys, wanted.count, _ENDS[wanted.where])
    return pop_or_wait(client, wanted.keys, timeout_ms, SortedSetValue, serve)


def _serve_several(keys: list[bytes], count: int, end: End, client: Client) -> bytes | None:
    found = first_of(client, keys, SortedSetValue)
    if found is None:
        return None
    key, value = found
    popped = pop_members(client, key, value, count, end)
    client.propagate(end.command, key, b"%d" % len(popped))
    pairs = replies.array([nested_pair(record, client.resp) for record in popped])
    return replies.array([replies.bulk(key), pairs])


@command("BZPOPMIN", arity=-3, flags=WRITE | BLOCKING | FAST, keys=_ALL_BUT_LAST)
def bzpopmin(client: Client, argv: Request) -> bytes | Block:
    """Array of key, member and score; null after the timeout, in seconds. Source: Redis 7.2."""
    return _pop_one_or_wait(client, argv, LOWEST)


@command("BZPOPMAX", arity=-3, flags=WRITE | BLOCKING | FAST, keys=_ALL_BUT_LAST)
def bzpopmax(client: Client, argv: Request) -> bytes | Block:
    """Array of key, member and score; null after the timeout, in seconds."""
    return _pop_one_or_wait(client, argv, HIGHEST)


def _pop_one_or_wait(client: Client, argv: Request, end: End) -> bytes | Block:
    keys = argv[1:-1]
    timeout_ms = parse_timeout(argv[-1], client.instance.now_ms)
    return pop_or_wait(client, keys, timeout_ms, SortedSetValue, partial(_serve_one, keys, end))


def _serve_one(keys: list[bytes], end: End, client: Client) -> bytes | None:
    found = first_of(client, keys, SortedSetValue)
    if found is None:
        return None
    key, value = found
    popped = pop_members(client, key, value, 1, end)
    client.propagate(end.command, key)
    return replies.array_header(3) + replies.bulk(key) + flat_pair(popped[0], client.resp)


@command("ZRANDMEMBER", arity=-2, flags=READONLY, keys=one_key(b"RO", b"ACCESS"))
def zrandmember(client: Client, argv: Request) -> bytes | LongReply:
    """Bulk string, or null without the key; with `count` an array, in which members repeat if it is
    negative. Source: Redis 7.2."""
    count, with_scores = _parse(argv)
    value = client.lookup_typed(argv[1], SortedSetValue)
    if value is None:
        return NIL[client.resp] if count is None else EMPTY_ARRAY
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
    if is_long(-count, value.memory_bytes() // size, MANY_MEMBERS):
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
    per_piece = items_per_piece(value.memory_bytes() // len(value), MEMBERS_PER_PIECE)
    yield replies.array_header(2 * count if flat else count)
    while count:
        some = min(count, per_piece)
        picked = [value.at(below(len(value))) for _ in range(some)]
        yield encoded(picked, resp, with_scores)
        count -= some


@command("ZSCAN", arity=-3, flags=READONLY, keys=one_key(b"RO", b"ACCESS"))
def zscan(client: Client, argv: Request) -> bytes:
    """Array of two: the next cursor, 0 at the end, and an array of members and scores, both bulk
    strings in RESP3, too. Source: Redis 7.2."""
    cursor = parse_cursor(argv[2])
    value = client.lookup_typed(argv[1], SortedSetValue)
    records: list[Record] = []
    following = 0
    if value is not None:
        # Without the key the options are not parsed, as in Redis.
        options = parse_scan_options(Arguments(argv, 3))
        following, records = value.scan(cursor, options.count)
        if options.pattern != b"*":
            records = [record for record in records if matches(options.pattern, member_of(record))]
    items = encoded(records, 2, True, replies.array_header(2 * len(records)))
    return replies.array([replies.bulk(b"%d" % following), items])
