"""SINTER, SUNION, SDIFF, with their STORE and CARD forms: several sets made into one.

A missing key counts as an empty set. Every key is looked up first: WRONGTYPE takes precedence over
an empty result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from commands.core import notifications
from commands.core.arguments import INT64_MAX, Arguments, parse_int
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
    keys_to_end,
)
from commands.keys.existence import delete
from commands.sets.members import members_reply
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from storage.types.sets import SetValue

# Returns the resulting members up to a limit, in Redis's order.
Operation = Callable[[Sequence[SetValue | None], int], list[bytes]]

UNLIMITED = INT64_MAX

_SOURCES = keys_to_end(b"RO", b"ACCESS", at=2)
_STORE_KEYS = (KeySpec(begin=1, flags=(b"OW", b"UPDATE")), *_SOURCES)


def intersection(sets: Sequence[SetValue | None], limit: int) -> list[bytes]:
    """The members that all sets have."""
    present = sorted([one for one in sets if one is not None], key=len)
    if len(present) < len(sets):
        return []
    smallest, *others = present
    return smallest.members_in(others, limit)


def union(sets: Sequence[SetValue | None], limit: int) -> list[bytes]:
    """The members that any set has."""
    found: list[bytes] = []
    earlier: list[SetValue] = []
    for one in sets:
        if one is not None:
            found += one.members_outside(earlier, limit - len(found))
            earlier.append(one)
    return found


def difference(sets: Sequence[SetValue | None], limit: int) -> list[bytes]:
    """The members that only the first set has."""
    first, *others = sets
    if first is None:
        return []
    return first.members_outside([other for other in others if other is not None], limit)


def _look_up(client: Client, keys: list[bytes]) -> list[SetValue | None]:
    """The sets at the keys. Raises WRONGTYPE."""
    return [client.lookup_typed(key, SetValue) for key in keys]


# -- the members -------------------------------------------------------------------------------


@command("SINTER", arity=-2, flags=READONLY, keys=keys_to_end(b"RO", b"ACCESS"))
def sinter(client: Client, argv: Request) -> bytes | LongReply:
    """Set of bulk strings. Source: Redis 7.2."""
    return _members(client, argv[1:], intersection)


@command("SUNION", arity=-2, flags=READONLY, keys=keys_to_end(b"RO", b"ACCESS"))
def sunion(client: Client, argv: Request) -> bytes | LongReply:
    """Set of bulk strings. Source: Redis 7.2."""
    return _members(client, argv[1:], union)


@command("SDIFF", arity=-2, flags=READONLY, keys=keys_to_end(b"RO", b"ACCESS"))
def sdiff(client: Client, argv: Request) -> bytes | LongReply:
    """Set of bulk strings. Source: Redis 7.2."""
    return _members(client, argv[1:], difference)


def _members(client: Client, keys: list[bytes], operation: Operation) -> bytes | LongReply:
    return members_reply(operation(_look_up(client, keys), UNLIMITED), client.resp)


# -- stored ------------------------------------------------------------------------------------


@command(
    "SINTERSTORE",
    arity=-3,
    flags=WRITE | DENYOOM,
    keys=(KeySpec(begin=1, flags=(b"OW", b"UPDATE")), *_SOURCES),
)
def sinterstore(client: Client, argv: Request) -> bytes:
    """Integer: how many were stored; with none, the destination is removed. Source: Redis 7.2."""
    return _store(client, argv, intersection, b"sinterstore")


@command("SUNIONSTORE", arity=-3, flags=WRITE | DENYOOM, keys=_STORE_KEYS)
def sunionstore(client: Client, argv: Request) -> bytes:
    """Integer: the number of members stored; with none, the destination is removed."""
    return _store(client, argv, union, b"sunionstore")


@command("SDIFFSTORE", arity=-3, flags=WRITE | DENYOOM, keys=_STORE_KEYS)
def sdiffstore(client: Client, argv: Request) -> bytes:
    """Integer: the number of members stored; with none, the destination is removed."""
    return _store(client, argv, difference, b"sdiffstore")


def _store(client: Client, argv: Request, operation: Operation, event: bytes) -> bytes:
    target, limits = argv[1], client.instance.encoding_limits
    result = SetValue.of(operation(_look_up(client, argv[2:]), UNLIMITED), limits)
    if not len(result):
        delete(client, target)  # an empty result is not stored
        return replies.ZERO
    client.store(target, result)
    client.db.persist(target)
    client.modified(target)
    client.notify(notifications.SET, event, target)
    return replies.integer(len(result))


# -- counted -----------------------------------------------------------------------------------


@command("SINTERCARD", arity=-3, flags=READONLY | MOVABLE_KEYS, keys=counted_keys(b"RO", b"ACCESS"))
def sintercard(client: Client, argv: Request) -> bytes:
    """Integer, at most LIMIT unless that is 0. Source: Redis 7.2."""
    return _count(client, argv, intersection)


@command("SUNIONCARD", arity=-3, flags=READONLY | MOVABLE_KEYS, keys=counted_keys(b"RO", b"ACCESS"))
def sunioncard(client: Client, argv: Request) -> bytes:
    """Integer, at most LIMIT unless that is 0; exact even with APPROX. Source: Redis 8.10."""
    return _count(client, argv, union, may_estimate=True)


@command("SDIFFCARD", arity=-3, flags=READONLY | MOVABLE_KEYS, keys=counted_keys(b"RO", b"ACCESS"))
def sdiffcard(client: Client, argv: Request) -> bytes:
    """Integer, at most LIMIT unless that is 0. Source: Redis 8.10."""
    return _count(client, argv, difference)


def _count(
    client: Client, argv: Request, operation: Operation, *, may_estimate: bool = False
) -> bytes:
    count = parse_int(argv[1], errors.NUMKEYS_NOT_POSITIVE, minimum=1)
    if count > len(argv) - 2:
        raise ReplyError(errors.NUMKEYS_TOO_LARGE)
    limit = _parse_limit(Arguments(argv, 2 + count), may_estimate=may_estimate)
    members = operation(_look_up(client, argv[2 : 2 + count]), limit or UNLIMITED)
    return replies.integer(len(members))


def _parse_limit(arguments: Arguments, *, may_estimate: bool) -> int:
    limit = 0
    while arguments:
        if may_estimate and arguments.take(b"APPROX"):
            continue
        if not arguments.take(b"LIMIT"):
            raise ReplyError(errors.SYNTAX)
        limit = arguments.next_int(errors.LIMIT_NEGATIVE, minimum=0)
    return limit
