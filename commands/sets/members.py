"""The commands on a single set: SADD, SREM, SMOVE, SISMEMBER, SSCAN, SPOP, SRANDMEMBER ...

SPOP is propagated as an SREM of the removed members, or as a DEL if it removed all.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import cython

from commands.core import notifications
from commands.core.arguments import INT64_MAX, Arguments, parse_int
from commands.core.client import Client
from commands.core.instance import Instance
from commands.core.long_reply import (
    LONG_BYTES,
    LongReply,
    in_pieces,
    is_long,
    items_per_piece,
    sliced_bulks,
)
from commands.core.registry import DENYOOM, FAST, READONLY, WRITE, command, one_key, two_keys
from commands.keys.scan import matching, parse_cursor, parse_scan_options
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.replies import EMPTY_ARRAY, NIL, ONE, ZERO
from protocol.request import Request
from storage.types.key_part import KEYS
from storage.types.sets import INTSET, SetValue

_EVENTS: cython.long = notifications.SET
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
        client.notify(_EVENTS, b"sadd", key)
    return replies.integer(added)


@command("SREM", arity=-3, flags=WRITE | FAST, keys=one_key(b"RW", b"DELETE"))
def srem(client: Client, argv: Request) -> bytes:
    """Integer: how many were in the set. Source: Redis 7.2."""
    key = argv.word(1)
    value: SetValue | None = client.lookup_typed_for_write(key, SetValue)
    if value is None:
        return ZERO
    removed: cython.Py_ssize_t = 0
    index: cython.Py_ssize_t
    for index in range(2, argv.count):
        removed += value.remove(argv.word(index))
    if removed:
        client.modified(key, removed)
        client.notify(_EVENTS, b"srem", key)
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
        return ZERO
    target = client.lookup_typed_for_write(target_key, SetValue)
    if source is target:
        return ONE if member in source else ZERO
    if not source.remove(member):
        return ZERO
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
    return ONE


@command("SISMEMBER", arity=3, flags=READONLY | FAST, keys=one_key(b"RO"))
def sismember(client: Client, argv: Request) -> bytes:
    """Integer: 1 or 0. Source: Redis 7.2."""
    value: SetValue | None = client.lookup_typed(argv.word(1), SetValue)
    return ONE if value is not None and value.has(argv.word(2)) else ZERO


@command("SMISMEMBER", arity=-3, flags=READONLY | FAST, keys=one_key(b"RO", b"ACCESS"))
def smismember(client: Client, argv: Request) -> bytes:
    """Array of integers, 1 or 0 for each. Source: Redis 7.2."""
    value = client.lookup_typed(argv[1], SetValue)
    found = () if value is None else value
    return replies.array([ONE if member in found else ZERO for member in argv[2:]])


@command("SCARD", arity=2, flags=READONLY | FAST, keys=one_key(b"RO"))
def scard(client: Client, argv: Request) -> bytes:
    """Integer; 0 without the key. Source: Redis 7.2."""
    value: SetValue | None = client.lookup_typed(argv.word(1), SetValue)
    return replies.integer(0 if value is None else len(value))


@command("SMEMBERS", arity=2, flags=READONLY, keys=one_key(b"RO", b"ACCESS"), is_quick=True)
def smembers(client: Client, argv: Request) -> bytes | LongReply:
    """Set of bulk strings. Source: Redis 7.2."""
    value: SetValue | None = client.lookup_typed(argv.word(1), SetValue)
    if value is None or value.encoding is INTSET:
        return members_reply([] if value is None else value.members(), client.resp)
    header = replies.set_header(len(value), client.resp)
    if len(value) > MANY_MEMBERS or value.memory_bytes() > LONG_BYTES:
        twin = value.copy()
        return LongReply(in_pieces(chain((header,), twin.bulk_pieces(KEYS))), twin.release)
    return value.bulks(header, KEYS)


def members_reply(members: list[bytes], resp: int) -> bytes | LongReply:
    """A set of members; in pieces if there are many."""
    header = replies.set_header(len(members), resp)
    if len(members) > MANY_MEMBERS:
        return LongReply(sliced_bulks(header, members, MEMBERS_PER_PIECE))
    return header + replies.bulks(members)


@command("SSCAN", arity=-3, flags=READONLY, keys=one_key(b"RO", b"ACCESS"))
def sscan(client: Client, argv: Request) -> bytes:
    """Array of two: the next cursor, 0 at the end, and an array of members. Source: Redis 7.2."""
    cursor = parse_cursor(argv[2])
    value = client.lookup_typed(argv[1], SetValue)
    members: list[bytes] = []
    following = 0
    if value is not None:
        # Without the key the options are not parsed, as in Redis.
        options = parse_scan_options(Arguments(argv, 3))
        following, seen = value.scan(cursor, options.count)
        members = list(matching(seen, options.pattern))
    return replies.array([replies.bulk(b"%d" % following), replies.bulk_array(members)])


# The number of members in one propagated SREM.
MEMBERS_PER_REQUEST = 1024


@command("SPOP", arity=-2, flags=WRITE | FAST, keys=one_key(b"RW", b"ACCESS", b"DELETE"))
def spop(client: Client, argv: Request) -> bytes | LongReply:
    """Bulk string, or null without the key; with `count`, a set. Source: Redis 7.2."""
    if argv.count > 3:
        raise ReplyError(errors.SYNTAX)
    key = argv.word(1)
    if argv.count == 3:
        return _pop_several(client, key, parse_int(argv.word(2), errors.NOT_POSITIVE, minimum=0))
    value: SetValue | None = client.lookup_typed_for_write(key, SetValue)
    if value is None:
        return NIL[client.resp]
    instance: Instance = client.instance
    member: bytes = value.pick(instance.chance)
    value.remove(member)
    client.notify(_EVENTS, b"spop", key)
    if instance.propagation.sinks:
        client.propagate(b"SREM", key, member)
    remove_if_empty(client, key, value)
    client.modified(key)
    return replies.bulk(member)


def _pop_several(client: Client, key: bytes, count: int) -> bytes | LongReply:
    value = client.lookup_typed_for_write(key, SetValue)
    if value is None or not count:
        return replies.set_header(0, client.resp)
    client.notify(notifications.SET, b"spop", key)
    if count >= len(value):
        members = value.members()
        client.remove(key)
        client.notify(notifications.GENERIC, b"del", key)
        client.propagate(b"DEL", key)
    else:
        members = value.sample(count, client.instance.host.random_below)
        for member in members:
            value.remove(member)
        for start in range(0, count, MEMBERS_PER_REQUEST):
            client.propagate(b"SREM", key, *members[start : start + MEMBERS_PER_REQUEST])
    client.modified(key, len(members))
    return members_reply(members, client.resp)


@command("SRANDMEMBER", arity=-2, flags=READONLY, keys=one_key(b"RO", b"ACCESS"), is_quick=True)
def srandmember(client: Client, argv: Request) -> bytes | LongReply:
    """Bulk string, or null without the key; with `count` an array, in which members repeat if it is
    negative. Source: Redis 7.2."""
    if len(argv) > 3:
        raise ReplyError(errors.SYNTAX)
    count = parse_random_count(argv[2]) if len(argv) == 3 else None
    value = client.lookup_typed(argv[1], SetValue)
    below = client.instance.host.random_below
    if value is None:
        return NIL[client.resp] if count is None else EMPTY_ARRAY
    if count is None:
        return replies.bulk(value.pick(below))
    if count < 0:
        if is_long(-count, value.memory_bytes() // len(value), MANY_MEMBERS):
            return LongReply(_picks(client, value.copy(), -count))
        return replies.bulk_array([value.pick(below) for _ in range(-count)])
    members = value.members() if count >= len(value) else value.sample(count, below)
    return replies.bulk_array(members)


def parse_random_count(word: bytes) -> int:
    """The `count` of SRANDMEMBER and ZRANDMEMBER: its opposite has to be a number, too."""
    count = parse_int(word)
    if count < -INT64_MAX:
        raise ReplyError(errors.RANDOM_COUNT_OUT_OF_RANGE)
    return count


def _picks(client: Client, value: SetValue, count: int) -> Iterator[bytes]:
    """The reply of `count` members, any of which may repeat, in pieces."""
    below = client.instance.host.random_below
    per_piece = items_per_piece(value.memory_bytes() // len(value), MEMBERS_PER_PIECE)
    yield replies.array_header(count)
    while count:
        some = min(count, per_piece)
        yield b"".join([replies.bulk(value.pick(below)) for _ in range(some)])
        count -= some
