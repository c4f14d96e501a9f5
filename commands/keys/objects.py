"""OBJECT: the encoding, reference count and idle time of a key's value; its size in bytes."""

from __future__ import annotations

from sys import getsizeof

from commands.core.client import Client
from commands.core.instance import frequency_now
from commands.core.registry import LOADING, READONLY, STALE, command, one_key
from commands.documentation import help_reply
from commands.keys.existence import peek
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from storage.types.value import Value

# A key's part of the database's two tables: values, and SCAN's order with the key's serial.
# Measured with a million keys.
TABLE_ENTRY_BYTES = 100


def value_bytes(key: bytes, value: Value) -> int:
    """What a key and its value occupy in memory."""
    return getsizeof(key) + TABLE_ENTRY_BYTES + value.memory_bytes()


def _value(client: Client, key: bytes) -> Value | None:
    return peek(client, key, tell_of_miss=False)


@command("OBJECT ENCODING", arity=3, flags=READONLY, keys=one_key(b"RO", at=2))
def object_encoding(client: Client, argv: Request) -> bytes:
    """Bulk string, e.g. stream, embstr or listpack; null without the key. Source: Redis 7.2."""
    value = _value(client, argv[2])
    return replies.bulk_or_nil(value.encoding if value is not None else None, client.resp)


@command("OBJECT REFCOUNT", arity=3, flags=READONLY, keys=one_key(b"RO", at=2))
def object_refcount(client: Client, argv: Request) -> bytes:
    """Integer, null without the key. Since Redis 8.2 no two keys share a value."""
    if _value(client, argv[2]) is None:
        return replies.NIL[client.resp]
    return replies.integer(1)


@command("OBJECT IDLETIME", arity=3, flags=READONLY, keys=one_key(b"RO", at=2))
def object_idletime(client: Client, argv: Request) -> bytes:
    """Integer, null without the key; with an LRM policy: the seconds since the last write.

    Source: Redis 7.2.
    """
    value = _value(client, argv[2])
    if value is None:
        return replies.NIL[client.resp]
    if client.instance.counts_accesses:
        raise ReplyError(errors.LFU_POLICY)
    return replies.integer(max(client.instance.now_ms - value.access_ms, 0) // 1000)


@command("OBJECT FREQ", arity=3, flags=READONLY, keys=one_key(b"RO", at=2))
def object_freq(client: Client, argv: Request) -> bytes:
    """Integer, 0 to 255, null without the key. Source: Redis 7.2."""
    value, instance = _value(client, argv[2]), client.instance
    if value is None:
        return replies.NIL[client.resp]
    if not instance.counts_accesses:
        raise ReplyError(errors.NO_LFU_POLICY)
    return replies.integer(frequency_now(value, instance.now_ms, instance.config.lfu_decay_time))


@command("OBJECT HELP", arity=2, flags=LOADING | STALE)
def object_help(client: Client, argv: Request) -> bytes:
    """Array of simple strings. Source: Redis 7.2."""
    return help_reply(
        b"OBJECT",
        b"ENCODING <key>",
        b"    Name the form in which the value of <key> is kept.",
        b"FREQ <key>",
        b"    Tell how often <key> is used, where an LFU policy keeps count.",
        b"IDLETIME <key>",
        b"    Tell for how many seconds <key> was not used.",
        b"REFCOUNT <key>",
        b"    Count the references to the value of <key>.",
    )
