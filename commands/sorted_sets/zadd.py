"""ZADD and ZINCRBY: members with scores, added or changed."""

from __future__ import annotations

import cython

from commands.core import notifications
from commands.core.arguments import Arguments, parse_double, quick_double
from commands.core.client import Client
from commands.core.registry import DENYOOM, FAST, WRITE, command, one_key
from commands.sorted_sets.pairs import score_or_nil
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from storage.types.records import Record, make_record, score_of
from storage.types.sets import SortedSetValue

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
        client.notify(notifications.SORTED_SET, b"zadd", key)
    return replies.ONE if former is None else replies.ZERO


def _add(
    client: Client, key: bytes, request: _Addition, words: list[bytes], at: cython.Py_ssize_t
) -> bytes:
    """Add the members after their scores, which begin at `at`. Raises ReplyError."""
    value: SortedSetValue | None = client.lookup_typed_for_write(key, SortedSetValue)
    if value is None and request.only_old:
        return replies.NIL[client.resp] if request.is_increment else replies.ZERO
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
        client.notify(notifications.SORTED_SET, event, key)
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
