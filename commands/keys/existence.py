"""DEL, UNLINK, EXISTS, TOUCH and TYPE: which keys there are.

DEL and UNLINK do the same: the key is removed at once, and the memory of a large value is freed
incrementally in the background (storage/keyspace/deferred_free.py).
"""

from __future__ import annotations

from commands.core import notifications
from commands.core.client import Client
from commands.core.registry import FAST, READONLY, WRITE, command, keys_to_end, one_key
from commands.keys.lookup import find, peek
from protocol import replies
from protocol.request import Request
from storage.types.value import type_name


@command("DEL", arity=-2, flags=WRITE, keys=keys_to_end(b"RM", b"DELETE"))
def del_(client: Client, argv: Request) -> bytes:
    """Integer: how many keys were there. Source: Redis 7.2."""
    return replies.integer(sum(delete(client, key) for key in argv[1:]))


@command("UNLINK", arity=-2, flags=WRITE | FAST, keys=keys_to_end(b"RM", b"DELETE"))
def unlink(client: Client, argv: Request) -> bytes:
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


@command("EXISTS", arity=-2, flags=READONLY | FAST, keys=keys_to_end(b"RO"))
def exists(client: Client, argv: Request) -> bytes:
    """Integer; a key that is named twice counts twice. Source: Redis 7.2."""
    return replies.integer(sum(peek(client, key) is not None for key in argv[1:]))


@command("TOUCH", arity=-2, flags=READONLY | FAST, keys=keys_to_end(b"RO"))
def touch(client: Client, argv: Request) -> bytes:
    """Integer: how many keys exist. CLIENT NO-TOUCH does not apply. Source: Redis 7.2."""
    count = 0
    for key in argv[1:]:
        value = client.lookup(key)
        if value is not None:
            if client.no_touch or not client.instance.reads_touch:
                client.instance.touch(value)
            count += 1
    return replies.integer(count)


@command("TYPE", arity=2, flags=READONLY | FAST, keys=one_key(b"RO"))
def type_(client: Client, argv: Request) -> bytes:
    """Simple string: string, list, set, zset, hash or stream; none without the key.

    Source: Redis 7.2.
    """
    return replies.simple(type_name(peek(client, argv[1])))
