"""ZREM, ZREMRANGEBYRANK and its kin, ZPOPMIN and its blocking forms, ZRANDMEMBER, ZSCAN.

Pops are propagated as the ZPOPMIN or ZPOPMAX that has the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import cython

from commands.core import notifications
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
    MANY_MEMBERS,
    MEMBERS_PER_PIECE,
    encoded,
    flat_pair,
    members_reply,
    nested_pair,
    parse_lex_bounds,
    parse_score_bounds,
    rank_span,
)
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import frozen_record
from protocol.replies import EMPTY_ARRAY, NIL, NIL_ARRAY, ZERO
from protocol.request import Request
from storage.types.records import Record, member_of
from storage.types.sets import SortedSetValue, Span, distinct_numbers

_DELETES = one_key(b"RW", b"DELETE")
_EVENTS: cython.long = notifications.SORTED_SET


@command("ZREM", arity=-3, flags=WRITE | FAST, keys=_DELETES)
def zrem(client: Client, argv: Request) -> bytes:
    """Integer: how many were there. Source: Redis 7.2."""
    key = argv.word(1)
    value: SortedSetValue | None = client.lookup_typed_for_write(key, SortedSetValue)
    if value is None:
        return ZERO
    removed: cython.Py_ssize_t = 0
    index: cython.Py_ssize_t
    for index in range(2, argv.count):
        removed += value.remove(argv.word(index))
    return _removed(client, key, value, removed, b"zrem")


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
    return _removed(client, key, value, end - start, event)


def _removed(
    client: Client, key: bytes, value: SortedSetValue, count: cython.Py_ssize_t, event: bytes
) -> bytes:
    """Report that `count` members were removed, and remove the key with the last of them."""
    if count:
        client.modified(key, count)
        client.notify(_EVENTS, event, key)
        remove_if_empty(client, key, value)
    return replies.integer(count)


def remove_if_empty(client: Client, key: bytes, value: SortedSetValue) -> None:
    """Remove the key of a sorted set that has just lost its last member."""
    if not len(value):
        client.remove(key)
        client.notify(notifications.GENERIC, b"del", key)


@frozen_record
class _End:
    """The end of a sorted set that is popped from."""

    command: bytes
    event: bytes
    reverse: bool


_MIN = _End(b"ZPOPMIN", b"zpopmin", reverse=False)
_MAX = _End(b"ZPOPMAX", b"zpopmax", reverse=True)
_ENDS = {b"MIN": _MIN, b"MAX": _MAX}

_POPS = (b"RW", b"ACCESS", b"DELETE")
_ALL_BUT_LAST = (KeySpec(begin=1, last=-2, flags=_POPS),)


def _pop(
    client: Client, key: bytes, value: SortedSetValue, count: cython.Py_ssize_t, end: _End
) -> list[Record]:
    """Remove up to `count` members, at least one, and report that; what they were."""
    size: cython.Py_ssize_t = len(value)
    start: cython.Py_ssize_t = max(size - count, 0) if end.reverse else 0
    stop: cython.Py_ssize_t = size if end.reverse else min(count, size)
    popped: list[Record] = value.records(start, stop)
    if end.reverse:
        popped.reverse()
    client.instance.background_work.discard(value.remove_span(start, stop))
    client.modified(key, len(popped))
    client.notify(_EVENTS, end.event, key)
    remove_if_empty(client, key, value)
    return popped


# -- from one key ------------------------------------------------------------------------------


@command("ZPOPMIN", arity=-2, flags=WRITE | FAST, keys=one_key(*_POPS))
def zpopmin(client: Client, argv: Request) -> bytes | LongReply:
    """Array of members and scores. Source: Redis 7.2."""
    return _pop_from(client, argv, _MIN)


@command("ZPOPMAX", arity=-2, flags=WRITE | FAST, keys=one_key(*_POPS))
def zpopmax(client: Client, argv: Request) -> bytes | LongReply:
    """Array of members and scores, the highest first."""
    return _pop_from(client, argv, _MAX)


def _pop_from(client: Client, argv: Request, end: _End) -> bytes | LongReply:
    if argv.count > 3:
        raise ReplyError(errors.SYNTAX)
    key = argv.word(1)
    has_count: cython.bint = argv.count == 3
    count: cython.long = parse_int(argv.word(2), errors.NOT_POSITIVE, minimum=0) if has_count else 1
    value: SortedSetValue | None = client.lookup_typed_for_write(key, SortedSetValue)
    if value is None or not count:
        return EMPTY_ARRAY
    popped = _pop(client, key, value, count, end)
    if has_count:
        return members_reply(popped, client.resp, with_scores=True)
    # In RESP3, too, it is one array: that of the pair.
    return encoded(popped, client.resp, True, b"*2\r\n" if client.resp == 2 else b"")


# -- from the first of several -----------------------------------------------------------------


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


def _serve_several(keys: list[bytes], count: int, end: _End, client: Client) -> bytes | None:
    found = first_of(client, keys, SortedSetValue)
    if found is None:
        return None
    key, value = found
    popped = _pop(client, key, value, count, end)
    client.propagate(end.command, key, b"%d" % len(popped))
    pairs = replies.array([nested_pair(record, client.resp) for record in popped])
    return replies.array([replies.bulk(key), pairs])


@command("BZPOPMIN", arity=-3, flags=WRITE | BLOCKING | FAST, keys=_ALL_BUT_LAST)
def bzpopmin(client: Client, argv: Request) -> bytes | Block:
    """Array of key, member and score; null after the timeout, in seconds. Source: Redis 7.2."""
    return _pop_one_or_wait(client, argv, _MIN)


@command("BZPOPMAX", arity=-3, flags=WRITE | BLOCKING | FAST, keys=_ALL_BUT_LAST)
def bzpopmax(client: Client, argv: Request) -> bytes | Block:
    """Array of key, member and score; null after the timeout, in seconds."""
    return _pop_one_or_wait(client, argv, _MAX)


def _pop_one_or_wait(client: Client, argv: Request, end: _End) -> bytes | Block:
    keys = argv[1:-1]
    timeout_ms = parse_timeout(argv[-1], client.instance.now_ms)
    return pop_or_wait(client, keys, timeout_ms, SortedSetValue, partial(_serve_one, keys, end))


def _serve_one(keys: list[bytes], end: _End, client: Client) -> bytes | None:
    found = first_of(client, keys, SortedSetValue)
    if found is None:
        return None
    key, value = found
    popped = _pop(client, key, value, 1, end)
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
