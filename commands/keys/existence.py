"""DEL, UNLINK, EXISTS, TOUCH and TYPE: which keys there are.

DEL and UNLINK do the same: the key is removed at once, and the memory of a large value is freed
incrementally in the background (storage/keyspace/deferred_free.py).
"""

from __future__ import annotations

from commands.core.client import Client
from commands.core.registry import FAST, READONLY, WRITE, Argv, command, keys_to_end, one_key
from commands.keys.lookup import find, peek
from commands.state import notifications
from protocol import replies
from storage.types.value import type_name

_SUM_OF_SHARDS = (b"request_policy:multi_shard", b"response_policy:agg_sum")


@command(
    "DEL",
    arity=-2,
    flags=WRITE,
    keys=keys_to_end(b"RM", b"DELETE"),
    group="generic",
    since="1.0.0",
    summary="Removes keys.",
    syntax="key [key ...]",
    complexity="O(N) with N the number of keys, and for a stream the number of its nodes.",
    tips=_SUM_OF_SHARDS,
)
def del_(client: Client, argv: Argv) -> bytes:
    """Integer: how many keys were there. Source: Redis 7.2."""
    return replies.integer(sum(delete(client, key) for key in argv[1:]))


@command(
    "UNLINK",
    arity=-2,
    flags=WRITE | FAST,
    keys=keys_to_end(b"RM", b"DELETE"),
    group="generic",
    since="4.0.0",
    summary="Removes keys, as DEL does.",
    syntax="key [key ...]",
    complexity="O(N) with N the number of keys, and for a stream the number of its nodes.",
    tips=_SUM_OF_SHARDS,
)
def unlink(client: Client, argv: Argv) -> bytes:
    """Integer: how many keys were there. Source: Redis 7.2."""
    return replies.integer(sum(delete(client, key) for key in argv[1:]))


def delete(client: Client, key: bytes) -> bool:
    """Remove a key and notify; False if it was not there or had expired.

    Propagation is left to the command.
    """
    if find(client, client.db, key) is None:
        return False
    client.instance.remove(client.db, key)
    client.modified(key)
    client.notify(notifications.GENERIC, b"del", key)
    return True


@command(
    "EXISTS",
    arity=-2,
    flags=READONLY | FAST,
    keys=keys_to_end(b"RO"),
    group="generic",
    since="1.0.0",
    summary="Counts the given keys that exist.",
    syntax="key [key ...]",
    complexity="O(N) with N the number of keys.",
    history=(("3.0.3", "Accepts several `key` arguments."),),
    tips=_SUM_OF_SHARDS,
)
def exists(client: Client, argv: Argv) -> bytes:
    """Integer; a key that is named twice counts twice. Source: Redis 7.2."""
    return replies.integer(sum(peek(client, key) is not None for key in argv[1:]))


@command(
    "TOUCH",
    arity=-2,
    flags=READONLY | FAST,
    keys=keys_to_end(b"RO"),
    group="generic",
    since="3.2.1",
    summary="Marks keys as used just now and counts those that exist.",
    syntax="key [key ...]",
    complexity="O(N) with N the number of keys.",
    tips=_SUM_OF_SHARDS,
)
def touch(client: Client, argv: Argv) -> bytes:
    """Integer: how many keys exist. CLIENT NO-TOUCH does not apply. Source: Redis 7.2."""
    count = 0
    for key in argv[1:]:
        value = client.lookup(key)
        if value is not None:
            value.access_ms = client.instance.now_ms
            count += 1
    return replies.integer(count)


@command(
    "TYPE",
    arity=2,
    flags=READONLY | FAST,
    keys=one_key(b"RO"),
    group="generic",
    since="1.0.0",
    summary="Returns the type of a key's value.",
    syntax="key",
)
def type_(client: Client, argv: Argv) -> bytes:
    """Simple string: string, list, set, zset, hash or stream; none without the key.

    Source: Redis 7.2.
    """
    return replies.simple(type_name(peek(client, argv[1])))
