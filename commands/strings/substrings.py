"""STRLEN, GETRANGE, SUBSTR, APPEND and SETRANGE: parts of a string."""

from __future__ import annotations

from commands.core import notifications
from commands.core.arguments import parse_int
from commands.core.client import Client
from commands.core.registry import DENYOOM, FAST, READONLY, WRITE, command, one_key
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from storage.types.value import StringValue


@command("STRLEN", arity=2, flags=READONLY | FAST, keys=one_key(b"RO"))
def strlen(client: Client, argv: Request) -> bytes:
    """Integer: bytes, 0 without the key. Source: Redis 7.2."""
    value = client.lookup_string(argv[1])
    return replies.ZERO if value is None else replies.integer(len(value))


@command("GETRANGE", arity=4, flags=READONLY, keys=one_key(b"RO", b"ACCESS"))
def getrange(client: Client, argv: Request) -> bytes:
    """Bulk string: both ends included, below zero they count from the end. Source: Redis 7.2."""
    return _part(client, argv)


@command("SUBSTR", arity=4, flags=READONLY, keys=one_key(b"RO", b"ACCESS"))
def substr(client: Client, argv: Request) -> bytes:
    """Bulk string: both ends included, below zero they count from the end."""
    return _part(client, argv)


def _part(client: Client, argv: Request) -> bytes:
    start, end = parse_int(argv[2]), parse_int(argv[3])
    value = client.lookup_string(argv[1])
    if value is None or (start < 0 and end < 0 and start > end):
        return replies.EMPTY_BULK
    length = len(value)
    # An end before the beginning is taken for the beginning, so that "abc" 0 -9 is "a".
    start = max(start + length, 0) if start < 0 else start
    end = max(end + length, 0) if end < 0 else end
    return replies.bulk(bytes(value.data[start : end + 1]))


@command("APPEND", arity=3, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"INSERT"))
def append(client: Client, argv: Request) -> bytes:
    """Integer: the length of the string. Source: Redis 7.2."""
    _, key, tail = argv
    value = client.lookup_string_for_write(key)
    if value is None:
        value = StringValue(tail, client.instance.now_ms)
        client.store(key, value)
    else:
        _check_length(client, len(value) + len(tail))
        value.append(tail)
    client.modified(key)
    client.notify(notifications.STRING, b"append", key)
    return replies.integer(len(value))


@command("SETRANGE", arity=4, flags=WRITE | DENYOOM, keys=one_key(b"RW", b"UPDATE"))
def setrange(client: Client, argv: Request) -> bytes:
    """Integer: the length of the string. Source: Redis 7.2."""
    key, offset, patch = argv[1], parse_int(argv[2]), argv[3]
    if offset < 0:
        raise ReplyError(errors.OFFSET_OUT_OF_RANGE)
    value = client.lookup_string_for_write(key)
    if not patch:
        return replies.integer(0 if value is None else len(value))
    _check_length(client, offset + len(patch))
    if value is None:
        value = StringValue(b"", client.instance.now_ms)
        client.store(key, value)
    value.overwrite(offset, patch)
    client.modified(key)
    client.notify(notifications.STRING, b"setrange", key)
    return replies.integer(len(value))


def _check_length(client: Client, length: int) -> None:
    """Raise ReplyError for a string that is too long; replayed requests pass, as in Redis."""
    if not client.replays and length > client.instance.config.proto_max_bulk_len:
        raise ReplyError(errors.STRING_TOO_LONG)
