"""GET, MGET, GETDEL and GETEX: a string as a whole.

A long string is sent in pieces: it is not copied for its reply as a whole, others are served in
between, and a client that does not read makes no copy of it.
"""

from __future__ import annotations

from collections.abc import Iterator

import cython

from commands.core.arguments import Arguments
from commands.core.client import Client
from commands.core.long_reply import LongReply
from commands.core.registry import FAST, READONLY, WRITE, command, keys_to_end, one_key
from commands.keys.existence import delete
from commands.keys.expiry import persist_key, set_deadline
from commands.strings.lifetime import Lifetime
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from storage.types.strings import StringValue

# Strings from this length on are sent in pieces, of this many bytes.
_LONG_BYTES: cython.Py_ssize_t = 1024 * 1024
_PIECE_BYTES: cython.Py_ssize_t = 128 * 1024


@command("GET", arity=2, flags=READONLY | FAST, keys=one_key(b"RO", b"ACCESS"))
def get(client: Client, request: Request) -> bytes | LongReply:
    """Bulk string, null without the key. Source: Redis 7.2."""
    value = client.lookup_string(request.word(1))
    data = None if value is None else value.to_bytes()
    if data is not None and len(data) >= _LONG_BYTES:
        return LongReply(_pieces(data))
    request.mark_quick(0 if data is None else len(data))
    return replies.bulk_or_nil(data, client.resp)


@command("MGET", arity=-2, flags=READONLY | FAST, keys=keys_to_end(b"RO", b"ACCESS"))
def mget(client: Client, argv: Request) -> bytes:
    """Array of bulk strings, null for a key that is not there or holds no string.

    Source: Redis 7.2.
    """
    nil = replies.NIL[client.resp]
    items = [replies.array_header(len(argv) - 1)]
    index: cython.Py_ssize_t
    for index in range(1, argv.count):
        value = client.lookup(argv.word(index))
        items.append(replies.bulk(value.to_bytes()) if type(value) is StringValue else nil)
    return b"".join(items)


@command("GETDEL", arity=2, flags=WRITE | FAST, keys=one_key(b"RW", b"ACCESS", b"DELETE"))
def getdel(client: Client, argv: Request) -> bytes | LongReply:
    """Bulk string, null without the key. Source: Redis 7.2."""
    value = client.lookup_string(argv[1])
    if value is None:
        return replies.NIL[client.resp]
    delete(client, argv[1])
    client.propagate(b"DEL", argv[1])
    return _whole(value.to_bytes())


@command("GETEX", arity=-2, flags=WRITE | FAST, keys=one_key(b"RW", b"ACCESS", b"UPDATE"))
def getex(client: Client, argv: Request) -> bytes | LongReply:
    """Bulk string, null without the key. Source: Redis 7.2."""
    key, now_ms = argv[1], client.instance.now_ms
    lifetime = _parse_getex_options(Arguments(argv, 2))
    value = client.lookup_string(key)
    if value is None:
        return replies.NIL[client.resp]  # even when the deadline is invalid
    deadline_ms = lifetime.deadline_ms(b"getex", now_ms)
    if lifetime.option == b"PERSIST":
        if persist_key(client, key):
            client.propagate(b"PERSIST", key)
    elif deadline_ms is not None and deadline_ms <= now_ms and not client.replays:
        delete(client, key)
        client.propagate(b"DEL", key)
    elif deadline_ms is not None:
        set_deadline(client, key, deadline_ms)
    return _whole(value.to_bytes())


def _whole(data: bytes) -> bytes | LongReply:
    """A string as a reply."""
    return LongReply(_pieces(data)) if len(data) >= _LONG_BYTES else replies.bulk(data)


def _pieces(data: bytes) -> Iterator[bytes]:
    """The pieces of a bulk string."""
    yield b"$%d\r\n" % len(data)
    for start in range(0, len(data), _PIECE_BYTES):
        yield data[start : start + _PIECE_BYTES]
    yield b"\r\n"


def _parse_getex_options(arguments: Arguments) -> Lifetime:
    lifetime = Lifetime()
    while arguments:
        if not lifetime.take(arguments.next_keyword(), arguments, b"PERSIST"):
            raise ReplyError(errors.SYNTAX)
    return lifetime
