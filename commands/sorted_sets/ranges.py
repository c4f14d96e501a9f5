"""ZRANGE in all its forms, the older commands that it replaces, and ZRANGESTORE.

A range is by rank, by score or by member. Each comes down to a span of ranks, which is read from
its start or from its end.
"""

from __future__ import annotations

import cython

from commands.core import notifications
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
    rank_span,
)
from commands.sorted_sets.pairs import members_reply
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from storage.types.sets import LexBounds, SortedSetValue, Span

# What a range is of, and whether it is read from its end; OPEN: an option of the request decides.
RANKS = 0
SCORES = 1
MEMBERS = 2
FORWARD = 0
REVERSE = 1
OPEN = -1
_RANKS: cython.int = RANKS
_SCORES: cython.int = SCORES
_MEMBERS: cython.int = MEMBERS
_OPEN: cython.int = OPEN

NO_LIMIT = -1
_NO_LIMIT: cython.longlong = NO_LIMIT

_READS = one_key(b"RO", b"ACCESS")


@cython.cclass
class _Range:
    """A range: its kind and direction, its ends, and the options."""

    __slots__ = (
        "_count", "_excludes_high", "_excludes_low", "_first", "_high", "_kind", "_last", "_low",
        "_members", "_offset", "is_reverse", "with_scores",
    )  # fmt: skip

    def __init__(self, kind: cython.int, direction: cython.int) -> None:
        self._kind = kind
        self.is_reverse = direction
        self._offset = 0
        self._count = NO_LIMIT
        self.with_scores = False

    def parse(self, words: list[bytes], at: cython.Py_ssize_t, is_stored: cython.bint) -> None:
        """Parse the ends, which are at `at`, and the options after them. Raises ReplyError."""
        self._parse_options(words, at + 2, is_stored)
        if self._count != _NO_LIMIT and self._kind == _RANKS:
            raise ReplyError(errors.LIMIT_BY_RANK)
        if self.with_scores and self._kind == _MEMBERS:
            raise ReplyError(errors.WITHSCORES_BY_LEX)
        low, high = words[at], words[at + 1]
        if self._kind == _RANKS:
            self._first, self._last = parse_rank(low), parse_rank(high)
            return
        if self.is_reverse:
            low, high = high, low
        if self._kind == _MEMBERS:
            self._members: LexBounds = parse_lex_bounds(low, high)
            return
        self._low, self._high = parse_score(low), parse_score(high)
        self._excludes_low, self._excludes_high = excludes(low), excludes(high)

    def _parse_options(
        self, words: list[bytes], at: cython.Py_ssize_t, is_stored: cython.bint
    ) -> None:
        end: cython.Py_ssize_t = len(words)
        has_open_kind: cython.bint = self._kind == _OPEN
        has_open_direction: cython.bint = self.is_reverse == _OPEN
        self._kind = RANKS if has_open_kind else self._kind
        self.is_reverse = FORWARD if has_open_direction else self.is_reverse
        while at < end:
            word = words[at].upper()
            at += 1
            if word == b"WITHSCORES" and not is_stored:
                self.with_scores = True
            elif word == b"LIMIT" and end - at > 1:
                self._offset, self._count = parse_rank(words[at]), parse_rank(words[at + 1])
                at += 2
            elif word == b"REV" and has_open_direction:
                has_open_direction = False
                self.is_reverse = REVERSE
            elif word in (b"BYSCORE", b"BYLEX") and has_open_kind:
                has_open_kind = False
                self._kind = SCORES if word == b"BYSCORE" else MEMBERS
            else:
                raise ReplyError(errors.SYNTAX)

    def span_in(self, value: SortedSetValue) -> Span:
        """The ranks of the range in a sorted set."""
        start: cython.Py_ssize_t
        end: cython.Py_ssize_t
        if self._kind == _RANKS:
            count: cython.Py_ssize_t = len(value)
            start, end = rank_span(self._first, self._last, count)
            return (count - end, count - start) if self.is_reverse else (start, end)
        if self._kind == _SCORES:
            start = value.rank_from(self._low, self._excludes_low)
            end = value.rank_from(self._high, not self._excludes_high)
        else:
            start, end = value.span_of_members(self._members)
        if start >= end:
            return 0, 0
        if self._count == _NO_LIMIT and not self._offset:
            return start, end
        return limited((start, end), self._offset, self._count, reverse=self.is_reverse == REVERSE)


def _answer(
    client: Client, argv: Request, kind: cython.int, direction: cython.int
) -> bytes | LongReply:
    """The reply to a range whose ends are the second and third argument."""
    wanted: _Range = _Range(kind, direction)
    wanted.parse(argv.words(), 2, False)
    value: SortedSetValue | None = client.lookup_typed(argv.word(1), SortedSetValue)
    if value is None:
        return replies.EMPTY_ARRAY
    start, end = wanted.span_in(value)
    records = value.records(start, end)
    if wanted.is_reverse:
        records.reverse()
    return members_reply(records, client.resp, with_scores=wanted.with_scores)


# -- ZRANGE ------------------------------------------------------------------------------------


@command("ZRANGE", arity=-4, flags=READONLY, keys=_READS)
def zrange(client: Client, argv: Request) -> bytes | LongReply:
    """Array of members, with their scores if asked for. Source: Redis 7.2."""
    return _answer(client, argv, OPEN, OPEN)


@command(
    "ZRANGESTORE",
    arity=-5,
    flags=WRITE | DENYOOM,
    keys=two_keys((b"OW", b"UPDATE"), (b"RO", b"ACCESS")),
)
def zrangestore(client: Client, argv: Request) -> bytes:
    """Integer: how many were stored; with none, the destination is removed. Source: Redis 7.2."""
    wanted: _Range = _Range(OPEN, OPEN)
    wanted.parse(argv.words(), 3, True)
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
    return _answer(client, argv, RANKS, REVERSE)


@command("ZRANGEBYSCORE", arity=-4, flags=READONLY, keys=_READS)
def zrangebyscore(client: Client, argv: Request) -> bytes | LongReply:
    """Array of members, with their scores if asked for."""
    return _answer(client, argv, SCORES, FORWARD)


@command("ZREVRANGEBYSCORE", arity=-4, flags=READONLY, keys=_READS)
def zrevrangebyscore(client: Client, argv: Request) -> bytes | LongReply:
    """Array of members, the highest score first, with their scores if asked for."""
    return _answer(client, argv, SCORES, REVERSE)


@command("ZRANGEBYLEX", arity=-4, flags=READONLY, keys=_READS)
def zrangebylex(client: Client, argv: Request) -> bytes | LongReply:
    """Array of members."""
    return _answer(client, argv, MEMBERS, FORWARD)


@command("ZREVRANGEBYLEX", arity=-4, flags=READONLY, keys=_READS)
def zrevrangebylex(client: Client, argv: Request) -> bytes | LongReply:
    """Array of members, the last in lexicographical order first."""
    return _answer(client, argv, MEMBERS, REVERSE)
