"""The rules of the table of differences: Redis 7.0's reply made into Redis 8.10's.

Each takes what happened before, the exchange, and what is wanted so far; one that does not concern
the exchange returns what it was given. differences.py says why each is there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

from protocol.replies import format_double
from tests.compat.commands.sequences import CLAIMING_COMMANDS, consumers_created_by
from tests.compat.comparison import (
    AnyOf,
    Either,
    Exactly,
    Exchange,
    Expected,
    History,
    Payload,
    changed_field,
    changed_items,
    with_field_after,
)
from tests.support.resp import Reply

INVALID_ID = b"-ERR Invalid stream ID specified as stream command argument\r\n"
PLUS_IS_MEANINGLESS = (
    b"-ERR The + ID is meaningless in the context of XREADGROUP: you want to read the history of "
    b"this consumer by specifying a proper ID, or use the > ID to get new messages. The + ID would "
    b"just return an empty result set.\r\n"
)
BEHIND_TOP = b"-ERR The ID specified in XSETID is smaller than the target stream top item\r\n"
BEHIND_DELETED = b"-ERR The ID specified in XSETID is smaller than current max_deleted_entry_id\r\n"
TOO_LARGE = b"-ERR Elements are too large to be stored\r\n"
NOT_GREATER = (
    b"-ERR The ID specified in XADD is equal or smaller than the target stream top item\r\n"
)
UNBALANCED = (
    b"-ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' "
    b"must be specified.\r\n"
)
UNBALANCED_NEWER = {
    b"XREAD": b"-ERR Unbalanced 'xread' list of streams: for each stream key an ID, '+', or '$' "
    b"must be specified.\r\n",
    b"XREADGROUP": b"-ERR Unbalanced 'xreadgroup' list of streams: for each stream key an ID "
    b"or '>' must be specified.\r\n",
}
RANK_RANGE = (
    b"-ERR value is out of range, value must between -9223372036854775807 and "
    b"9223372036854775807\r\n"
)
WRONG_TYPE = b"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"
NOT_AN_INTEGER = b"-ERR value is not an integer or out of range\r\n"
NO_CONSUMER_CREATED = Exactly(b":0\r\n")


def name_of(exchange: Exchange) -> bytes:
    return exchange.argv[0].upper()


def _about(exchange: Exchange) -> bytes:
    """XINFO's and XGROUP's sub-command."""
    return exchange.argv[1].upper() if len(exchange.argv) > 1 else b""


def inactive(history: History, exchange: Exchange, wanted: Expected) -> Expected:
    if name_of(exchange) != b"XINFO" or _about(exchange) != b"CONSUMERS":
        return wanted
    return changed_items(
        wanted, lambda consumer: _with_second_time(history, consumer, b"idle", b"inactive")
    )


def active_time(history: History, exchange: Exchange, wanted: Expected) -> Expected:
    if name_of(exchange) != b"XINFO" or _about(exchange) != b"STREAM":
        return wanted
    return changed_field(
        wanted,
        b"groups",
        lambda groups: changed_items(groups, lambda group: _with_active_time(history, group)),
    )


def _with_active_time(history: History, group: Expected) -> Expected:
    return changed_field(
        group,
        b"consumers",
        lambda consumers: changed_items(
            consumers, lambda one: _with_second_time(history, one, b"seen-time", b"active-time")
        ),
    )


def _with_second_time(
    history: History, consumer: Expected, attempt: bytes, success: bytes
) -> Expected:
    """A consumer with both times. To 7.0 a claim that claims nothing is no attempt."""
    any_time = AnyOf((b":",))
    if any(name_of(earlier) in CLAIMING_COMMANDS for earlier in history.exchanges):
        consumer = changed_field(consumer, attempt, lambda _: any_time)
    return with_field_after(consumer, attempt, success, any_time)


# The fields of a stream without entries of idempotent producers.
IDEMPOTENCE_FIELDS = {
    b"idmp-duration": b":100\r\n",
    b"idmp-maxsize": b":100\r\n",
    b"pids-tracked": b":0\r\n",
    b"iids-tracked": b":0\r\n",
    b"iids-added": b":0\r\n",
    b"iids-duplicates": b":0\r\n",
}


def idempotence(history: History, exchange: Exchange, wanted: Expected) -> Expected:
    if name_of(exchange) != b"XINFO" or _about(exchange) != b"STREAM":
        return wanted
    before = b"recorded-first-entry-id"
    for name, value in IDEMPOTENCE_FIELDS.items():
        wanted = with_field_after(wanted, before, name, Exactly(value))
        before = name
    return wanted


def nacked_count(history: History, exchange: Exchange, wanted: Expected) -> Expected:
    if name_of(exchange) != b"XINFO" or _about(exchange) != b"STREAM":
        return wanted
    none = Exactly(b":0\r\n")
    return changed_field(
        wanted,
        b"groups",
        lambda groups: changed_items(
            groups, lambda group: with_field_after(group, b"pel-count", b"nacked-count", none)
        ),
    )


def last_entry(history: History, exchange: Exchange, wanted: Expected) -> Expected:
    refused = exchange.theirs.head == INVALID_ID and b"+" in exchange.argv
    if name_of(exchange) == b"XREAD" and refused:
        return AnyOf((b"*", b"%", b"_", b"-"))
    if name_of(exchange) == b"XREADGROUP" and refused:
        return Either((wanted, Exactly(PLUS_IS_MEANINGLESS)))
    return wanted


def dumped(history: History, exchange: Exchange, wanted: Expected) -> Expected:
    if name_of(exchange) == b"DUMP" and exchange.theirs.kind == b"$":
        return wanted if exchange.theirs.is_null else Payload(exchange.theirs.text)
    return wanted


# Commands whose bulk strings are members and scores.
_SCORED = frozenset(
    (b"ZSCORE", b"ZMSCORE", b"ZADD", b"ZINCRBY", b"ZRANGE", b"ZREVRANGE", b"ZRANGEBYSCORE",
     b"ZREVRANGEBYSCORE", b"ZUNION", b"ZINTER", b"ZDIFF", b"ZPOPMIN", b"ZPOPMAX", b"ZMPOP",
     b"BZPOPMIN", b"BZPOPMAX", b"BZMPOP", b"ZSCAN")
)  # fmt: skip


def score_text(history: History, exchange: Exchange, wanted: Expected) -> Expected:
    return _shortest_scores(wanted) if name_of(exchange) in _SCORED else wanted


def _shortest_scores(wanted: Expected) -> Expected:
    """Each text that is a score as Redis 7.0 prints it becomes that of later ones."""
    if not isinstance(wanted, Exactly):
        return wanted
    if wanted.items:
        return changed_items(wanted, _shortest_scores)
    kind, text = wanted.head[:1], wanted.head[1:-2]
    if kind == b"$":
        text = text.partition(b"\r\n")[2]
    if kind not in (b"$", b",") or not _SEVENTEEN_DIGITS.fullmatch(text):
        return wanted
    score = float(text)
    if b"%.17g" % score != text:
        return wanted  # it is a member
    shortest = format_double(score)
    if kind == b",":
        return Exactly(b",%b\r\n" % shortest)
    return Exactly(b"$%d\r\n%b\r\n" % (len(shortest), shortest))


# A number that is no integer, as C prints it with `%.17g`.
_SEVENTEEN_DIGITS = re.compile(rb"-?\d+(\.\d+)?(e[+-]\d+)?")


def rank_arity(history: History, exchange: Exchange, wanted: Expected) -> Expected:
    """With one more argument, the error depends on its value."""
    takes_word = name_of(exchange) in (b"ZRANK", b"ZREVRANK") and len(exchange.argv) == 4
    return Exactly(b"-ERR syntax error\r\n") if takes_word else wanted


def small_sets(history: History, exchange: Exchange, wanted: Expected) -> Expected:
    if name_of(exchange) != b"OBJECT" or exchange.theirs.text != b"hashtable":
        return wanted
    return Either((wanted, Exactly(b"$8\r\nlistpack\r\n")))


_ANSWERED_UNREAD = {b"BITCOUNT": b":0\r\n", b"BITPOS": b":-1\r\n"}


def bit_range(history: History, exchange: Exchange, wanted: Expected) -> Expected:
    """Rillway may refuse a range that Redis 7.0 did not read."""
    name = name_of(exchange)
    answers = (b":0\r\n", _ANSWERED_UNREAD.get(name), WRONG_TYPE)
    unread = exchange.theirs.head in answers and exchange.ours.head != exchange.theirs.head
    if name not in _ANSWERED_UNREAD or not unread or exchange.ours.kind != b"-":
        return wanted
    return Either((Exactly(b"-ERR syntax error\r\n"), Exactly(NOT_AN_INTEGER)))


def small_lists(history: History, exchange: Exchange, wanted: Expected) -> Expected:
    if name_of(exchange) != b"OBJECT" or exchange.theirs.text != b"quicklist":
        return wanted
    return Either((wanted, Exactly(b"$8\r\nlistpack\r\n")))


def rank_range(history: History, exchange: Exchange, wanted: Expected) -> Expected:
    words = [word.upper() for word in exchange.argv]
    is_least = (b"RANK", b"-9223372036854775808") in pairwise(words)
    if name_of(exchange) != b"LPOS" or not is_least or exchange.theirs.kind == b"-":
        return wanted
    return Exactly(RANK_RANGE)


def unbalanced(history: History, exchange: Exchange, wanted: Expected) -> Expected:
    if exchange.theirs.head == UNBALANCED:
        return Exactly(UNBALANCED_NEWER[name_of(exchange)])
    return wanted


def set_id(history: History, exchange: Exchange, wanted: Expected) -> Expected:
    """Where Redis 7.0 refuses an ID below the last entry, 7.4 may first find a deleted one."""
    if exchange.theirs.head == BEHIND_TOP:
        return Either((wanted, Exactly(BEHIND_DELETED)))
    return wanted


def sequence_runs_out(history: History, exchange: Exchange, wanted: Expected) -> Expected:
    """No entry of these tests is too large to be stored."""
    return Exactly(NOT_GREATER) if exchange.theirs.head == TOO_LARGE else wanted


def consumers(history: History, exchange: Exchange, wanted: Expected) -> Expected:
    if exchange.theirs.head != b":1\r\n" or _about(exchange) != b"CREATECONSUMER":
        return wanted
    for earlier in reversed(history.exchanges):
        if _about(earlier) != b"CREATECONSUMER":
            created = exchange.argv in consumers_created_by(earlier.argv)
            return NO_CONSUMER_CREATED if created and earlier.theirs.kind != b"-" else wanted
    return wanted


def counters(history: History, exchange: Exchange, wanted: Expected) -> Expected:
    """A group's entries-read and lag. What they follow from is in the reply, or just before it."""
    if name_of(exchange) != b"XINFO" or exchange.theirs.kind == b"-":
        return wanted
    count_differs = any(may_change_counting(earlier) for earlier in history.exchanges)
    words = [argument.upper() for argument in exchange.argv]
    if _about(exchange) == b"STREAM" and b"FULL" in words[3:]:
        groups = field_of(exchange.theirs, b"groups").items
        change = _each_group(groups, exchange.theirs, count_differs)
        return changed_field(wanted, b"groups", change)
    if _about(exchange) == b"GROUPS":
        before = history.exchanges[-1] if history.exchanges else exchange
        shown_before = before.argv == [b"XINFO", b"STREAM", *exchange.argv[2:]]
        stream = before.theirs if shown_before else None
        return _each_group(exchange.theirs.items, stream, count_differs)(wanted)
    return wanted


