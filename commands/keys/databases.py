"""FLUSHDB, FLUSHALL, SWAPDB; RENAME, RENAMENX, COPY and MOVE.

ASYNC and SYNC are accepted and mean the same: the keys are removed when the reply is sent, and
their memory is freed incrementally in the background (commands/core/background_work.py).

The time to live moves with a value. The new key wakes the clients that wait for it.
"""

from __future__ import annotations

from collections.abc import Iterable

from commands.connection.invalidation_table import TrackingTable
from commands.core import notifications
from commands.core.arguments import Arguments, parse_int
from commands.core.client import Client
from commands.core.instance import Instance
from commands.core.registry import DENYOOM, FAST, WRITE, command, one_key, two_keys
from commands.core.services import Services
from commands.keys.existence import find, parse_database
from commands.streams.policies.timer import PolicyTimer
from commands.transactions.watched_keys import Watchers
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from storage.keyspace.database import Database
from storage.types.value import Value


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
    """Remove all keys, without propagation."""
    _flush(instance, instance.databases)


def _flush(instance: Instance, databases: list[Database]) -> None:
    nothing = Database(-1)
    for db in databases:
        _fail_watchers(instance, db, nothing)
        instance.dirty += db.clear()
    instance.ready_keys.signal_all(databases)
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
    instance.ready_keys.signal_all((first, second))
    instance.feature(PolicyTimer).swap(first.index, second.index)


def _fail_watchers(instance: Instance, db: Database, replacement: Database) -> None:
    """Fail the transactions that watch a key of `db` while `replacement` takes its place.

    A key that neither database has is unchanged. A key that was missing or expired when it was
    watched is changed only if the replacement has a live one: an expired key counts as missing.
    """
    by_key = instance.feature(Watchers).by_key
    places: Iterable[tuple[int, bytes]] = by_key
    if len(db) + len(replacement) < len(by_key):
        places = ((db.index, key) for key in {*db.keys(), *replacement.keys()})
    for index, key in places:
        if index != db.index or (key not in db and key not in replacement):
            continue
        watchers = by_key.get((index, key), ())
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


@command(
    "RENAME", arity=3, flags=WRITE, keys=two_keys((b"RW", b"ACCESS", b"DELETE"), (b"OW", b"UPDATE"))
)
def rename(client: Client, argv: Request) -> bytes:
    """OK. Raises `no such key`. Source: Redis 7.2."""
    _, key, new_key = argv
    value = _source(client, key)
    if key != new_key:
        _rename(client, key, new_key, value)
    return replies.OK


@command(
    "RENAMENX",
    arity=3,
    flags=WRITE | FAST,
    keys=two_keys((b"RW", b"ACCESS", b"DELETE"), (b"OW", b"INSERT")),
)
def renamenx(client: Client, argv: Request) -> bytes:
    """Integer: 1 if it was renamed. Raises `no such key`. Source: Redis 7.2."""
    _, key, new_key = argv
    value = _source(client, key)
    if find(client, client.db, new_key) is not None:
        return replies.ZERO
    _rename(client, key, new_key, value)
    return replies.ONE


def _source(client: Client, key: bytes) -> Value:
    value = client.lookup_for_write(key)
    if value is None:
        raise ReplyError(errors.NO_SUCH_KEY)
    return value


def _rename(client: Client, key: bytes, new_key: bytes, value: Value) -> None:
    when_ms = client.db.deadline(key)
    old = find(client, client.db, new_key)
    if old is not None:
        client.remove(new_key)
    client.instance.take(client.db, key)
    _place(client, client.db, new_key, value, when_ms)
    client.modified(key)
    client.modified(new_key, 0)
    client.notify(notifications.GENERIC, b"rename_from", key)
    client.notify(notifications.GENERIC, b"rename_to", new_key)
    if old is not None:
        client.instance.notify_overwritten(client.db, new_key, old, value)


def _place(client: Client, db: Database, key: bytes, value: Value, when_ms: int | None) -> None:
    """Set a new key to a value, with its time to live."""
    client.instance.store(db, key, value)
    if when_ms is not None:
        client.expire_at(db, key, when_ms)


def _tell(client: Client, db: Database, event: bytes, key: bytes) -> None:
    """`Client.modified` and `Client.notify` for a key of any database."""
    instance = client.instance
    instance.key_modified(db, key, client)
    instance.notify(notifications.GENERIC, event, key, db.index)


@command(
    "COPY", arity=-3, flags=WRITE | DENYOOM, keys=two_keys((b"RO", b"ACCESS"), (b"OW", b"UPDATE"))
)
def copy(client: Client, argv: Request) -> bytes:
    """Integer: 1 if it was copied; 0 without a source, or if the destination is taken.

    Source: Redis 7.2.
    """
    source, destination = argv[1], argv[2]
    target, replace = _parse_copy_options(client, Arguments(argv, 3))
    if target is client.db and source == destination:
        raise ReplyError(errors.SAME_OBJECT)
    value = client.lookup(source)
    if value is None:
        return replies.ZERO
    instance = client.instance
    old = find(client, target, destination)
    if old is not None:
        if not replace:
            return replies.ZERO
        instance.remove(target, destination)
    twin = value.copy()
    twin.access_ms = instance.now_ms
    _place(client, target, destination, twin, client.db.deadline(source))
    instance.dirty += 1
    _tell(client, target, b"copy_to", destination)
    if old is not None:
        instance.notify_overwritten(target, destination, old, twin)
    return replies.ONE


def _parse_copy_options(client: Client, arguments: Arguments) -> tuple[Database, bool]:
    """The destination's database and whether to replace what is there."""
    target, replace = client.db, False
    while arguments:
        option = arguments.next_keyword()
        if option == b"REPLACE":
            replace = True
        elif option == b"DB":
            target = parse_database(client, arguments.next())
        else:
            raise ReplyError(errors.SYNTAX)
    return target, replace


@command("MOVE", arity=3, flags=WRITE | FAST, keys=one_key(b"RW", b"ACCESS", b"UPDATE"))
def move(client: Client, argv: Request) -> bytes:
    """Integer: 1 if it was moved; 0 without the key, or if the other database has it.

    Source: Redis 7.2.
    """
    if client.instance.is_cluster:
        raise ReplyError(errors.MOVE_IN_CLUSTER)
    key, target = argv[1], parse_database(client, argv[2])
    if target is client.db:
        raise ReplyError(errors.SAME_OBJECT)
    value = client.lookup_for_write(key)
    if value is None or find(client, target, key) is not None:
        return replies.ZERO
    when_ms = client.db.deadline(key)
    client.instance.take(client.db, key)
    _place(client, target, key, value, when_ms)
    client.instance.dirty += 1
    _tell(client, client.db, b"move_from", key)
    _tell(client, target, b"move_to", key)
    return replies.ONE
