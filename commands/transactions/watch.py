"""WATCH and UNWATCH: keys whose change fails the client's next transaction.

A change of a watched key marks its watchers (`Instance.key_modified`). Expiry is a change too: EXEC
fails if a key that was alive when it was watched has expired since, removed or not. A key that had
already expired when it was watched counts as missing, so its removal changes nothing.

Source: Redis 7.2.
"""

from __future__ import annotations

from commands.core.client import Client
from commands.core.gates import GATE_MULTI
from commands.core.registry import (
    ALLOW_BUSY,
    FAST,
    LOADING,
    NOSCRIPT,
    STALE,
    UNQUEUED,
    command,
    keys_to_end,
)
from commands.transactions.watched_keys import WatchedKeys, Watchers
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request


@command(
    "WATCH",
    arity=-2,
    flags=NOSCRIPT | LOADING | STALE | FAST | ALLOW_BUSY | UNQUEUED,
    keys=keys_to_end(b"RO"),
)
def watch(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.2."""
    if client.gates & GATE_MULTI:
        raise ReplyError(errors.WATCH_INSIDE_MULTI)
    keys = client.feature(WatchedKeys)
    if keys.has_changed:
        return replies.OK  # the next transaction fails already, whatever else is watched
    watchers = client.instance.feature(Watchers)
    for key in argv[1:]:
        watchers.watch(client, keys, key)
    return replies.OK


@command("UNWATCH", arity=1, flags=NOSCRIPT | LOADING | STALE | FAST | ALLOW_BUSY)
def unwatch(client: Client, argv: Request) -> bytes:
    """Source: Redis 7.2."""
    client.instance.feature(Watchers).unwatch(client)
    return replies.OK


def a_watched_key_changed(client: Client) -> bool:
    """Return True if the transaction must fail because a watched key changed or expired."""
    keys, instance = client.feature_if_used(WatchedKeys), client.instance
    return keys is not None and (
        keys.has_changed
        or any(
            not was_expired and instance.databases[db_index].is_expired(key, instance.now_ms)
            for (db_index, key), was_expired in keys.expired.items()
        )
    )