def may_change_counting(exchange: Exchange) -> bool:
    """Whether Redis 7.4 may count later deliveries differently than 7.0: entries before the first
    or after the last delivered one were deleted, or the count was set by hand.
    """
    name, reply = name_of(exchange), exchange.theirs
    words = [argument.upper() for argument in exchange.argv]
    if reply.kind == b"-":
        return False
    if name in (b"XDEL", b"XTRIM"):
        return reply.number > 0
    if name == b"XADD":
        return b"MAXLEN" in words or b"MINID" in words
    return name in (b"XSETID", b"RESTORE") or b"ENTRIESREAD" in words


def _each_group(
    groups: tuple[Reply, ...], stream: Reply | None, count_differs: bool
) -> Callable[[Expected], Expected]:
    """Changes the counters in the expected list of groups, for these groups of Redis."""
    unknown = AnyOf((b":", b"_"))

    def change(wanted: Expected) -> Expected:
        remaining = iter(groups)
        return changed_items(wanted, lambda group: change_one(group, next(remaining)))

    def change_one(wanted: Expected, group: Reply) -> Expected:
        if count_differs:
            wanted = changed_field(wanted, b"entries-read", lambda older: unknown)
        if stream is not None and lag_is_length(stream, group):
            length = Exactly(field_of(stream, b"length").head)
            return changed_field(wanted, b"lag", lambda older: length)
        if stream is None or count_differs:
            return changed_field(wanted, b"lag", lambda older: unknown)
        return wanted

    return change


def lag_is_length(stream: Reply, group: Reply) -> bool:
    """Whether Redis 7.4 knows the lag without counting: the stream is empty, or the group is before
    its first entry and no entry after that was deleted.
    """
    first_id = id_of(field_of(stream, b"recorded-first-entry-id"))
    return field_of(stream, b"length").number == 0 or (
        id_of(field_of(stream, b"max-deleted-entry-id")) < first_id
        and id_of(field_of(group, b"last-delivered-id")) < first_id
    )


def field_of(reply: Reply, name: bytes) -> Reply:
    """The value of a field of a map, flat or not."""
    return next(
        value
        for key, value in zip(reply.items[::2], reply.items[1::2], strict=True)
        if key.text == name
    )


def id_of(reply: Reply) -> tuple[int, int]:
    """An entry ID as a pair that compares as IDs do."""
    ms, _, sequence = reply.text.partition(b"-")
    return int(ms), int(sequence)
