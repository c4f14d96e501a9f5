"""ZREM and ZREMRANGEBYRANK, ZREMRANGEBYSCORE, ZREMRANGEBYLEX: members removed."""

from __future__ import annotations

from collections.abc import Callable

from commands.core import notifications
from commands.core.arguments import parse_int
from commands.core.client import Client
from commands.core.registry import FAST, WRITE, command, one_key
from commands.sorted_sets.bounds import parse_lex_bounds, parse_score_bounds, rank_span
from protocol import replies
from protocol.request import Request
from storage.types.sets import SortedSetValue, Span

_DELETES = one_key(b"RW", b"DELETE")


@command("ZREM", arity=-3, flags=WRITE | FAST, keys=_DELETES)
def zrem(client: Client, argv: Request) -> bytes:
    """Integer: how many were there. Source: Redis 7.2."""
    key = argv[1]
    value = client.lookup_typed_for_write(key, SortedSetValue)
    if value is None:
        return replies.ZERO
    removed = sum(value.remove(member) for member in argv[2:])
    return _removed(client, key, value, removed, b"zrem")


@command("ZREMRANGEBYRANK", arity=4, flags=WRITE, keys=_DELETES)
def zremrangebyrank(client: Client, argv: Request) -> bytes:
    """Integer: how many were removed. Source: Redis 7.2."""
    start, end = parse_int(argv[2]), parse_int(argv[3])
    return _remove_span(
        client, argv[1], lambda value: rank_span(start, end, len(value)), b"zremrangebyrank"
    )


@command("ZREMRANGEBYSCORE", arity=4, flags=WRITE, keys=_DELETES)
def zremrangebyscore(client: Client, argv: Request) -> bytes:
    """Integer: the number of members removed."""
    bounds = parse_score_bounds(argv[2], argv[3])
    return _remove_span(
        client, argv[1], lambda value: value.span_of_scores(bounds), b"zremrangebyscore"
    )


@command("ZREMRANGEBYLEX", arity=4, flags=WRITE, keys=_DELETES)
def zremrangebylex(client: Client, argv: Request) -> bytes:
    """Integer: the number of members removed."""
    bounds = parse_lex_bounds(argv[2], argv[3])
    return _remove_span(
        client, argv[1], lambda value: value.span_of_members(bounds), b"zremrangebylex"
    )


def _remove_span(
    client: Client, key: bytes, span_in: Callable[[SortedSetValue], Span], event: bytes
) -> bytes:
    value = client.lookup_typed_for_write(key, SortedSetValue)
    if value is None:
        return replies.ZERO
    start, end = span_in(value)
    client.instance.background_work.discard(value.remove_span(start, end))
    return _removed(client, key, value, end - start, event)


def _removed(client: Client, key: bytes, value: SortedSetValue, count: int, event: bytes) -> bytes:
    """Report that `count` members were removed, and remove the key with the last of them."""
    if count:
        client.modified(key, count)
        client.notify(notifications.SORTED_SET, event, key)
        remove_if_empty(client, key, value)
    return replies.integer(count)


def remove_if_empty(client: Client, key: bytes, value: SortedSetValue) -> None:
    """Remove the key of a sorted set that has just lost its last member."""
    if not len(value):
        client.remove(key)
        client.notify(notifications.GENERIC, b"del", key)
