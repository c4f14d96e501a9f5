"""Look-up of hashes for commands, with removal of expired fields (lazy expiry).

An expired field reads as missing. A command that names one removes it first, as commands do with
expired keys; commands that read the whole hash skip it. Requests from a primary or a file were
accepted before, and see every field.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from commands.core import notifications
from commands.core.client import Client
from commands.core.gates import KEEPING_GATES
from commands.core.instance import Instance
from storage.keyspace.database import Database
from storage.types.hashes import HashValue


def read_fields(client: Client, key: bytes, names: Sequence[bytes]) -> HashValue | None:
    """The hash for a command that reads fields by their names. Raises WRONGTYPE."""
    found = client.lookup_typed(key, HashValue)
    return (
        found if found is None or found.expires is None else remove_named(client, key, found, names)
    )


def write_fields(client: Client, key: bytes, names: Sequence[bytes]) -> HashValue | None:
    """The hash for a command that changes fields by their names. Raises WRONGTYPE."""
    found = client.lookup_typed_for_write(key, HashValue)
    return (
        found if found is None or found.expires is None else remove_named(client, key, found, names)
    )


def time_for(client: Client) -> int | None:
    """The time (Unix ms) up to which fields count as expired for a client; None: none do."""
    return None if client.replays else client.instance.now_ms


def remove_named(
    client: Client, key: bytes, found: HashValue, names: Iterable[bytes]
) -> HashValue | None:
    """Remove the expired ones of the named fields for a command; None if the hash is empty then.

    On a replica they stay, hidden from clients, until the primary's HDEL arrives.
    """
    if client.replays:
        return found
    now_ms = client.instance.now_ms
    due = [name for name in dict.fromkeys(names) if found.is_expired(name, now_ms)]
    if not due:
        return found
    if client.instance.gates & KEEPING_GATES:
        found = found.copy()
        for name in due:
            found.delete(name)
    else:
        remove_expired(client.instance, client.db, key, found, due)
    return found if len(found) else None


def remove_expired(
    instance: Instance, db: Database, key: bytes, value: HashValue, due: Sequence[bytes]
) -> None:
    """Remove expired fields. Replicas and the append-only file get an HDEL for each."""
    for field in due:
        value.delete(field)
        instance.propagate(db.index, [b"HDEL", key, field])
    instance.stats.expired_subkeys += len(due)
    instance.notify_fields(b"hexpired", key, due, db.index)
    if len(value):
        db.watch_fields(key)
    else:
        instance.remove(db, key)
        instance.notify(notifications.GENERIC, b"del", key, db.index)
    instance.key_modified(db, key, None)


def remove_fields(client: Client, key: bytes, value: HashValue, names: Iterable[bytes]) -> int:
    """Remove fields for a command, and the key with the last of them; return how many existed.

    Notifies `hdel`, and `del` for the key. Propagation is left to the command.
    """
    removed = [name for name in names if value.delete(name)]
    if removed:
        removed_fields(client, key, value, removed)
    return len(removed)


def removed_fields(client: Client, key: bytes, value: HashValue, removed: Sequence[bytes]) -> None:
    """Fields of a hash were removed: notify, and remove the key if none is left."""
    client.modified(key, len(removed))
    client.notify_fields(b"hdel", key, removed)
    finish_change(client, key, value)


def finish_change(client: Client, key: bytes, value: HashValue) -> None:
    """After fields or their times were changed: remove a hash without fields."""
    if len(value):
        client.db.watch_fields(key)
    else:
        client.remove(key)
        client.notify(notifications.GENERIC, b"del", key)
