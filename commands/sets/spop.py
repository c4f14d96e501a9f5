"""SPOP and SRANDMEMBER: members chosen at random.

SPOP is propagated as an SREM of the removed members, or as a DEL if it removed all.
"""

from __future__ import annotations

from collections.abc import Iterator

from commands.core import notifications
from commands.core.arguments import INT64_MAX, parse_int
from commands.core.client import Client
from commands.core.long_reply import LongReply
from commands.core.registry import FAST, READONLY, WRITE, command, one_key
from commands.sets.members import (
    MANY_MEMBERS,
    MEMBERS_PER_PIECE,
    members_reply,
    remove_if_empty,
)
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from storage.types.sets import SetValue

# The number of members in one propagated SREM.
MEMBERS_PER_REQUEST = 1024


@command("SPOP", arity=-2, flags=WRITE | FAST, keys=one_key(b"RW", b"ACCESS", b"DELETE"))
def spop(client: Client, argv: Request) -> bytes | LongReply:
    """Bulk string, or null without the key; with `count`, a set. Source: Redis 7.2."""
    if len(argv) > 3:
        raise ReplyError(errors.SYNTAX)
    key = argv[1]
    if len(argv) == 3:
        return _pop_several(client, key, parse_int(argv[2], errors.NOT_POSITIVE, minimum=0))
    value = client.lookup_typed_for_write(key, SetValue)
    if value is None:
        return replies.NIL[client.resp]
    member = value.pick(client.instance.host.random_below)
    value.remove(member)
    client.notify(notifications.SET, b"spop", key)
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


@command("SRANDMEMBER", arity=-2, flags=READONLY, keys=one_key(b"RO", b"ACCESS"))
def srandmember(client: Client, argv: Request) -> bytes | LongReply:
    """Bulk string, or null without the key; with `count` an array, in which members repeat if it is
    negative. Source: Redis 7.2."""
    if len(argv) > 3:
        raise ReplyError(errors.SYNTAX)
    count = parse_random_count(argv[2]) if len(argv) == 3 else None
    value = client.lookup_typed(argv[1], SetValue)
    below = client.instance.host.random_below
    if value is None:
        return replies.NIL[client.resp] if count is None else replies.EMPTY_ARRAY
    if count is None:
        return replies.bulk(value.pick(below))
    if count < -MANY_MEMBERS:
        return LongReply(_picks(client, value.copy(), -count))
    if count < 0:
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
    yield replies.array_header(count)
    while count:
        some = min(count, MEMBERS_PER_PIECE)
        yield b"".join([replies.bulk(value.pick(below)) for _ in range(some)])
        count -= some
