"""FLUSHDB, FLUSHALL and SWAPDB: whole databases.

ASYNC and SYNC are accepted and mean the same: the keys are removed when the reply is sent, and
their memory is freed incrementally in the background (commands/core/background_work.py).
"""

from __future__ import annotations

from commands.connection.invalidation_table import TrackingTable
from commands.core.arguments import parse_int
from commands.core.client import Client
from commands.core.instance import Instance
from commands.core.registry import FAST, WRITE, command
from commands.core.services import Services
from commands.transactions.watched_keys import Watchers
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from storage.keyspace.database import Database


@command("FLUSHDB", arity=-1, flags=WRITE)
def flushdb(client: Client, argv: Request) -> bytes:
    """OK. Propagated even when there was nothing to remove. Source: Redis 7.2."""
    _check_flush_mode(argv)
    _flush(client.instance, [client.db])
    client.propagate(*argv)
    return replies.OK


@command("FLUSHALL", arity=-1, flags=WRITE)
def flushall(client: Client, argv: Request) -> bytes:
    """OK. Propagated even when there was nothing to remove."""
    _check_flush_mode(argv)
    _flush(client.instance, client.instance.databases)
    if not client.replays:
        client.instance.feature(Services).persistence.all_data_flushed()
    client.propagate(*argv)
    return replies.OK


def _check_flush_mode(argv: Request) -> None:
    if len(argv) > 2 or (len(argv) == 2 and argv[1].upper() not in (b"ASYNC", b"SYNC")):
        raise ReplyError(errors.SYNTAX)


def empty(instance: Instance) -> None:
    """Remove all keys, without a word to replicas or the append-only file."""
    _flush(instance, instance.databases)


def _flush(instance: Instance, databases: list[Database]) -> None:
    nothing = Database(-1)
    for db in databases:
        _fail_watchers(instance, db, nothing)
        instance.dirty += db.clear()
        instance.ready_keys.signal_all(db.index)
    instance.entry_cache.clear()  # nodes of other databases are unpacked again when read
    # Client-side caches do not distinguish databases: invalidate everything.
    instance.feature(TrackingTable).invalidate_all()


@command("SWAPDB", arity=3, flags=WRITE | FAST)
def swapdb(client: Client, argv: Request) -> bytes:
    """OK. Clients stay with the index of their database. Source: Redis 7.2."""
    instance = client.instance
    if instance.is_cluster:
        raise ReplyError(errors.SWAPDB_IN_CLUSTER)
    first_index = _parse_index(argv[1], errors.INVALID_FIRST_DB)
    second_index = _parse_index(argv[2], errors.INVALID_SECOND_DB)
    count = len(instance.databases)
    if not (0 <= first_index < count and 0 <= second_index < count):
        raise ReplyError(errors.DB_INDEX_OUT_OF_RANGE)
    if first_index != second_index:
        _swap(instance, instance.databases[first_index], instance.databases[second_index])
    instance.dirty += 1
    return replies.OK


def _parse_index(word: bytes, error: bytes) -> int:
    return parse_int(word, error, minimum=-(1 << 31), maximum=(1 << 31) - 1)


def _swap(instance: Instance, first: Database, second: Database) -> None:
    _fail_watchers(instance, first, second)
    _fail_watchers(instance, second, first)
    first.swap_content(second)
    for db in (first, second):
        instance.ready_keys.signal_all(db.index)


def _fail_watchers(instance: Instance, db: Database, replacement: Database) -> None:
    """Fail the transactions that watch a key of `db` while `replacement` takes its place.

    A key that neither database has is unchanged. A key that was missing or expired when it was
    watched is changed only if the replacement has a live one: an expired key counts as missing.
    """
    for (index, key), watchers in instance.feature(Watchers).by_key.items():
        if index != db.index or (key not in db and key not in replacement):
            continue
        arrives = key in replacement and not replacement.is_expired(key, instance.now_ms)
        for watched in watchers:
            was_expired = watched.expired[index, key]
            if was_expired or key not in db:
                if arrives:
                    watched.has_changed = True
                else:
                    watched.expired[index, key] = key in replacement
            else:
                watched.has_changed = True
