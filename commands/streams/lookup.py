"""Streams and groups by name, with the errors that several commands share.

Damaged nodes of streams: the error that names the key, and the line in the log. A node from a
snapshot whose checksum was right may be damaged nevertheless, and is not unpacked before it is read
(storage/nodes/listpack_node.py). `sanitize-dump-payload yes` finds it on loading.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from commands.core.client import Client
from protocol import errors
from protocol.errors import ReplyError
from storage.groups.group import Group
from storage.keyspace.database import Database
from storage.nodes.listpack_node import DamagedNode
from storage.stream import Stream


def find_group(client: Client, key: bytes, name: bytes) -> tuple[Stream, Group]:
    """The stream at `key` and its group, for XPENDING, XCLAIM and XAUTOCLAIM.

    Raises WRONGTYPE, and NOGROUP if there is no key or no group.
    """
    stream: Stream | None = client.lookup_stream(key)
    group = None if stream is None else stream.groups.get(name)
    if stream is None or group is None:
        raise errors.no_key_or_group(key, name)
    return stream, group


def group_of(stream: Stream, key: bytes, name: bytes) -> Group:
    """A group of a stream that is there, for XGROUP and XINFO. Raises NOGROUP."""
    group = stream.groups.get(name)
    if group is None:
        raise errors.no_group_for_key(key, name)
    return group


# -- damage ------------------------------------------------------------------------------------


def report_damage(client: Client, error: DamagedNode, keys: Iterable[bytes] = ()) -> ReplyError:
    """Log damage that a client's command has met, once for each node; the error for the client.

    `keys`: those of its request. Where none of them has the damage, all keys are searched.
    """
    instance = client.instance
    places = ((client.db, key) for key in keys)
    found = _first_damaged(places, error)
    if found is None and error.is_first:
        found = _first_damaged(chain.from_iterable(map(_all_keys, instance.databases)), error)
    db, key = found or (client.db, None)
    if error.is_first:
        name = "a stream" if key is None else f"stream '{instance.shown(key)}'"
        where = f"Damage in {name} of database {db.index}"
        instance.host.log(
            "warning", f"{where}: {error}. Restore it from a backup or a replica, or trim it"
        )
    return errors.damaged_stream(key, str(error).encode())


def _all_keys(db: Database) -> Iterator[tuple[Database, bytes]]:
    return ((db, key) for key in db)


def _first_damaged(
    places: Iterable[tuple[Database, bytes]], error: DamagedNode
) -> tuple[Database, bytes] | None:
    for db, key in places:
        value = db.values.get(key)
        if isinstance(value, Stream) and value.has_damage(error.key):
            return db, key
    return None
