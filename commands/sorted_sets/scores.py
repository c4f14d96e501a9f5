"""ZADD, ZSCORE, ZRANK, ZCOUNT, ZREM, ZPOPMIN ...; bounds of ranges, and members in replies.

Bounds are scores `1`, `(1`, `-inf`, members `[a`, `(a`, `-`, `+`, or ranks. Members and scores are
encoded straight from records to RESP.
"""

from __future__ import annotations

from functools import partial

import cython

from commands.core import notifications
from commands.core.arguments import (
    Arguments,
    parse_double,
    parse_int,
    parse_loose_double,
    quick_double,
)
from commands.core.client import Client
from commands.core.long_reply import LongReply, sliced
from commands.core.registry import DENYOOM, FAST, READONLY, WRITE, command, one_key
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import frozen_record
from protocol.replies import EMPTY_ARRAY, NIL, NIL_ARRAY, ONE, ZERO
from protocol.request import Request
from storage.keyspace.deferred_free import NO_WASTE
from storage.types.records import Record, make_record, member_of, score_of
from storage.types.sets import LexBounds, ScoreBounds, SortedSetValue, Span

# A reply of more members is sent in pieces of this many.
MANY_MEMBERS = 10_000
MEMBERS_PER_PIECE = 500


def score_or_nil(record: Record | None, resp: cython.int) -> bytes:
    """The score of a record, null for None."""
    return NIL[resp] if record is None else replies.double(score_of(record), resp)


def flat_pair(record: Record, resp: cython.int) -> bytes:
    """A member and its score, one after the other."""
    return replies.bulk(member_of(record)) + replies.double(score_of(record), resp)


def nested_pair(record: Record, resp: cython.int) -> bytes:
    """An array of a member and its score."""
    return b"*2\r\n" + flat_pair(record, resp)


def members_reply(
    records: list[Record], resp: cython.int, with_scores: cython.bint = False
) -> bytes | LongReply:
    """An array of members. With scores it is flat in RESP2, and of arrays in RESP3.

    In pieces if there are many; then it takes over the list.
    """
    count: cython.Py_ssize_t = len(records)
    header = replies.array_header(2 * count if with_scores and resp == 2 else count)
    if count > MANY_MEMBERS:
        encode = partial(encoded, resp=resp, with_scores=with_scores)
        return LongReply(sliced(header, records, MEMBERS_PER_PIECE, encode))
    return encoded(records, resp, with_scores, header)


def encoded(
    records: list[Record], resp: cython.int, with_scores: cython.bint, header: bytes = b""
) -> bytes:
    """The items of an array of members, after its header."""
    if cython.compiled:
        return make_members(header, records, resp if with_scores else 0)  # type: ignore[name-defined, no-any-return]  # noqa: F821
    if not with_scores:
        return header + b"".join([replies.bulk(member_of(record)) for record in records])
    encode = nested_pair if resp == 3 else flat_pair
    return header + b"".join([encode(record, resp) for record in records])


# Up to this many digits a number is read without an object.
_FEW_DIGITS: cython.Py_ssize_t = 9
_ZERO: cython.int = ord("0")
_EVENTS: cython.long = notifications.SORTED_SET

_LOWEST = b"-"
_HIGHEST = b"+"


def parse_score_bounds(low: bytes, high: bytes) -> ScoreBounds:
    """Raises ReplyError."""
    low_score, excludes_low = _parse_score(low)
    high_score, excludes_high = _parse_score(high)
    return ScoreBounds(low_score, high_score, excludes_low, excludes_high)


def _parse_score(text: bytes) -> tuple[float, bool]:
    return parse_score(text), excludes(text)


def parse_score(text: bytes) -> cython.double:
    """The score of a bound of a range. Raises ReplyError."""
    start: cython.Py_ssize_t = excludes(text)
    quick: cython.double = quick_double(text, start)
    if quick == quick:
        return quick
    score = parse_loose_double(text[start:])
    if score is None:
        raise ReplyError(errors.BOUNDS_NOT_FLOATS)
    return score


