"""LSET, LINSERT, LREM and LTRIM: changes inside a list."""

from __future__ import annotations

from commands.core import notifications
from commands.core.arguments import parse_int
from commands.core.client import Client
from commands.core.registry import DENYOOM, WRITE, command, one_key
from commands.lists.elements import clip, from_start
from commands.lists.ends import after_removal
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from storage.types.lists import ListValue


@command("LSET", arity=4, flags=WRITE | DENYOOM, keys=one_key(b"RW", b"UPDATE"))
def lset(client: Client, argv: Request) -> bytes:
    """OK; an error without the key or the element. Source: Redis 7.2."""
    _, key, text, item = argv
    value = client.lookup_typed_for_write(key, ListValue)
    if value is None:
        raise ReplyError(errors.NO_SUCH_KEY)
    index = from_start(value, parse_int(text))
    if index is None:
        raise ReplyError(errors.INDEX_OUT_OF_RANGE)
    value.set(index, item, client.instance.config)
    client.modified(key)
    client.notify(notifications.LIST, b"lset", key)
    return replies.OK


@command("LINSERT", arity=5, flags=WRITE | DENYOOM, keys=one_key(b"RW", b"INSERT"))
def linsert(client: Client, argv: Request) -> bytes:
    """Integer: the length; 0 without the key, -1 without the pivot. Source: Redis 7.2."""
    _, key, word, pivot, item = argv
    if word.upper() not in (b"BEFORE", b"AFTER"):
        raise ReplyError(errors.SYNTAX)
    value = client.lookup_typed_for_write(key, ListValue)
    if value is None:
        return replies.ZERO
    index = next(value.find(pivot), None)
    if index is None:
        return replies.integer(-1)
    value.insert(index, item, client.instance.config, after=word.upper() == b"AFTER")
    client.signal_key_as_ready(key)
    client.modified(key)
    client.notify(notifications.LIST, b"linsert", key)
    return replies.integer(len(value))


@command("LREM", arity=4, flags=WRITE, keys=one_key(b"RW", b"DELETE"))
def lrem(client: Client, argv: Request) -> bytes:
    """Integer: how many were removed. A negative count begins at the end. Source: Redis 7.2."""
    _, key, text, item = argv
    count = parse_int(text)
    value = client.lookup_typed_for_write(key, ListValue)
    if value is None:
        return replies.ZERO
    removed = value.remove(item, count)
    if removed:
        client.notify(notifications.LIST, b"lrem", key)
        after_removal(client, key, value, removed)
    return replies.integer(removed)


@command("LTRIM", arity=4, flags=WRITE, keys=one_key(b"RW", b"DELETE"))
def ltrim(client: Client, argv: Request) -> bytes:
    """OK. Source: Redis 7.2."""
    key, start, stop = argv[1], parse_int(argv[2]), parse_int(argv[3])
    value = client.lookup_typed_for_write(key, ListValue)
    if value is None:
        return replies.OK
    removed = len(value)
    client.instance.background_work.discard(value.trim(*clip(value, start, stop)))
    removed -= len(value)
    client.notify(notifications.LIST, b"ltrim", key)
    after_removal(client, key, value, removed)
    return replies.OK
