"""ZRANGE in all its forms, the older commands that it replaces, and ZRANGESTORE.

A range is by rank, by score or by member. Each comes down to a span of ranks, which is read from
its start or from its end.
"""

from __future__ import annotations

from collections.abc import Callable

import cython

from commands.core.arguments import Arguments
from commands.core.client import Client
from commands.core.long_reply import LongReply
from commands.core.registry import DENYOOM, READONLY, WRITE, command, one_key, two_keys
from commands.keys.existence import delete
from commands.sorted_sets.bounds import (
    excludes,
    limited,
    parse_lex_bounds,
    parse_rank,
    parse_score,
    parse_score_bounds,
    rank_span,
)
from commands.sorted_sets.pairs import members_reply
from commands.state import notifications
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
from protocol.request import Request
from storage.types.scored.record import Record
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
            _by_rank(parse_rank(first), parse_rank(second), reverse), reverse, form.with_scores
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
    return lambda value: _span_of_ranks(value, start, end, reverse)


def _span_of_ranks(
    value: SortedSetValue, start: cython.longlong, end: cython.longlong, reverse: cython.bint
) -> Span:
    count: cython.Py_ssize_t = len(value)
    low, high = rank_span(start, end, count)
    return (count - high, count - low) if reverse else (low, high)


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
    return _reply(client, value.records(start, end), wanted.reverse, wanted.with_scores)


def _reply(
    client: Client, records: list[Record], reverse: cython.bint, with_scores: cython.bint
) -> bytes | LongReply:
    """The records of a span; `reverse`: from its end. It takes over the list."""
    if reverse:
        records.reverse()
    return members_reply(records, client.resp, with_scores=with_scores)


# -- without options: most ranges --------------------------------------------------------------


def _ranks(client: Client, argv: Request, reverse: cython.bint) -> bytes | LongReply:
    """Members from one rank to another one."""
    first: cython.longlong = parse_rank(argv.word(2))
    last: cython.longlong = parse_rank(argv.word(3))
    value: SortedSetValue | None = client.lookup_typed(argv.word(1), SortedSetValue)
    if value is None:
        return replies.EMPTY_ARRAY
    start, end = _span_of_ranks(value, first, last, reverse)
    return _reply(client, value.records(start, end), reverse, False)


def _scores(client: Client, argv: Request, reverse: cython.bint) -> bytes | LongReply:
    """Members between two scores."""
    low, high = argv.word(2), argv.word(3)
    if reverse:
        low, high = high, low
    low_score: cython.double = parse_score(low)
    high_score: cython.double = parse_score(high)
    value: SortedSetValue | None = client.lookup_typed(argv.word(1), SortedSetValue)
    if value is None:
        return replies.EMPTY_ARRAY
    start: cython.Py_ssize_t = value.rank_from(low_score, excludes(low))
    # An empty range may end before it begins.
    end: cython.Py_ssize_t = value.rank_from(high_score, not excludes(high))
    return _reply(client, value.records(start, end), reverse, False)


# -- ZRANGE ------------------------------------------------------------------------------------


@command("ZRANGE", arity=-4, flags=READONLY, keys=_READS)
def zrange(client: Client, argv: Request) -> bytes | LongReply:
    """Array of members, with their scores if asked for. Source: Redis 7.2."""
    return _ranks(client, argv, False) if argv.count == 4 else _answer(client, argv, _Form())


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
    if argv.count == 4:
        return _ranks(client, argv, True)
    return _answer(client, argv, _Form(RANK, reverse=True))


@command("ZRANGEBYSCORE", arity=-4, flags=READONLY, keys=_READS)
def zrangebyscore(client: Client, argv: Request) -> bytes | LongReply:
    """Array of members, with their scores if asked for."""
    if argv.count == 4:
        return _scores(client, argv, False)
    return _answer(client, argv, _Form(SCORE, reverse=False))


@command("ZREVRANGEBYSCORE", arity=-4, flags=READONLY, keys=_READS)
def zrevrangebyscore(client: Client, argv: Request) -> bytes | LongReply:
    """Array of members, the highest score first, with their scores if asked for."""
    if argv.count == 4:
        return _scores(client, argv, True)
    return _answer(client, argv, _Form(SCORE, reverse=True))


@command("ZRANGEBYLEX", arity=-4, flags=READONLY, keys=_READS)
def zrangebylex(client: Client, argv: Request) -> bytes | LongReply:
    """Array of members."""
    return _answer(client, argv, _Form(LEX, reverse=False))


@command("ZREVRANGEBYLEX", arity=-4, flags=READONLY, keys=_READS)
def zrevrangebylex(client: Client, argv: Request) -> bytes | LongReply:
    """Array of members, the last in lexicographical order first."""
    return _answer(client, argv, _Form(LEX, reverse=True))
