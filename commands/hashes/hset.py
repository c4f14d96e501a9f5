"""HSET, HMSET, HSETNX and HDEL: fields are set and removed."""

from __future__ import annotations

import cython

from commands.core.client import Client
from commands.core.instance import Instance
from commands.core.registry import DENYOOM, FAST, WRITE, command, one_key
from commands.hashes.lookup import remove_fields, remove_named, write_fields
from protocol import errors, replies
from protocol.request import Request
from storage.types.hashes import HashValue


@command("HSET", arity=-4, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"UPDATE"))
def hset(client: Client, argv: Request) -> bytes:
    """Integer: how many fields are new. Source: Redis 7.0."""
    return replies.integer(_set(client, argv, b"hset"))


@command("HMSET", arity=-4, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"UPDATE"))
def hmset(client: Client, argv: Request) -> bytes:
    """OK. Source: Redis 7.0."""
    _set(client, argv, b"hmset")
    return replies.OK


@cython.cfunc
def _set(client: Client, argv: Request, name: bytes) -> cython.Py_ssize_t:
    """Set fields, which have no time then; how many are new."""
    if argv.count % 2:
        raise errors.wrong_arity(name)
    key = argv.word(1)
    value: HashValue | None = client.lookup_typed_for_write(key, HashValue)
    if value is not None and value.expires is not None:
        value = remove_named(client, key, value, argv[2::2])
    had_times: cython.bint = value is not None and value.expires is not None
    if value is None:
        value = HashValue()
        client.store(key, value)
    instance: Instance = client.instance
    created: cython.Py_ssize_t
    if argv.count == 4:
        text = argv.word(3)
        created = value.assign(argv.word(2), text, instance.encoding_limits)
        argv.mark_quick(len(text))
    else:
        created = value.update(argv[2:], instance.encoding_limits)
    if had_times:
        client.db.watch_fields(key)
    client.modified(key, (argv.count - 2) // 2)
    if instance.is_observed:
        client.notify_fields(b"hset", key, argv[2::2])
    return created


@command("HSETNX", arity=4, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"INSERT"))
def hsetnx(client: Client, argv: Request) -> bytes:
    """Integer: 1 if it was set. Source: Redis 7.0."""
    _, key, field, _ = argv
    value = write_fields(client, key, [field])
    if value is not None and field in value:
        return replies.ZERO
    if value is None:
        value = HashValue()
        client.store(key, value)
    value.update(argv[2:], client.instance.encoding_limits)
    client.modified(key)
    client.notify_fields(b"hset", key, [field])
    return replies.ONE


@command("HDEL", arity=-3, flags=WRITE | FAST, keys=one_key(b"RW", b"DELETE"))
def hdel(client: Client, argv: Request) -> bytes:
    """Integer: how many fields were there. Source: Redis 7.0."""
    key, names = argv[1], argv[2:]
    value = write_fields(client, key, names)
    return (
        replies.ZERO if value is None else replies.integer(remove_fields(client, key, value, names))
    )