def excludes(text: bytes) -> cython.bint:
    """Return True if a bound of a range of scores is not itself within the range."""
    return text.startswith(b"(")


@cython.boundscheck(False)
@cython.wraparound(False)
def parse_rank(text: bytes) -> cython.long:
    """A rank, negative from the end. Raises ReplyError."""
    length: cython.Py_ssize_t = len(text)
    if 0 < length <= _FEW_DIGITS:
        data: cython.p_const_uchar = text
        rank: cython.long = 0
        place: cython.Py_ssize_t = 0
        while place < length and 0 <= data[place] - _ZERO <= 9:
            rank = 10 * rank + data[place] - _ZERO
            place += 1
        if place == length and (data[0] != _ZERO or length == 1):
            return rank
    return parse_int(text)


def parse_lex_bounds(low: bytes, high: bytes) -> LexBounds:
    """Raises ReplyError."""
    low_member, excludes_low = _parse_member(low)
    high_member, excludes_high = _parse_member(high)
    is_empty = low == _HIGHEST or high == _LOWEST
    if low_member is not None and high_member is not None:
        is_open = excludes_low or excludes_high
        is_empty |= low_member > high_member or (low_member == high_member and is_open)
    return LexBounds(low_member, high_member, excludes_low, excludes_high, is_empty)


def _parse_member(text: bytes) -> tuple[bytes | None, bool]:
    if text in (_LOWEST, _HIGHEST):
        return None, False
    if text[:1] not in (b"(", b"[") or not text:
        raise ReplyError(errors.BOUNDS_NOT_STRINGS)
    return text[1:], text[:1] == b"("


def rank_span(start: cython.long, end: cython.long, count: cython.Py_ssize_t) -> Span:
    """The ranks from `start` to `end`, both included and negative from the end, of `count`."""
    if start < 0:
        start = start + count if start + count > 0 else 0
    if end < 0:
        end += count
    elif end >= count:
        end = count - 1
    if start > end:
        return 0, 0
    return start, end + 1


def limited(
    start: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    offset: cython.long,
    count: cython.long,
    reverse: cython.bint,
) -> Span:
    """Apply LIMIT to a span; a negative `count` is no limit, a negative `offset` gives no ranks.

    `reverse`: the span is read from its end.
    """
    if offset < 0 or offset >= end - start:
        return 0, 0
    size: cython.Py_ssize_t = end - start - offset
    if 0 <= count < size:
        size = count
    if reverse:
        return end - offset - size, end - offset
    return start + offset, start + offset + size


@command("ZSCORE", arity=3, flags=READONLY | FAST, keys=one_key(b"RO", b"ACCESS"))
def zscore(client: Client, argv: Request) -> bytes:
    """The score, or null. Source: Redis 7.2."""
    value: SortedSetValue | None = client.lookup_typed(argv.word(1), SortedSetValue)
    return score_or_nil(None if value is None else value.find(argv.word(2)), client.resp)


@command("ZMSCORE", arity=-3, flags=READONLY | FAST, keys=one_key(b"RO", b"ACCESS"))
def zmscore(client: Client, argv: Request) -> bytes:
    """Array of scores, null for a member that is not there. Source: Redis 7.2."""
    value = client.lookup_typed(argv[1], SortedSetValue)
    records = [None if value is None else value.find(member) for member in argv[2:]]
    return replies.array([score_or_nil(record, client.resp) for record in records])


@command("ZRANK", arity=-3, flags=READONLY | FAST, keys=one_key(b"RO", b"ACCESS"))
def zrank(client: Client, argv: Request) -> bytes:
    """Integer, or null; with WITHSCORE an array of it and the score. Source: Redis 7.2."""
    return _rank(client, argv, reverse=False)


