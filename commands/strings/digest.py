"""DIGEST and DELEX: the digest of a string, and a conditional delete (compare and delete)."""

from __future__ import annotations

from collections.abc import Sequence

from commands.core.client import Client
from commands.core.registry import FAST, READONLY, WRITE, command, one_key, one_varying_key
from commands.keys.existence import delete
from commands.strings.conditions import CONDITIONS, digest, parse_condition
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from storage.types.value import StringValue


@command("DIGEST", arity=2, flags=READONLY | FAST, keys=one_key(b"RO", b"ACCESS"))
def digest_(client: Client, argv: Request) -> bytes:
    """Bulk string of 16 hexadecimal digits; null without the key. Source: Redis 8.4."""
    value = client.lookup_string(argv[1])
    return replies.bulk_or_nil(None if value is None else digest(value.data), client.resp)


def _key_flags(argv: Sequence[bytes]) -> tuple[bytes, ...]:
    """DELEX without a condition is DEL."""
    return (b"RW", b"ACCESS", b"DELETE") if len(argv) > 2 else (b"RM", b"DELETE")


@command("DELEX", arity=-2, flags=WRITE | FAST, keys=one_varying_key(_key_flags, b"RW", b"DELETE"))
def delex(client: Client, argv: Request) -> bytes:
    """Integer: 1 if it was removed. Without a condition it may be of any type.

    Source: Redis 8.4.
    """
    if len(argv) not in (2, 4):
        raise errors.wrong_arity(b"delex")
    condition = None
    if len(argv) == 4:
        if argv[2].upper() not in CONDITIONS:
            raise ReplyError(errors.SYNTAX)
        condition = parse_condition(argv[2].upper(), argv[3])
    key = argv[1]
    value = client.lookup_for_write(key)
    if value is None:
        return replies.ZERO
    if condition is not None:
        if not isinstance(value, StringValue):
            raise ReplyError(errors.CONDITION_NEEDS_STRING)
        if not condition.holds(value):
            return replies.ZERO
    delete(client, key)
    client.propagate(b"DEL", key)
    return replies.ONE
