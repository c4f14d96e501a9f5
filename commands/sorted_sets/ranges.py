"""ZRANGE in all its forms, the older commands that it replaces, and ZRANGESTORE.

A range is by rank, by score or by member. Each comes down to a span of ranks, which is read from
its start or from its end.
"""

from __future__ import annotations

from collections.abc import Callable

from commands.core.arguments import Arguments, parse_int
from commands.core.client import Client
from commands.core.long_reply import LongReply
from commands.core.registry import DENYOOM, READONLY, WRITE, command, one_key, two_keys
from commands.keys.existence import delete
from commands.sorted_sets.bounds import (
    limited,
    parse_lex_bounds,
    parse_score_bounds,
    rank_span,
)
from commands.sorted_sets.pairs import members_reply
from commands.state import notifications
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
from protocol.request import Request
from storage.types.sorted_sets import SortedSetValue, Span

RANK = b"RANK"
SCORE = b"BYSCORE"
LEX = b"BYLEX"

NO_LIMIT = -1

_READS = one_key(b"RO", b"ACCESS")


@record
class _Form:
    """The kind, direction and options of a range. None: an option of the request decides."""

    by: bytes | None = None
    reverse: bool | None = None
    offset: int = 0
    count: int = NO_LIMIT
    with_scores: bool = False


@record
class _Range:
    """A range, with its ends parsed."""

    span_in: Callable[[SortedSetValue], Span]
    reverse: bool
    with_scores: bool


def _parse(argv: Request, at: int, form: _Form, *, is_stored: bool = False) -> _Range:
    """The range whose ends are at `at`, with the options after them. Raises ReplyError."""
    _parse_options(Arguments(argv, at + 2), form, is_stored=is_stored)
    by, reverse = form.by or RANK, bool(form.reverse)
    if form.count != NO_LIMIT and by == RANK:
        raise ReplyError(errors.LIMIT_BY_RANK)
    if form.with_scores and by == LEX:
        raise ReplyError(errors.WITHSCORES_BY_LEX)
    first, second = argv[at], argv[at + 1]
    if by == RANK:
        return _Range(
            _by_rank(parse_int(first), parse_int(second), reverse), reverse, form.with_scores
        )
    low, high = (second, first) if reverse else (first, second)
    span_in = _by_score(low, high) if by == SCORE else _by_member(low, high)

    def limited_span(value: SortedSetValue) -> Span:
        return limited(span_in(value), form.offset, form.count, reverse=reverse)

    return _Range(limited_span, reverse, form.with_scores)


def _parse_options(arguments: Arguments, form: _Form, *, is_stored: bool) -> None:
    has_given_order, has_given_kind = form.reverse is not None, form.by is not None
    while arguments:
        if not is_stored and arguments.take(b"WITHSCORES"):
            form.with_scores = True
        elif arguments.remaining > 2 and arguments.take(b"LIMIT"):
            form.offset, form.count = arguments.next_int(), arguments.next_int()
        elif not has_given_order and form.reverse is None and arguments.take(b"REV"):
            form.reverse = True
        elif not has_given_kind and form.by is None and arguments.peek() in (SCORE, LEX):
            form.by = arguments.next_keyword()
        else:
            raise ReplyError(errors.SYNTAX)


def _by_rank(start: int, end: int, reverse: bool) -> Callable[[SortedSetValue], Span]:
    def span_in(value: SortedSetValue) -> Span:
        count = len(value)
        low, high = rank_span(start, end, count)
        return (count - high, count - low) if reverse else (low, high)

    return span_in


def _by_score(low: bytes, high: bytes) -> Callable[[SortedSetValue], Span]:
    bounds = parse_score_bounds(low, high)
    return lambda value: value.span_of_scores(bounds)


def _by_member(low: bytes, high: bytes) -> Callable[[SortedSetValue], Span]:
    bounds = parse_lex_bounds(low, high)
    return lambda value: value.span_of_members(bounds)


def _answer(client: Client, argv: Request, form: _Form) -> bytes | LongReply:
    wanted = _parse(argv, 2, form)
    value = client.lookup_typed(argv[1], SortedSetValue)
    if value is None:
        return replies.EMPTY_ARRAY
    start, end = wanted.span_in(value)
    pairs = value.slice(start, end, reverse=wanted.reverse)
    return members_reply(pairs, end - start, client.resp, with_scores=wanted.with_scores)


# -- ZRANGE ------------------------------------------------------------------------------------


@command("ZRANGE", arity=-4, flags=READONLY, keys=_READS)
def zrange(client: Client, argv: Request) -> bytes | LongReply:
    """Array of members, with their scores if asked for. Source: Redis 7.2."""
    return _answer(client, argv, _Form())


@command(
    "ZRANGESTORE",
    arity=-5,
    flags=WRITE | DENYOOM,
    keys=two_keys((b"OW", b"UPDATE"), (b"RO", b"ACCESS")),
)
def zrangestore(client: Client, argv: Request) -> bytes:
    """Integer: how many were stored; with none, the destination is removed. Source: Redis 7.2."""
    wanted = _parse(argv, 3, _Form(), is_stored=True)
    value = client.lookup_typed(argv[2], SortedSetValue)
    start, end = (0, 0) if value is None else wanted.span_in(value)
    result = None
    if value is not None and start < end:
        result = value.copy_of_span(start, end, client.instance.encoding_limits)
    return store_result(client, argv[1], result, b"zrangestore")


def store_result(client: Client, key: bytes, result: SortedSetValue | None, event: bytes) -> bytes:
    """Store a result, which takes the place of what is at `key`; the number of its members.

    None, without members: the key is removed.
    """
    if result is not None:
        client.store(key, result)
        client.db.persist(key)
        client.modified(key)
        client.notify(notifications.SORTED_SET, event, key)
    else:
        delete(client, key)
    return replies.ZERO if result is None else replies.integer(len(result))


# -- the older forms ---------------------------------------------------------------------------


@command("ZREVRANGE", arity=-4, flags=READONLY, keys=_READS)
def zrevrange(client: Client, argv: Request) -> bytes | LongReply:
    """Array of members, the highest score first, with their scores if asked for."""
    return _answer(client, argv, _Form(RANK, reverse=True))


@command("ZRANGEBYSCORE", arity=-4, flags=READONLY, keys=_READS)
def zrangebyscore(client: Client, argv: Request) -> bytes | LongReply:
    """Array of members, with their scores if asked for."""
    return _answer(client, argv, _Form(SCORE, reverse=False))


@command("ZREVRANGEBYSCORE", arity=-4, flags=READONLY, keys=_READS)
def zrevrangebyscore(client: Client, argv: Request) -> bytes | LongReply:
    """Array of members, the highest score first, with their scores if asked for."""
    return _answer(client, argv, _Form(SCORE, reverse=True))


@command("ZRANGEBYLEX", arity=-4, flags=READONLY, keys=_READS)
def zrangebylex(client: Client, argv: Request) -> bytes | LongReply:
    """Array of members."""
    return _answer(client, argv, _Form(LEX, reverse=False))


@command("ZREVRANGEBYLEX", arity=-4, flags=READONLY, keys=_READS)
def zrevrangebylex(client: Client, argv: Request) -> bytes | LongReply:
    """Array of members, the last in lexicographical order first."""
    return _answer(client, argv, _Form(LEX, reverse=True))
