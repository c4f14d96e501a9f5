"""ZUNION, ZINTER, ZDIFF, with their STORE forms, and ZINTERCARD: several keys made into one.

The keys may hold sets, too: each member of a set has the score 1. A missing key counts as an empty
set. Scores are multiplied with their key's weight, and the scores of a member in several keys are
combined by AGGREGATE, in the order of the keys' sizes, as in Redis: the sum of floating-point
numbers depends on the order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import cython

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
)
from commands.sorted_sets.pairs import members_reply
from commands.sorted_sets.ranges import store_result
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
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
from storage.types.sets import SetValue, SortedSetValue

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
    return members_reply(records, client.resp, with_scores=request.with_scores)


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
