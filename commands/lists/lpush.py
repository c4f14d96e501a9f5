"""LPUSH, RPUSH, LPUSHX and RPUSHX: add elements to an end of a list."""

from __future__ import annotations

from commands.core.client import Client
from commands.core.registry import DENYOOM, FAST, WRITE, command, one_key
from commands.lists.ends import LEFT, RIGHT, push
from protocol import replies
from protocol.request import Request
from storage.types.lists import ListValue


@command("LPUSH", arity=-3, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"INSERT"))
def lpush(client: Client, argv: Request) -> bytes:
    """Integer: the length. Source: Redis 7.2."""
    return _push(client, argv, LEFT)


@command("RPUSH", arity=-3, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"INSERT"))
def rpush(client: Client, argv: Request) -> bytes:
    """Integer: the length. Source: Redis 7.2."""
    return _push(client, argv, RIGHT)


@command("LPUSHX", arity=-3, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"INSERT"))
def lpushx(client: Client, argv: Request) -> bytes:
    """Integer: the length, 0 without the key. Source: Redis 7.2."""
    return _push(client, argv, LEFT, only_if_there=True)


@command("RPUSHX", arity=-3, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"INSERT"))
def rpushx(client: Client, argv: Request) -> bytes:
    """Integer: the length, 0 without the key. Source: Redis 7.2."""
    return _push(client, argv, RIGHT, only_if_there=True)


def _push(client: Client, argv: Request, side: bytes, *, only_if_there: bool = False) -> bytes:
    key = argv.word(1)
    value: ListValue | None = client.lookup_typed_for_write(key, ListValue)
    if value is None and only_if_there:
        return replies.ZERO
    argv.mark_quick(argv.words_bytes())
    items = [argv.word(2)] if argv.count == 3 else argv[2:]
    return replies.integer(push(client, key, value, side, items)._length)