@command("ZREVRANK", arity=-3, flags=READONLY | FAST, keys=one_key(b"RO", b"ACCESS"))
def zrevrank(client: Client, argv: Request) -> bytes:
    """Integer: the rank from the top, or null; with WITHSCORE an array of it and the score."""
    return _rank(client, argv, reverse=True)


def _rank(client: Client, argv: Request, *, reverse: bool) -> bytes:
    key, member = argv[1:3]
    if len(argv) > 4:
        raise errors.wrong_arity(argv[0].lower())
    with_score = len(argv) == 4
    if with_score and argv[3].upper() != b"WITHSCORE":
        raise ReplyError(errors.SYNTAX)
    value = client.lookup_typed(key, SortedSetValue)
    rank = None if value is None else value.rank(member)
    if value is None or rank is None:
        return (NIL_ARRAY if with_score else NIL)[client.resp]
    if reverse:
        rank = len(value) - 1 - rank
    if not with_score:
        return replies.integer(rank)
    return replies.array([replies.integer(rank), score_or_nil(value.find(member), client.resp)])


@command("ZCARD", arity=2, flags=READONLY | FAST, keys=one_key(b"RO"))
def zcard(client: Client, argv: Request) -> bytes:
    """Integer; 0 without the key. Source: Redis 7.2."""
    value = client.lookup_typed(argv[1], SortedSetValue)
    return replies.integer(0 if value is None else len(value))


@command("ZCOUNT", arity=4, flags=READONLY | FAST, keys=one_key(b"RO", b"ACCESS"))
def zcount(client: Client, argv: Request) -> bytes:
    """Integer. Source: Redis 7.2."""
    bounds = parse_score_bounds(argv[2], argv[3])
    value = client.lookup_typed(argv[1], SortedSetValue)
    return _length((0, 0) if value is None else value.span_of_scores(bounds))


@command("ZLEXCOUNT", arity=4, flags=READONLY | FAST, keys=one_key(b"RO", b"ACCESS"))
def zlexcount(client: Client, argv: Request) -> bytes:
    """Integer. Source: Redis 7.2."""
    bounds = parse_lex_bounds(argv[2], argv[3])
    value = client.lookup_typed(argv[1], SortedSetValue)
    return _length((0, 0) if value is None else value.span_of_members(bounds))


def _length(span: Span) -> bytes:
    start, end = span
    return replies.integer(end - start)


_FLAGS = frozenset((b"NX", b"XX", b"GT", b"LT", b"CH", b"INCR"))


@cython.cclass
class _Addition:
    """A request of ZADD: its flags, and the scores of the words after them."""

    __slots__ = (
        "added", "counts_changes", "is_increment", "only_greater", "only_less",
        "only_new", "only_old", "scores", "updated",
    )  # fmt: skip

    def __init__(self, flags: set[bytes], scores: list[float]) -> None:
        self.scores = scores
        self.only_new = b"NX" in flags
        self.only_old = b"XX" in flags
        self.only_greater = b"GT" in flags
        self.only_less = b"LT" in flags
        self.counts_changes = b"CH" in flags
        self.is_increment = b"INCR" in flags
        self.added = 0
        self.updated = 0

    def new_record(
        self, member: bytes, score: cython.double, former: Record | None
    ) -> Record | None:
        """The record that a member whose record is `former` would get; None: it does not change.

        Raises ReplyError if its score would be NaN.
        """
        if former is None:
            return None if self.only_old else make_record(score, member)
        if self.only_new:
            return None
        old: cython.double = score_of(former)
        if self.is_increment:
            score += old
            if score != score:
                raise ReplyError(errors.SCORE_IS_NAN)
        if (self.only_greater and score <= old) or (self.only_less and score >= old):
            return None
        return make_record(score, member)


