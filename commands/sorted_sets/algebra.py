"""ZUNION, ZINTER, ZDIFF, with their STORE forms, and ZINTERCARD: several keys made into one.

The keys may hold sets, too: each member of a set has the score 1. A missing key counts as an empty
set. Scores are multiplied with their key's weight, and the scores of a member in several keys are
combined by AGGREGATE, in the order of the keys' sizes, as in Redis: the sum of floating-point
numbers depends on the order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import filterfalse, islice
from operator import add
from typing import TypeAlias

from commands.core.arguments import Arguments
from commands.core.client import Client
from commands.core.floats import parse_double
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
from storage.types.sets import SetValue
from storage.types.sorted_sets import SortedSetValue

Scores: TypeAlias = "dict[bytes, float]"
Aggregate: TypeAlias = "Callable[[float, float], float]"

# The members of one propagated ZADD.
_MEMBERS_PER_REQUEST = 1000

_READ_KEYS = counted_keys(b"RO", b"ACCESS")
_STORE_KEYS = (
    KeySpec(begin=1, flags=(b"OW", b"UPDATE")),
    *counted_keys(b"RO", b"ACCESS", at=2),
)


def _sum(total: float, score: float) -> float:
    """The sum; 0 for the sum of opposite infinities, which is NaN."""
    total += score
    return 0.0 if total != total else total


_AGGREGATES: dict[bytes, Aggregate] = {b"SUM": _sum, b"MIN": min, b"MAX": max, b"COUNT": add}


@record
class _Source:
    """The members and scores of one key, with its weight."""

    table: Mapping[bytes, object] | SetValue  # its members
    scores: Mapping[bytes, float] | None = None  # None: all are 1, as those of a set
    weight: float = 1.0
    is_counted: bool = False  # AGGREGATE COUNT: the score does not matter

    def scores_of(self, members: Iterable[bytes]) -> Iterator[float]:
        """The weighted scores of some of its members; 0 for one that would be NaN."""
        weight = self.weight
        if self.scores is None or self.is_counted:
            return (weight for _ in members)
        scores = map(self.scores.__getitem__, members)
        if weight == 1.0:
            return scores
        weighted = (weight * score for score in scores)
        return (0.0 if score != score else score for score in weighted)


@record
class _Request:
    """A request of ZUNION, ZINTER, ZDIFF and their relatives, parsed."""

    sources: list[_Source]
    aggregate: Aggregate = _sum
    with_scores: bool = False
    limit: int = 0

    def by_size(self) -> list[_Source]:
        """The sources from the smallest to the largest."""
        return sorted(self.sources, key=lambda source: len(source.table))


Operation: TypeAlias = "Callable[[_Request], Scores]"


def union(request: _Request) -> Scores:
    """The members that any source has, with their scores."""
    found: Scores = {}
    aggregate = request.aggregate
    for source in request.by_size():
        for member, score in zip(source.table, source.scores_of(source.table), strict=True):
            old = found.get(member)
            found[member] = score if old is None else aggregate(old, score)
    return found


def common(request: _Request) -> list[bytes]:
    """The members that all sources have; at most the request's limit, unless that is 0."""
    smallest, *others = request.by_size()
    members = iter(smallest.table)
    for other in others:
        members = filter(other.table.__contains__, members)
    return list(islice(members, request.limit or None))


def intersection(request: _Request) -> Scores:
    """The members that all sources have, with their scores."""
    members = common(request)
    smallest, *others = request.by_size()
    scores = smallest.scores_of(members)
    for other in others:
        scores = map(request.aggregate, scores, other.scores_of(members))
    return dict(zip(members, scores, strict=True))


def difference(request: _Request) -> Scores:
    """The members that only the first source has."""
    first, *others = request.sources
    members = iter(first.table)
    for other in others:
        members = filterfalse(other.table.__contains__, members)
    found = list(members)
    return dict(zip(found, first.scores_of(found), strict=True))


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
        return _Source({})
    if isinstance(value, SortedSetValue):
        return _Source(value.scores(), value.scores())
    if isinstance(value, SetValue):
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
    found = operation(request)
    pairs = sorted(zip(found.values(), found, strict=True))
    return members_reply(pairs, len(pairs), client.resp, with_scores=request.with_scores)


@command("ZINTERCARD", arity=-3, flags=READONLY | MOVABLE_KEYS, keys=_READ_KEYS)
def zintercard(client: Client, argv: Request) -> bytes:
    """Integer, at most LIMIT unless that is 0. Source: Redis 7.2."""
    return replies.integer(len(common(_parse(client, argv, 1, _Options(limit=True)))))


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
    client: Client, key: bytes, request: _Request, found: Scores, event: bytes
) -> bytes:
    """Store a result. With AGGREGATE COUNT, which Redis before 8.8 does not know, it is propagated
    as members and scores."""
    had_key = key in client.db
    reply = _store(client, key, found, event)
    if request.sources[0].is_counted and client.instance.propagation.sinks:
        if had_key:
            client.propagate(b"DEL", key)
        members = list(found)
        for start in range(0, len(members), _MEMBERS_PER_REQUEST):
            part = members[start : start + _MEMBERS_PER_REQUEST]
            words = [word for one in part for word in (replies.format_double(found[one]), one)]
            client.propagate(b"ZADD", key, *words)
    return reply


def _store(client: Client, target: bytes, found: Scores, event: bytes) -> bytes:
    result = SortedSetValue.of(found, client.instance.encoding_limits) if found else None
    return store_result(client, target, result, event)
