"""SADD, SREM, SMOVE, SISMEMBER, SMISMEMBER, SCARD and SMEMBERS: commands on a single set."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import cython

from commands.core import notifications
from commands.core.client import Client
from commands.core.long_reply import LongReply
from commands.core.registry import DENYOOM, FAST, READONLY, WRITE, command, one_key, two_keys
from protocol import replies
from protocol.request import Request
from storage.types.key_part import KEYS
from storage.types.sets import INTSET, SetValue

# What a member counts for in `Request.mark_quick`: a few members are quick.
_BYTES_PER_MEMBER: cython.Py_ssize_t = 400

# A reply of more members is sent in pieces of this many.
MANY_MEMBERS = 20_000
MEMBERS_PER_PIECE = 2000


@command("SADD", arity=-3, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"INSERT"))
def sadd(client: Client, argv: Request) -> bytes:
    """Integer: how many were not in the set before. Source: Redis 7.2."""
    key = argv.word(1)
    limits = client.instance.encoding_limits
    value: SetValue | None = client.lookup_typed_for_write(key, SetValue)
    if value is None:
        value = SetValue.sized(argv.word(2), argv.count - 2, limits)
        client.store(key, value)
    else:
        value.expect(argv.count - 2, limits)
    added: cython.Py_ssize_t = 0
    index: cython.Py_ssize_t
    for index in range(2, argv.count):
        added += value.add(argv.word(index), limits)
    if added:
        client.modified(key, added)
        client.notify(notifications.SET, b"sadd", key)
    argv.mark_quick(_BYTES_PER_MEMBER * argv.count)
    return replies.integer(added)


@command("SREM", arity=-3, flags=WRITE | FAST, keys=one_key(b"RW", b"DELETE"))
def srem(client: Client, argv: Request) -> bytes:
    """Integer: how many were in the set. Source: Redis 7.2."""
    key = argv[1]
    value = client.lookup_typed_for_write(key, SetValue)
    if value is None:
        return replies.ZERO
    removed = sum(value.remove(member) for member in argv[2:])
    if removed:
        client.modified(key, removed)
        client.notify(notifications.SET, b"srem", key)
        remove_if_empty(client, key, value)
    return replies.integer(removed)


def remove_if_empty(client: Client, key: bytes, value: SetValue) -> None:
    """Remove the key of a set that has just lost its last member."""
    if not len(value):
        client.remove(key)
        client.notify(notifications.GENERIC, b"del", key)


@command(
    "SMOVE",
    arity=4,
    flags=WRITE | FAST,
    keys=two_keys((b"RW", b"ACCESS", b"DELETE"), (b"RW", b"INSERT")),
)
def smove(client: Client, argv: Request) -> bytes:
    """Integer: 1 if the member was in the source, else 0. Source: Redis 7.2."""
    source_key, target_key, member = argv[1:]
    # A target of another type only matters if there is a source.
    source = client.lookup_typed_for_write(source_key, SetValue)
    if source is None:
        return replies.ZERO
    target = client.lookup_typed_for_write(target_key, SetValue)
    if source is target:
        return replies.ONE if member in source else replies.ZERO
    if not source.remove(member):
        return replies.ZERO
    client.notify(notifications.SET, b"srem", source_key)
    remove_if_empty(client, source_key, source)
    client.modified(source_key)
    limits = client.instance.encoding_limits
    if target is None:
        target = SetValue.sized(member, 1, limits)
        client.store(target_key, target)
    if target.add(member, limits):
        client.modified(target_key)
        client.notify(notifications.SET, b"sadd", target_key)
    return replies.ONE


@command("SISMEMBER", arity=3, flags=READONLY | FAST, keys=one_key(b"RO"))
def sismember(client: Client, argv: Request) -> bytes:
    """Integer: 1 or 0. Source: Redis 7.2."""
    value: SetValue | None = client.lookup_typed(argv.word(1), SetValue)
    argv.mark_quick(0)
    return replies.ONE if value is not None and value.has(argv.word(2)) else replies.ZERO


@command("SMISMEMBER", arity=-3, flags=READONLY | FAST, keys=one_key(b"RO", b"ACCESS"))
def smismember(client: Client, argv: Request) -> bytes:
    """Array of integers, 1 or 0 for each. Source: Redis 7.2."""
    value = client.lookup_typed(argv[1], SetValue)
    found = () if value is None else value
    return replies.array([replies.ONE if member in found else replies.ZERO for member in argv[2:]])


@command("SCARD", arity=2, flags=READONLY | FAST, keys=one_key(b"RO"))
def scard(client: Client, argv: Request) -> bytes:
    """Integer; 0 without the key. Source: Redis 7.2."""
    value = client.lookup_typed(argv[1], SetValue)
    return replies.integer(0 if value is None else len(value))


@command("SMEMBERS", arity=2, flags=READONLY, keys=one_key(b"RO", b"ACCESS"))
def smembers(client: Client, argv: Request) -> bytes | LongReply:
    """Set of bulk strings. Source: Redis 7.2."""
    value: SetValue | None = client.lookup_typed(argv.word(1), SetValue)
    if value is None or value.encoding is INTSET:
        return members_reply([] if value is None else value.members(), client.resp)
    header = replies.set_header(len(value), client.resp)
    if len(value) > MANY_MEMBERS:
        twin = value.copy()
        return LongReply(chain((header,), twin.bulk_pieces(KEYS)), twin.release)
    reply = value.bulks(header, KEYS)
    argv.mark_quick(len(reply))
    return reply


def members_reply(members: list[bytes], resp: int) -> bytes | LongReply:
    """A set of members; in pieces if there are many."""
    header = replies.set_header(len(members), resp)
    if len(members) > MANY_MEMBERS:
        return LongReply(_pieces(header, members))
    return header + replies.bulks(members)


def _pieces(header: bytes, members: list[bytes]) -> Iterator[bytes]:
    yield header
    for start in range(0, len(members), MEMBERS_PER_PIECE):
        yield replies.bulks(members[start : start + MEMBERS_PER_PIECE])