@command("ZADD", arity=-4, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"UPDATE"))
def zadd(client: Client, argv: Request) -> bytes:
    """Integer: how many were added, with CH also those whose score has changed; with INCR the new
    score, or null if a condition did not hold. Source: Redis 7.2."""
    if argv.count == 4:
        text = argv.word(2)
        score: cython.double = quick_double(text, 0)
        if score == score or text.upper() not in _FLAGS:
            if score != score:
                score = parse_double(text)
            return _add_one(client, argv.word(1), score, argv.word(3))
    arguments = Arguments(argv, 2)
    request = _parse(arguments)
    return _add(client, argv[1], request, arguments.argv, arguments.position)


@command(
    "ZINCRBY", arity=4, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"ACCESS", b"UPDATE")
)
def zincrby(client: Client, argv: Request) -> bytes:
    """The new score. Source: Redis 7.2."""
    request = _Addition({b"INCR"}, [parse_double(argv[2])])
    return _add(client, argv[1], request, argv.words(), 2)


def _parse(arguments: Arguments) -> _Addition:
    """The request; the cursor is left at the first score. Raises ReplyError."""
    flags: set[bytes] = set()
    while arguments.peek() in _FLAGS:
        flags.add(arguments.next_keyword())
    count, is_odd = divmod(arguments.remaining, 2)
    if is_odd or not count:
        raise ReplyError(errors.SYNTAX)
    if {b"NX", b"XX"} <= flags:
        raise ReplyError(errors.ZADD_NX_WITH_XX)
    if len(flags & {b"NX", b"GT", b"LT"}) > 1:
        raise ReplyError(errors.ZADD_GT_LT_NX)
    if b"INCR" in flags and count > 1:
        raise ReplyError(errors.ZADD_INCR_SEVERAL)
    words = arguments.argv[arguments.position :: 2]
    return _Addition(flags, [parse_double(word) for word in words])


def _add_one(client: Client, key: bytes, score: cython.double, member: bytes) -> bytes:
    """`_add` of one member without flags."""
    limits = client.instance.encoding_limits
    value: SortedSetValue | None = client.lookup_typed_for_write(key, SortedSetValue)
    if value is None:
        value = SortedSetValue.sized(1, len(member), limits)
        client.store(key, value)
    else:
        value.expect(1, limits)
    former: bytes | None = value.find(member)
    if former is None or score_of(former) != score:
        value.put(make_record(score, member), former, limits)
        client.modified(key)
        client.notify(_EVENTS, b"zadd", key)
    return ONE if former is None else ZERO


def _add(
    client: Client, key: bytes, request: _Addition, words: list[bytes], at: cython.Py_ssize_t
) -> bytes:
    """Add the members after their scores, which begin at `at`. Raises ReplyError."""
    value: SortedSetValue | None = client.lookup_typed_for_write(key, SortedSetValue)
    if value is None and request.only_old:
        return NIL[client.resp] if request.is_increment else ZERO
    limits = client.instance.encoding_limits
    if value is None:
        value = SortedSetValue.sized(len(request.scores), len(words[at + 1]), limits)
        client.store(key, value)
    else:
        value.expect(len(request.scores), limits)
    last = _set_all(client, value, request, words, at)
    changes = request.added + request.updated
    if changes:
        client.modified(key, changes)
        event = b"zincr" if request.is_increment else b"zadd"
        client.notify(_EVENTS, event, key)
    if request.is_increment:
        return score_or_nil(last, client.resp)
    return replies.integer(changes if request.counts_changes else request.added)


def _set_all(
    client: Client,
    value: SortedSetValue,
    request: _Addition,
    words: list[bytes],
    at: cython.Py_ssize_t,
) -> Record | None:
    """Set the scores; what the last member got, None if a condition did not hold.

    Raises ReplyError.
    """
    limits = client.instance.encoding_limits
    new: bytes | None = None
    scores: list[float] = request.scores
    place: cython.Py_ssize_t
    if len(scores) > 1 and not len(value):  # a new one, of which a file has many
        records = [make_record(scores[i], words[at + 1 + 2 * i]) for i in range(len(scores))]
        new = records[len(records) - 1]
        if value.fill(records, limits):
            request.added = len(scores)
            return new
    for place in range(len(scores)):
        member: bytes = words[at + 1 + 2 * place]
        former: bytes | None = value.find(member)
        new = request.new_record(member, scores[place], former)
        if new is None or (former is not None and score_of(new) == score_of(former)):
            continue  # -0 stays what it is, though a reply says 0
        value.put(new, former, limits)
        if former is None:
            request.added += 1
        else:
            request.updated += 1
    return new


