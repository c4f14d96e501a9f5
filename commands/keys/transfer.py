"""RENAME, RENAMENX, COPY and MOVE: move or copy a value to another key or database.

The time to live moves with the value. The new key wakes the clients that wait for it.
"""

from __future__ import annotations

from commands.core import notifications
from commands.core.arguments import Arguments
from commands.core.client import Client
from commands.core.registry import DENYOOM, FAST, WRITE, command, one_key, two_keys
from commands.keys.lookup import find, parse_database
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from storage.keyspace.database import Database
from storage.types.value import Value


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
    when_ms = client.db.expires.get(key)
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
    _place(client, target, destination, twin, client.db.expires.get(source))
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
    when_ms = client.db.expires.get(key)
    client.instance.take(client.db, key)
    _place(client, target, key, value, when_ms)
    client.instance.dirty += 1
    _tell(client, client.db, b"move_from", key)
    _tell(client, target, b"move_to", key)
    return replies.ONE
