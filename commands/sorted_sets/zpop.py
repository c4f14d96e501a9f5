"""ZPOPMIN, ZPOPMAX, ZMPOP, and the blocking BZPOPMIN, BZPOPMAX, BZMPOP.

All are propagated as the ZPOPMIN or ZPOPMAX that has the same result.
"""

from __future__ import annotations

from functools import partial

from commands.core import notifications
from commands.core.arguments import Arguments, parse_int
from commands.core.blocked_clients import Block
from commands.core.client import Client
from commands.core.long_reply import LongReply
from commands.core.registry import (
    BLOCKING,
    FAST,
    MOVABLE_KEYS,
    WRITE,
    KeySpec,
    command,
    counted_keys,
    one_key,
)
from commands.lists.blocking_pops import (
    first_of,
    parse_multi_pop,
    parse_timeout,
    pop_or_wait,
)
from commands.sorted_sets.pairs import flat_pair, members_reply, nested_pair
from commands.sorted_sets.zrem import remove_if_empty
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import frozen_record
from protocol.request import Request
from storage.types.records import Record
from storage.types.sets import SortedSetValue


@frozen_record
class _End:
    """The end of a sorted set that is popped from."""

    command: bytes
    event: bytes
    reverse: bool


_MIN = _End(b"ZPOPMIN", b"zpopmin", reverse=False)
_MAX = _End(b"ZPOPMAX", b"zpopmax", reverse=True)
_ENDS = {b"MIN": _MIN, b"MAX": _MAX}

_POPS = (b"RW", b"ACCESS", b"DELETE")
_ALL_BUT_LAST = (KeySpec(begin=1, last=-2, flags=_POPS),)


def _pop(client: Client, key: bytes, value: SortedSetValue, count: int, end: _End) -> list[Record]:
    """Remove up to `count` members, at least one, and report that; what they were."""
    size = len(value)
    start = max(size - count, 0) if end.reverse else 0
    stop = size if end.reverse else min(count, size)
    popped = value.records(start, stop)
    if end.reverse:
        popped.reverse()
    client.instance.background_work.discard(value.remove_span(start, stop))
    client.modified(key, len(popped))
    client.notify(notifications.SORTED_SET, end.event, key)
    remove_if_empty(client, key, value)
    return popped


# -- from one key ------------------------------------------------------------------------------


@command("ZPOPMIN", arity=-2, flags=WRITE | FAST, keys=one_key(*_POPS))
def zpopmin(client: Client, argv: Request) -> bytes | LongReply:
    """Array of members and scores. Source: Redis 7.2."""
    return _pop_from(client, argv, _MIN)


@command("ZPOPMAX", arity=-2, flags=WRITE | FAST, keys=one_key(*_POPS))
def zpopmax(client: Client, argv: Request) -> bytes | LongReply:
    """Array of members and scores, the highest first."""
    return _pop_from(client, argv, _MAX)


def _pop_from(client: Client, argv: Request, end: _End) -> bytes | LongReply:
    if len(argv) > 3:
        raise ReplyError(errors.SYNTAX)
    has_count = len(argv) == 3
    count = parse_int(argv[2], errors.NOT_POSITIVE, minimum=0) if has_count else 1
    value = client.lookup_typed_for_write(argv[1], SortedSetValue)
    if value is None or not count:
        return replies.EMPTY_ARRAY
    popped = _pop(client, argv[1], value, count, end)
    if has_count:
        return members_reply(popped, client.resp, with_scores=True)
    return replies.array_header(2) + flat_pair(popped[0], client.resp)


# -- from the first of several -----------------------------------------------------------------


@command("ZMPOP", arity=-4, flags=WRITE | MOVABLE_KEYS, keys=counted_keys(*_POPS))
def zmpop(client: Client, argv: Request) -> bytes:
    """Array of the key and an array of pairs; null if no key is there. Source: Redis 7.2."""
    wanted = parse_multi_pop(Arguments(argv, 1), (b"MIN", b"MAX"))
    reply = _serve_several(wanted.keys, wanted.count, _ENDS[wanted.where], client)
    return replies.NIL_ARRAY[client.resp] if reply is None else reply


@command("BZMPOP", arity=-5, flags=WRITE | BLOCKING | MOVABLE_KEYS, keys=counted_keys(*_POPS, at=2))
def bzmpop(client: Client, argv: Request) -> bytes | Block:
    """Array of the key and an array of pairs; null after the timeout, in seconds.

    Source: Redis 7.2.
    """
    wanted = parse_multi_pop(Arguments(argv, 2), (b"MIN", b"MAX"))
    timeout_ms = parse_timeout(argv[1], client.instance.now_ms)
    serve = partial(_serve_several, wanted.keys, wanted.count, _ENDS[wanted.where])
    return pop_or_wait(client, wanted.keys, timeout_ms, SortedSetValue, serve)


def _serve_several(keys: list[bytes], count: int, end: _End, client: Client) -> bytes | None:
    found = first_of(client, keys, SortedSetValue)
    if found is None:
        return None
    key, value = found
    popped = _pop(client, key, value, count, end)
    client.propagate(end.command, key, b"%d" % len(popped))
    pairs = replies.array([nested_pair(record, client.resp) for record in popped])
    return replies.array([replies.bulk(key), pairs])


@command("BZPOPMIN", arity=-3, flags=WRITE | BLOCKING | FAST, keys=_ALL_BUT_LAST)
def bzpopmin(client: Client, argv: Request) -> bytes | Block:
    """Array of key, member and score; null after the timeout, in seconds. Source: Redis 7.2."""
    return _pop_one_or_wait(client, argv, _MIN)


@command("BZPOPMAX", arity=-3, flags=WRITE | BLOCKING | FAST, keys=_ALL_BUT_LAST)
def bzpopmax(client: Client, argv: Request) -> bytes | Block:
    """Array of key, member and score; null after the timeout, in seconds."""
    return _pop_one_or_wait(client, argv, _MAX)


def _pop_one_or_wait(client: Client, argv: Request, end: _End) -> bytes | Block:
    keys = argv[1:-1]
    timeout_ms = parse_timeout(argv[-1], client.instance.now_ms)
    return pop_or_wait(client, keys, timeout_ms, SortedSetValue, partial(_serve_one, keys, end))


def _serve_one(keys: list[bytes], end: _End, client: Client) -> bytes | None:
    found = first_of(client, keys, SortedSetValue)
    if found is None:
        return None
    key, value = found
    popped = _pop(client, key, value, 1, end)
    client.propagate(end.command, key)
    return replies.array_header(3) + replies.bulk(key) + flat_pair(popped[0], client.resp)
