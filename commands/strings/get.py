"""GET, MGET, GETDEL and GETEX: a string as a whole."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from commands.core.arguments import Arguments
from commands.core.client import Client
from commands.core.registry import FAST, READONLY, WRITE, command, keys_to_end, one_key
from commands.keys.existence import delete
from commands.keys.expiry import persist_key, set_deadline
from commands.strings.lifetime import Lifetime
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from storage.types.strings import StringValue

if TYPE_CHECKING:
    from commands.core.instance import Instance
    from commands.state.stats import Stats
    from storage.keyspace.database import Database


@command("GET", arity=2, flags=READONLY | FAST, keys=one_key(b"RO", b"ACCESS"))
def get(client: Client, request: Request) -> bytes:
    """Bulk string, null without the key. Source: Redis 7.2."""
    db: Database = client.db
    key = request.word(1)
    value = db.values.get(key)
    if type(value) is StringValue and not db.expires:  # 0.28 us a request instead of 0.66
        string: StringValue = value
        instance: Instance = client.instance
        stats: Stats = instance.stats
        stats.keyspace_hits += 1
        if not client.no_touch:
            string.access_ms = instance.now_ms
        data = string.data
        request.mark_quick(len(data))
        return replies.bulk(data if type(data) is bytes else bytes(data))
    value = client.lookup_string(key)
    return replies.NIL[client.resp] if value is None else replies.bulk(value.to_bytes())


@command("MGET", arity=-2, flags=READONLY | FAST, keys=keys_to_end(b"RO", b"ACCESS"))
def mget(client: Client, argv: Request) -> bytes:
    """Array of bulk strings, null for a key that is not there or holds no string.

    Source: Redis 7.2.
    """
    nil = replies.NIL[client.resp]
    items = [replies.array_header(len(argv) - 1)]
    for value in map(client.lookup, islice(argv, 1, None)):
        if type(value) is StringValue:
            data = value.to_bytes()
            items.append(b"$%d\r\n%b\r\n" % (len(data), data))
        else:
            items.append(nil)
    return b"".join(items)


@command("GETDEL", arity=2, flags=WRITE | FAST, keys=one_key(b"RW", b"ACCESS", b"DELETE"))
def getdel(client: Client, argv: Request) -> bytes:
    """Bulk string, null without the key. Source: Redis 7.2."""
    value = client.lookup_string(argv[1])
    if value is None:
        return replies.NIL[client.resp]
    delete(client, argv[1])
    client.propagate(b"DEL", argv[1])
    return replies.bulk(value.to_bytes())


@command("GETEX", arity=-2, flags=WRITE | FAST, keys=one_key(b"RW", b"ACCESS", b"UPDATE"))
def getex(client: Client, argv: Request) -> bytes:
    """Bulk string, null without the key. Source: Redis 7.2."""
    key, now_ms = argv[1], client.instance.now_ms
    lifetime = _parse_getex_options(Arguments(argv, 2))
    value = client.lookup_string(key)
    if value is None:
        return replies.NIL[client.resp]  # even when the deadline is invalid
    deadline_ms = lifetime.deadline_ms(b"getex", now_ms)
    if lifetime.option == b"PERSIST":
        persist_key(client, key)
    elif deadline_ms is not None and deadline_ms <= now_ms and not client.replays:
        delete(client, key)
        client.propagate(b"DEL", key)
    elif deadline_ms is not None:
        set_deadline(client, key, deadline_ms)
    return replies.bulk(value.to_bytes())


def _parse_getex_options(arguments: Arguments) -> Lifetime:
    lifetime = Lifetime()
    while arguments:
        if not lifetime.take(arguments.next_keyword(), arguments, b"PERSIST"):
            raise ReplyError(errors.SYNTAX)
    return lifetime
