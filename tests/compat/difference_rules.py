"""The rules of the table of differences: Redis 7.0's reply made into Redis 7.4's.

Each takes what happened before, the exchange, and what is wanted so far; one that does not concern
the exchange returns what it was given. differences.py says why each is there.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.compat.comparing import (
    AnyOf,
    Either,
    Exactly,
    Exchange,
    Expected,
    History,
    changed_field,
    changed_items,
    with_field_after,
)
from tests.compat.sequences import consumers_created_by
from tests.support.resp import Reply

INVALID_ID = b"-ERR Invalid stream ID specified as stream command argument\r\n"
PLUS_IS_MEANINGLESS = (
    b"-ERR The + ID is meaningless in the context of XREADGROUP: you want to read the history of "
    b"this consumer by specifying a proper ID, or use the > ID to get new messages. The + ID would "
    b"just return an empty result set.\r\n"
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
        wanted, lambda consumer: with_field_after(consumer, b"idle", b"inactive", AnyOf((b":",)))
    )


def active_time(history: History, exchange: Exchange, wanted: Expected) -> Expected:
    if name_of(exchange) != b"XINFO" or _about(exchange) != b"STREAM":
        return wanted
    return changed_field(wanted, b"groups", lambda groups: changed_items(groups, _with_active_time))


def _with_active_time(group: Expected) -> Expected:
    return changed_field(
        group,
        b"consumers",
        lambda consumers: changed_items(
            consumers,
            lambda one: with_field_after(one, b"seen-time", b"active-time", AnyOf((b":",))),
        ),
    )


def last_entry(history: History, exchange: Exchange, wanted: Expected) -> Expected:
    refused = exchange.theirs.head == INVALID_ID and b"+" in exchange.argv
    if name_of(exchange) == b"XREAD" and refused:
        return AnyOf((b"*", b"%", b"_", b"-"))
    if name_of(exchange) == b"XREADGROUP" and refused:
        return Either((wanted, Exactly(PLUS_IS_MEANINGLESS)))
    return wanted


def unbalanced(history: History, exchange: Exchange, wanted: Expected) -> Expected:
    if exchange.theirs.head == UNBALANCED:
        return Exactly(UNBALANCED_NEWER[name_of(exchange)])
    return wanted


def consumers(history: History, exchange: Exchange, wanted: Expected) -> Expected:
    if exchange.theirs.head != b":1\r\n" or _about(exchange) != b"CREATECONSUMER":
        return wanted
    for earlier in reversed(history.exchanges):
        if _about(earlier) != b"CREATECONSUMER":
            created = exchange.argv in consumers_created_by(earlier.argv)
            return NO_CONSUMER_CREATED if created and earlier.theirs.kind != b"-" else wanted
    return wanted


def lag(history: History, exchange: Exchange, wanted: Expected) -> Expected:
    """Redis 7.4's two short cuts; what they need to know is in the same reply, or just before."""
    if name_of(exchange) != b"XINFO" or exchange.theirs.kind == b"-":
        return wanted
    if _about(exchange) == b"STREAM":
        return changed_field(
            wanted, b"groups", lambda groups: changed_items(groups, _group_lag(exchange.theirs))
        )
    if _about(exchange) == b"GROUPS":
        before = history.exchanges[-1] if history.exchanges else exchange
        if before.argv == [b"XINFO", b"STREAM", *exchange.argv[2:]]:
            return changed_items(wanted, _group_lag(before.theirs))
        return changed_items(
            wanted, lambda group: changed_field(group, b"lag", lambda lag: AnyOf((b":", b"_")))
        )
    return wanted


def _group_lag(stream: Reply) -> Callable[[Expected], Expected]:
    """Changes a group's lag where Redis 7.4 knows it without counting."""
    length = field_of(stream, b"length").number
    first_id = id_of(field_of(stream, b"recorded-first-entry-id"))
    deletions_are_before = id_of(field_of(stream, b"max-deleted-entry-id")) < first_id

    def change(group: Expected) -> Expected:
        last_delivered = value_of(group, b"last-delivered-id")
        known = (
            field_of(stream, b"entries-added").number == 0
            or length == 0
            or (
                deletions_are_before
                and isinstance(last_delivered, Exactly)
                and id_of(Reply(last_delivered.head)) < first_id
            )
        )
        lag = Exactly(b":%d\r\n" % length)
        return changed_field(group, b"lag", lambda older: lag if known else older)

    return change


def field_of(reply: Reply, name: bytes) -> Reply:
    """The value of a field of a map, flat or not."""
    return next(
        value
        for key, value in zip(reply.items[::2], reply.items[1::2], strict=True)
        if key.text == name
    )


def value_of(reply: Expected, name: bytes) -> Expected:
    """The same for what is expected."""
    assert isinstance(reply, Exactly)
    return next(
        value
        for key, value in zip(reply.items[::2], reply.items[1::2], strict=True)
        if isinstance(key, Exactly) and key.head.endswith(b"\r\n%b\r\n" % name)
    )


def id_of(reply: Reply) -> tuple[int, int]:
    """An entry ID as a pair that compares as IDs do."""
    ms, _, sequence = reply.text.partition(b"-")
    return int(ms), int(sequence)
