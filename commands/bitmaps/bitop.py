"""BITOP: bitwise operations on strings."""

from __future__ import annotations

from commands.core import notifications
from commands.core.client import Client
from commands.core.registry import DENYOOM, WRITE, KeySpec, command
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from storage.types.bits import combine
from storage.types.value import StringValue

OPERATIONS = (b"AND", b"OR", b"XOR", b"NOT", b"DIFF", b"DIFF1", b"ANDOR", b"ONE")
_SINCE_8_2 = (b"DIFF", b"DIFF1", b"ANDOR", b"ONE")
_NEED_TWO = (b"DIFF", b"DIFF1", b"ANDOR")


@command(
    "BITOP",
    arity=-4,
    flags=WRITE | DENYOOM,
    keys=(
        KeySpec(begin=2, flags=(b"OW", b"UPDATE")),
        KeySpec(begin=3, last=-1, flags=(b"RO", b"ACCESS")),
    ),
)
def bitop(client: Client, argv: Request) -> bytes:
    """Integer: the length of the result, that of the longest string. Source: Redis 8.2."""
    name, target, keys = argv[1].upper(), argv[2], argv[3:]
    if name not in OPERATIONS:
        raise ReplyError(errors.SYNTAX)
    if name == b"NOT" and len(keys) != 1:
        raise ReplyError(errors.BITOP_NOT)
    if name in _NEED_TWO and len(keys) < 2:
        raise errors.too_few_for_bitop(name)
    values = [client.lookup_string(key) for key in keys]
    sources = [b"" if value is None else value.data for value in values]
    result = combine(name, sources)
    had_target = target in client.db
    _store(client, target, result)
    if name in _SINCE_8_2 and (result or had_target):
        # Redis before 8.2 does not know the operation.
        client.propagate(*((b"SET", target, bytes(result)) if result else (b"DEL", target)))
    return replies.integer(len(result))


def _store(client: Client, key: bytes, data: bytearray) -> None:
    """Store the result as a string at `key`; an empty result removes the key."""
    exists = client.lookup_for_write(key) is not None
    if data:
        client.store(key, StringValue(data, client.instance.now_ms, b"raw"))
        client.db.persist(key)
        client.modified(key)
        client.notify(notifications.STRING, b"set", key)
    elif exists:
        client.remove(key)
        client.modified(key)
        client.notify(notifications.GENERIC, b"del", key)