@command("ZREM", arity=-3, flags=WRITE | FAST, keys=one_key(b"RW", b"DELETE"))
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
    return removed_reply(client, key, value, removed, b"zrem")


def removed_reply(
    client: Client, key: bytes, value: SortedSetValue, count: cython.Py_ssize_t, event: bytes
) -> bytes:
    """Report that `count` members were removed, and remove the key with the last of them."""
    if count:
        client.modified(key, count)
        client.notify(_EVENTS, event, key)
        _remove_if_empty(client, key, value)
    return replies.integer(count)


def _remove_if_empty(client: Client, key: bytes, value: SortedSetValue) -> None:
    """Remove the key of a sorted set that has just lost its last member."""
    if not len(value):
        client.remove(key)
        client.notify(notifications.GENERIC, b"del", key)


@frozen_record
class End:
    """The end of a sorted set that is popped from."""

    command: bytes
    event: bytes
    reverse: bool


LOWEST = End(b"ZPOPMIN", b"zpopmin", reverse=False)
HIGHEST = End(b"ZPOPMAX", b"zpopmax", reverse=True)


def pop_members(
    client: Client, key: bytes, value: SortedSetValue, count: cython.Py_ssize_t, end: End
) -> list[Record]:
    """Remove up to `count` members, at least one, and report that; what they were."""
    size: cython.Py_ssize_t = len(value)
    from_top: cython.bint = end.reverse
    start: cython.Py_ssize_t = max(size - count, 0) if from_top else 0
    stop: cython.Py_ssize_t = size if from_top else min(count, size)
    popped: list[Record] = value.records(start, stop)
    if from_top:
        popped.reverse()
    removed_data = value.remove_span(start, stop)
    if removed_data is not NO_WASTE:
        client.instance.background_work.discard(removed_data)
    client.modified(key, len(popped))
    client.notify(_EVENTS, end.event, key)
    _remove_if_empty(client, key, value)
    return popped


@command("ZPOPMIN", arity=-2, flags=WRITE | FAST, keys=one_key(b"RW", b"ACCESS", b"DELETE"))
def zpopmin(client: Client, argv: Request) -> bytes | LongReply:
    """Array of members and scores. Source: Redis 7.2."""
    return _pop_from(client, argv, LOWEST)


@command("ZPOPMAX", arity=-2, flags=WRITE | FAST, keys=one_key(b"RW", b"ACCESS", b"DELETE"))
def zpopmax(client: Client, argv: Request) -> bytes | LongReply:
    """Array of members and scores, the highest first."""
    return _pop_from(client, argv, HIGHEST)


def _pop_from(client: Client, argv: Request, end: End) -> bytes | LongReply:
    if argv.count > 3:
        raise ReplyError(errors.SYNTAX)
    key = argv.word(1)
    has_count: cython.bint = argv.count == 3
    count: cython.long = parse_int(argv.word(2), errors.NOT_POSITIVE, minimum=0) if has_count else 1
    value: SortedSetValue | None = client.lookup_typed_for_write(key, SortedSetValue)
    if value is None or not count:
        return EMPTY_ARRAY
    popped = pop_members(client, key, value, count, end)
    if has_count:
        return members_reply(popped, client.resp, with_scores=True)
    # In RESP3, too, it is one array: that of the pair.
    return encoded(popped, client.resp, True, b"*2\r\n" if client.resp == 2 else b"")
