"""Look-up of keys without the side effects of `Client.lookup`, and of databases by index."""

from __future__ import annotations

from commands.core.arguments import parse_int
from commands.core.client import Client
from protocol import errors
from protocol.errors import ReplyError
from storage.keyspace.database import Database
from storage.types.value import Value


def find(client: Client, db: Database, key: bytes) -> Value | None:
    """The value in any database, None if there is none or it has expired; counts nothing."""
    value = db.values.get(key)
    if value is None or key not in db.expires or client.replays:
        return value
    if db.is_expired(key, client.instance.now_ms):
        client.instance.expire(db, key)
        return None
    return value


def peek(client: Client, key: bytes, tell_of_miss: bool = True) -> Value | None:
    """`Client.lookup` that leaves the access time alone, for commands that inspect a key.

    With `tell_of_miss` a missing key causes the event `keymiss`, as any read does.
    """
    instance = client.instance
    value = find(client, client.db, key)
    if value is not None:
        instance.stats.keyspace_hits += 1
        return value
    instance.stats.keyspace_misses += 1
    if tell_of_miss:
        instance.notify_miss(client.db, key)
    return None


def parse_database(client: Client, word: bytes) -> Database:
    """The database with the index `word`. Raises ReplyError if there is none."""
    index = parse_int(word)
    if not -(1 << 31) <= index < 1 << 31:
        raise ReplyError(errors.NOT_A_32_BIT_INTEGER)
    databases = client.instance.databases
    if not 0 <= index < len(databases):
        raise ReplyError(errors.DB_INDEX_OUT_OF_RANGE)
    return databases[index]
