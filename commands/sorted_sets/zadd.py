"""ZADD and ZINCRBY: members with scores, added or changed."""

from __future__ import annotations

from commands.core.arguments import Arguments
from commands.core.client import Client
from commands.core.floats import parse_double
from commands.core.registry import DENYOOM, FAST, WRITE, command, one_key
from commands.sorted_sets.pairs import score_or_nil
from commands.state import notifications
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
from protocol.request import Request
from storage.types.sorted_sets import SortedSetValue

_FLAGS = frozenset((b"NX", b"XX", b"GT", b"LT", b"CH", b"INCR"))


@record
class _Addition:
    """A request of ZADD."""

    flags: set[bytes]
    pairs: list[tuple[float, bytes]]  # (score, member)
    added: int = 0
    updated: int = 0

    def new_score(self, old: float | None, score: float) -> float | None:
        """The new score of a member whose score is `old`; None: it does not change.

        Raises ReplyError if it would be NaN.
        """
        flags = self.flags
        if old is None:
            return None if b"XX" in flags else score
        if b"NX" in flags:
            return None
        if b"INCR" in flags:
            score += old
            if score != score:
                raise ReplyError(errors.SCORE_IS_NAN)
        if (b"GT" in flags and score <= old) or (b"LT" in flags and score >= old):
            return None
        return score


@command("ZADD", arity=-4, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"UPDATE"))
def zadd(client: Client, argv: Request) -> bytes:
    """Integer: how many were added, with CH also those whose score has changed; with INCR the new
    score, or null if a condition did not hold. Source: Redis 7.2."""
    if argv.count == 4 and argv.word(2).upper() not in _FLAGS:  # 1.0 us instead of 1.9
        return _add_one(client, argv.word(1), parse_double(argv.word(2)), argv.word(3))
    return _add(client, argv[1], _parse(Arguments(argv, 2)))


@command(
    "ZINCRBY", arity=4, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"ACCESS", b"UPDATE")
)
def zincrby(client: Client, argv: Request) -> bytes:
    """The new score. Source: Redis 7.2."""
    return _add(client, argv[1], _Addition({b"INCR"}, [(parse_double(argv[2]), argv[3])]))


def _parse(arguments: Arguments) -> _Addition:
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
    words = arguments.argv[arguments.position :]
    scores = [parse_double(word) for word in words[::2]]
    return _Addition(flags, list(zip(scores, words[1::2], strict=True)))


def _add_one(client: Client, key: bytes, score: float, member: bytes) -> bytes:
    """`_add` of one member without flags."""
    limits = client.instance.encoding_limits
    value: SortedSetValue | None = client.lookup_typed_for_write(key, SortedSetValue)
    if value is None:
        value = SortedSetValue.sized(1, len(member), limits)
        client.store(key, value)
    else:
        value.expect(1, limits)
    old = value.score(member)
    if old is None or old != score:
        value.set(member, score, limits)
        client.modified(key)
        client.notify(notifications.SORTED_SET, b"zadd", key)
    return replies.ONE if old is None else replies.ZERO


def _add(client: Client, key: bytes, request: _Addition) -> bytes:
    value = client.lookup_typed_for_write(key, SortedSetValue)
    is_increment = b"INCR" in request.flags
    if value is None and b"XX" in request.flags:
        return replies.NIL[client.resp] if is_increment else replies.ZERO
    limits = client.instance.encoding_limits
    if value is None:
        value = SortedSetValue.sized(len(request.pairs), len(request.pairs[0][1]), limits)
        client.store(key, value)
    else:
        value.expect(len(request.pairs), limits)
    score = _set_all(client, value, request)
    changes = request.added + request.updated
    if changes:
        client.modified(key, changes)
        event = b"zincr" if is_increment else b"zadd"
        client.notify(notifications.SORTED_SET, event, key)
    if is_increment:
        return score_or_nil(score, client.resp)
    return replies.integer(changes if b"CH" in request.flags else request.added)


def _set_all(client: Client, value: SortedSetValue, request: _Addition) -> float | None:
    """Set the scores; that of the last member, None if it was not set. Raises ReplyError."""
    limits = client.instance.encoding_limits
    new: float | None = None
    for score, member in request.pairs:
        old = value.score(member)
        new = request.new_score(old, score)
        if new is None or new == old:
            continue
        value.set(member, new, limits)
        if old is None:
            request.added += 1
        else:
            request.updated += 1
    return new
