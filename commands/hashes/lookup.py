"""Finding a hash for a command, and removing the fields of it that have expired.

A field whose time is past reads as if it were not there. A command that names such a field removes
it first, as a command does with a key that has expired; commands that read the whole hash pass
over it. What a primary or a file sends was accepted before, and finds every field.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from commands.core.client import Client
from commands.core.instance import GATE_READ_ONLY, Instance
from commands.state import notifications
from storage.hashes import HashValue
from storage.keyspace import Database


def read_fields(client: Client, key: bytes, names: Sequence[bytes]) -> HashValue | None:
    """The hash for a command that reads fields by their names. Raises WRONGTYPE."""
    found = client.lookup_typed(key, HashValue)
    return found if found is None or not found.expires else _current(client, key, found, names)


def read_all(client: Client, key: bytes) -> dict[bytes, bytes] | None:
    """The fields for a command that reads the whole hash, not to be changed. Raises WRONGTYPE."""
    found = client.lookup_typed(key, HashValue)
    return None if found is None else found.live_fields(time_for(client))


def write_fields(client: Client, key: bytes, names: Sequence[bytes]) -> HashValue | None:
    """The hash for a command that changes fields by their names. Raises WRONGTYPE."""
    found = client.lookup_typed_for_write(key, HashValue)
    return found if found is None or not found.expires else _current(client, key, found, names)


def time_for(client: Client) -> int | None:
    """The time by which fields have expired for a client; None if none has."""
    return None if client.replays else client.instance.now_ms


def _current(
    client: Client, key: bytes, found: HashValue, names: Iterable[bytes]
) -> HashValue | None:
    """A hash without those of the fields that have expired; None if nothing is left of it.

    On a replica they stay, hidden from clients, until the primary says so.
    """
    if client.replays:
        return found
    now_ms = client.instance.now_ms
    due = [name for name in dict.fromkeys(names) if found.is_expired(name, now_ms)]
    if not due:
        return found
    if client.instance.gates & GATE_READ_ONLY:
        found = found.copy()
        for name in due:
            found.delete(name)
    else:
        remove_expired(client.instance, client.db, key, found, due)
    return found if found.fields else None


def remove_expired(
    instance: Instance, db: Database, key: bytes, value: HashValue, due: Sequence[bytes]
) -> None:
    """Remove fields whose time is past. Replicas and the file get an HDEL for each."""
    for field in due:
        value.delete(field)
        instance.dispatcher.propagate(db.index, [b"HDEL", key, field])
    instance.stats.expired_subkeys += len(due)
    instance.notify_fields(b"hexpired", key, due, db.index)
    if value.fields:
        db.watch_fields(key)
    else:
        instance.remove(db, key)
        instance.notify(notifications.GENERIC, b"del", key, db.index)
    instance.key_modified(db, key, None)


def remove_fields(client: Client, key: bytes, value: HashValue, names: Iterable[bytes]) -> int:
    """Remove fields for a command, and the key with the last of them; how many were there.

    Notifies `hdel`, and `del` for the key. What is propagated is up to the command.
    """
    removed = [name for name in names if value.delete(name)]
    if removed:
        removed_fields(client, key, value, removed)
    return len(removed)


def removed_fields(client: Client, key: bytes, value: HashValue, removed: Sequence[bytes]) -> None:
    """Fields of a hash were removed: notify, and remove the key if none is left."""
    client.modified(key, len(removed))
    client.notify_fields(b"hdel", key, removed)
    settle(client, key, value)


def settle(client: Client, key: bytes, value: HashValue) -> None:
    """After fields or their times were changed: remove a hash without fields."""
    if value.fields:
        client.db.watch_fields(key)
    else:
        client.remove(key)
        client.notify(notifications.GENERIC, b"del", key)
