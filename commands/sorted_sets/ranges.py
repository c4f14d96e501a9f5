"""ZRANGE and the older commands that it replaces; ZUNION, ZINTER, ZDIFF; their STORE forms.

A range is by rank, by score or by member. Each comes down to a span of ranks, which is read from
its start or from its end.

Unions, intersections and differences take sets, too: each member of a set has the score 1. A
missing key counts as an empty set. Scores are multiplied with their key's weight, and the scores of
a member in several keys are combined by AGGREGATE, in the order of the keys' sizes, as in Redis:
the sum of floating-point numbers depends on the order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import cython

from commands.core import notifications
from commands.core.arguments import Arguments, parse_double
from commands.core.client import Client
from commands.core.long_reply import LongReply
from commands.core.registry import (
    DENYOOM,
    MOVABLE_KEYS,
    READONLY,
    WRITE,
    KeySpec,
    command,
    counted_keys,
    one_key,
    two_keys,
)
from commands.keys.existence import delete
from commands.sorted_sets.scores import (
    excludes,
    limited,
    members_reply,
    parse_lex_bounds,
    parse_rank,
    parse_score,
    rank_span,
)
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
from protocol.replies import EMPTY_ARRAY, ZERO
from protocol.request import Request
from storage.types.key_part import SCORED
from storage.types.records import (
    Record,
    RecordTable,
    make_record,
    member_of,
    score_of,
    sort_records,
)
from storage.types.sets import LexBounds, SetValue, SortedSetValue, Span

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
_REVERSE: cython.int = REVERSE

NO_LIMIT = -1
_NO_LIMIT: cython.long = NO_LIMIT

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
        return limited(start, end, self._offset, self._count, self.is_reverse == _REVERSE)


def _answer(
    client: Client, argv: Request, kind: cython.int, direction: cython.int
) -> bytes | LongReply:
    """The reply to a range whose ends are the second and third argument."""
    wanted: _Range = _Range(kind, direction)
    wanted.parse(argv.words(), 2, False)
    value: SortedSetValue | None = client.lookup_typed(argv.word(1), SortedSetValue)
    if value is None:
        return EMPTY_ARRAY
    start, end = wanted.span_in(value)
    records = value.records(start, end)
    if wanted.is_reverse:
        records.reverse()
    return members_reply(records, client.resp, wanted.with_scores)


# -- ZRANGE ------------------------------------------------------------------------------------


@command("ZRANGE", arity=-4, flags=READONLY, keys=_READS, is_quick=True)
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
    return ZERO if result is None else replies.integer(len(result))


# -- the older forms ---------------------------------------------------------------------------


@command("ZREVRANGE", arity=-4, flags=READONLY, keys=_READS, is_quick=True)
def zrevrange(client: Client, argv: Request) -> bytes | LongReply:
    """Array of members, the highest score first, with their scores if asked for."""
    return _answer(client, argv, RANKS, REVERSE)


@command("ZRANGEBYSCORE", arity=-4, flags=READONLY, keys=_READS, is_quick=True)
def zrangebyscore(client: Client, argv: Request) -> bytes | LongReply:
    """Array of members, with their scores if asked for."""
    return _answer(client, argv, SCORES, FORWARD)


@command("ZREVRANGEBYSCORE", arity=-4, flags=READONLY, keys=_READS, is_quick=True)
def zrevrangebyscore(client: Client, argv: Request) -> bytes | LongReply:
    """Array of members, the highest score first, with their scores if asked for."""
    return _answer(client, argv, SCORES, REVERSE)


@command("ZRANGEBYLEX", arity=-4, flags=READONLY, keys=_READS, is_quick=True)
def zrangebylex(client: Client, argv: Request) -> bytes | LongReply:
    """Array of members."""
    return _answer(client, argv, MEMBERS, FORWARD)


@command("ZREVRANGEBYLEX", arity=-4, flags=READONLY, keys=_READS, is_quick=True)
def zrevrangebylex(client: Client, argv: Request) -> bytes | LongReply:
    """Array of members, the last in lexicographical order first."""
    return _answer(client, argv, MEMBERS, REVERSE)


# The members of one propagated ZADD.
_MEMBERS_PER_REQUEST = 1000

_READ_KEYS = counted_keys(b"RO", b"ACCESS")
_STORE_KEYS = (
    KeySpec(begin=1, flags=(b"OW", b"UPDATE")),
    *counted_keys(b"RO", b"ACCESS", at=2),
)

# How the scores of a member are combined.
_SUM: cython.int = 0
_MIN: cython.int = 1
_MAX: cython.int = 2
_AGGREGATES = {b"SUM": 0, b"MIN": 1, b"MAX": 2, b"COUNT": 0}


@cython.cfunc
def _combined(aggregate: cython.int, total: cython.double, score: cython.double) -> cython.double:
    """The score so far and another one as one; 0 for a sum that is not a number."""
    if aggregate == _MIN:
        return score if score < total else total
    if aggregate == _MAX:
        return score if score > total else total
    total += score
    return 0.0 if total != total else total


@cython.cclass
class _Source:
    """The members and scores of one key, with its weight."""

    __slots__ = ("_plain", "_scored", "found", "is_counted", "size", "weight")

    def __init__(self, value: SortedSetValue | SetValue | None) -> None:
        self._scored = value if isinstance(value, SortedSetValue) else None
        self._plain = value if isinstance(value, SetValue) else None
        self.size = 0 if value is None else len(value)
        self.weight = self.found = 1.0
        self.is_counted = False  # AGGREGATE COUNT: the score does not matter

    def records(self) -> list[Record]:
        """Its members, with their weighted scores."""
        if self._plain is not None:
            return [make_record(self.weight, member) for member in self._plain.members()]
        if self._scored is None:
            return []
        records: list[Record] = self._scored.unordered()
        if self.weight == 1.0 and not self.is_counted:
            return records
        return [make_record(self._weighted(one), member_of(one)) for one in records]

    def find(self, member: bytes) -> cython.bint:
        """Return True if it has a member, whose weighted score, which may be NaN, is then in
        `found`.
        """
        self.found = self.weight
        if self._plain is not None:
            return member in self._plain
        if self._scored is None:
            return False
        record: bytes | None = self._scored.find(member)
        if record is None:
            return False
        if not self.is_counted:
            self.found *= score_of(record)
        return True

    def _weighted(self, record: Record) -> cython.double:
        """Score times weight; 0 if that is not a number."""
        if self.is_counted:
            return self.weight
        score: cython.double = self.weight * score_of(record)
        return 0.0 if score != score else score


@record
class _Request:
    """A request of ZUNION, ZINTER, ZDIFF and their relatives, parsed."""

    sources: list[_Source]
    aggregate: int = 0
    with_scores: bool = False
    limit: int = 0

    def by_size(self) -> list[_Source]:
        """The sources from the smallest to the largest."""
        return sorted(self.sources, key=lambda source: source.size)


Operation: TypeAlias = "Callable[[_Request], RecordTable]"


def union(request: _Request) -> RecordTable:
    """The members that any source has, with their scores."""
    found: RecordTable = RecordTable(SCORED)
    aggregate: cython.int = request.aggregate
    source: _Source
    record: bytes
    for source in request.by_size():
        found.reserve(source.size)
        for record in source.records():
            former: bytes | None = found.put(record)
            if former is not None:
                score: cython.double = _combined(aggregate, score_of(former), score_of(record))
                found.put(make_record(score, member_of(record)))
    return found


def intersection(request: _Request) -> RecordTable:
    """The members that all sources have, with their scores; at most the request's limit, unless
    that is 0.
    """
    found: RecordTable = RecordTable(SCORED)
    aggregate: cython.int = request.aggregate
    limit: cython.Py_ssize_t = request.limit
    smallest: _Source
    smallest, *others = request.by_size()
    other: _Source
    record: bytes
    for record in smallest.records():
        member: bytes = member_of(record)
        score: cython.double = score_of(record)
        for other in others:
            if not other.find(member):
                break
            score = _combined(aggregate, score, other.found)
        else:
            found.put(make_record(score, member))
            if limit and len(found) == limit:
                break
    return found


def difference(request: _Request) -> RecordTable:
    """The members that only the first source has."""
    found: RecordTable = RecordTable(SCORED)
    first: _Source
    first, *others = request.sources
    other: _Source
    record: bytes
    for record in first.records():
        member: bytes = member_of(record)
        for other in others:
            if other.find(member):
                break
        else:
            found.put(record)
    return found


# -- parsing -----------------------------------------------------------------------------------


@record
class _Options:
    """Which options a command takes."""

    weights: bool = False
    scores: bool = False
    limit: bool = False


def _parse(client: Client, argv: Request, at: int, takes: _Options) -> _Request:
    """The request whose number of keys is at `at`. Raises ReplyError; the keys come before the
    options, as in Redis."""
    arguments = Arguments(argv, at)
    count = arguments.next_int()
    if count < 1:
        raise errors.no_input_key(argv[0].lower())
    if count > arguments.remaining:
        raise ReplyError(errors.SYNTAX)
    sources = [_source(client, arguments.next()) for _ in range(count)]
    request = _Request(sources)
    while arguments:
        if takes.weights and arguments.remaining > count and arguments.take(b"WEIGHTS"):
            for source in sources:
                source.weight = parse_double(arguments.next(), errors.WEIGHT_NOT_A_FLOAT)
        elif takes.weights and arguments.remaining > 1 and arguments.take(b"AGGREGATE"):
            _parse_aggregate(arguments.next_keyword(), request)
        elif takes.scores and arguments.take(b"WITHSCORES"):
            request.with_scores = True
        elif takes.limit and arguments.remaining > 1 and arguments.take(b"LIMIT"):
            request.limit = arguments.next_int(errors.LIMIT_NEGATIVE, minimum=0)
        else:
            raise ReplyError(errors.SYNTAX)
    return request


def _parse_aggregate(word: bytes, request: _Request) -> None:
    if word not in _AGGREGATES:
        raise ReplyError(errors.SYNTAX)
    request.aggregate = _AGGREGATES[word]
    for source in request.sources:
        source.is_counted = word == b"COUNT"


def _source(client: Client, key: bytes) -> _Source:
    """Return the members and scores at a key. Raises WRONGTYPE."""
    value = client.lookup(key)
    if value is None:
        return _Source(None)
    if isinstance(value, (SortedSetValue, SetValue)):
        return _Source(value)
    raise ReplyError(errors.WRONG_TYPE)


# -- the members -------------------------------------------------------------------------------


@command("ZUNION", arity=-3, flags=READONLY | MOVABLE_KEYS, keys=_READ_KEYS)
def zunion(client: Client, argv: Request) -> bytes | LongReply:
    """Array of members, with their scores if asked for. Source: Redis 8.8."""
    return _members(client, argv, union, _Options(weights=True, scores=True))


@command("ZINTER", arity=-3, flags=READONLY | MOVABLE_KEYS, keys=_READ_KEYS)
def zinter(client: Client, argv: Request) -> bytes | LongReply:
    """Array of members, with their scores if asked for."""
    return _members(client, argv, intersection, _Options(weights=True, scores=True))


@command("ZDIFF", arity=-3, flags=READONLY | MOVABLE_KEYS, keys=_READ_KEYS)
def zdiff(client: Client, argv: Request) -> bytes | LongReply:
    """Array of members, with their scores if asked for."""
    return _members(client, argv, difference, _Options(scores=True))


def _members(
    client: Client, argv: Request, operation: Operation, takes: _Options
) -> bytes | LongReply:
    request = _parse(client, argv, 1, takes)
    records = operation(request).records()
    sort_records(records)
    return members_reply(records, client.resp, request.with_scores)


@command("ZINTERCARD", arity=-3, flags=READONLY | MOVABLE_KEYS, keys=_READ_KEYS)
def zintercard(client: Client, argv: Request) -> bytes:
    """Integer, at most LIMIT unless that is 0. Source: Redis 7.2."""
    return replies.integer(len(intersection(_parse(client, argv, 1, _Options(limit=True)))))


# -- stored ------------------------------------------------------------------------------------


@command("ZUNIONSTORE", arity=-4, flags=WRITE | DENYOOM | MOVABLE_KEYS, keys=_STORE_KEYS)
def zunionstore(client: Client, argv: Request) -> bytes:
    """Integer: how many were stored; with none, the destination is removed. Source: Redis 8.8."""
    request = _parse(client, argv, 2, _Options(weights=True))
    return _store_combined(client, argv[1], request, union(request), b"zunionstore")


@command("ZINTERSTORE", arity=-4, flags=WRITE | DENYOOM | MOVABLE_KEYS, keys=_STORE_KEYS)
def zinterstore(client: Client, argv: Request) -> bytes:
    """Integer: the number of members stored; with none, the destination is removed."""
    request = _parse(client, argv, 2, _Options(weights=True))
    return _store_combined(client, argv[1], request, intersection(request), b"zinterstore")


@command("ZDIFFSTORE", arity=-4, flags=WRITE | DENYOOM | MOVABLE_KEYS, keys=_STORE_KEYS)
def zdiffstore(client: Client, argv: Request) -> bytes:
    """Integer: the number of members stored; with none, the destination is removed."""
    found = difference(_parse(client, argv, 2, _Options()))
    return _store(client, argv[1], found, b"zdiffstore")


def _store_combined(
    client: Client, key: bytes, request: _Request, found: RecordTable, event: bytes
) -> bytes:
    """Store a result. With AGGREGATE COUNT, which Redis before 8.8 does not know, it is propagated
    as members and scores."""
    had_key = key in client.db
    reply = _store(client, key, found, event)
    if request.sources[0].is_counted and client.instance.propagation.sinks:
        if had_key:
            client.propagate(b"DEL", key)
        records = found.records()
        for start in range(0, len(records), _MEMBERS_PER_REQUEST):
            words: list[bytes] = []
            for record in records[start : start + _MEMBERS_PER_REQUEST]:
                words += (replies.format_double(score_of(record)), member_of(record))
            client.propagate(b"ZADD", key, *words)
    return reply


def _store(client: Client, target: bytes, found: RecordTable, event: bytes) -> bytes:
    limits = client.instance.encoding_limits
    result = SortedSetValue.of_table(found, limits) if len(found) else None
    return store_result(client, target, result, event)
