"""INCR, DECR, INCRBY, DECRBY and INCRBYFLOAT: strings that are numbers.

A missing key counts as 0, and a time to live stays. INCRBYFLOAT is propagated as a SET of its
result, because the floats of another machine may be rounded differently.
"""

from __future__ import annotations

from fractions import Fraction

import cython

from commands.core.arguments import INT64_MAX, INT64_MIN, parse_int
from commands.core.client import Client
from commands.core.registry import DENYOOM, FAST, WRITE, command, one_key
from commands.state import notifications
from commands.strings import long_double
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from storage.redis_format.listpack_size import plain_integer
from storage.types.strings import EMBEDDED_STRING_BYTES, StringValue

_LEAST: cython.longlong = INT64_MIN
_GREATEST: cython.longlong = INT64_MAX
_EVENTS: cython.long = notifications.STRING


@command("INCR", arity=2, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"ACCESS", b"UPDATE"))
def incr(client: Client, argv: Request) -> bytes:
    """Integer: the sum. Source: Redis 7.2."""
    return _add(client, argv, 1)


@command("DECR", arity=2, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"ACCESS", b"UPDATE"))
def decr(client: Client, argv: Request) -> bytes:
    """Integer: the difference. Source: Redis 7.2."""
    return _add(client, argv, -1)


@command("INCRBY", arity=3, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"ACCESS", b"UPDATE"))
def incrby(client: Client, argv: Request) -> bytes:
    """Integer: the sum. Source: Redis 7.2."""
    return _add(client, argv, parse_int(argv.word(2)))


@command("DECRBY", arity=3, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"ACCESS", b"UPDATE"))
def decrby(client: Client, argv: Request) -> bytes:
    """Integer: the difference. Source: Redis 7.2."""
    decrement = parse_int(argv.word(2))
    if decrement == INT64_MIN:  # which has no positive counterpart to add
        raise ReplyError(errors.DECREMENT_OVERFLOW)
    return _add(client, argv, -decrement)


@cython.cfunc
def _add(client: Client, argv: Request, increment: cython.longlong) -> bytes:
    key = argv.word(1)
    value: StringValue | None = client.lookup_string_for_write(key)
    number: cython.longlong = 0
    if value is not None:
        data: bytes = value.to_bytes()
        number = plain_integer(data, 0, len(data))
        if number == 0 and data != b"0":
            raise ReplyError(errors.NOT_AN_INTEGER)
    if number > _GREATEST - increment if increment > 0 else number < _LEAST - increment:
        raise ReplyError(errors.INCREMENT_OVERFLOW)
    reply: bytes = replies.integer(number + increment)
    # The reply has the digits, after a colon and before the end of the line.
    text: cython.p_const_uchar = reply
    _replace(client, key, value, text[1 : len(reply) - 2], None)
    client.notify(_EVENTS, b"incrby", key)
    argv.mark_quick(0)
    return reply


@cython.cfunc
def _replace(
    client: Client, key: bytes, value: StringValue | None, data: bytes, encoding: bytes | None
) -> None:
    """Make `data` the string at `key`, which is `value` if it is there."""
    if value is None:
        client.store(key, StringValue(data, client.instance.now_ms, encoding))
    else:
        value.replace(data, encoding)
    client.modified(key)


@command(
    "INCRBYFLOAT", arity=3, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"ACCESS", b"UPDATE")
)
def incrbyfloat(client: Client, argv: Request) -> bytes:
    """Bulk string: the sum, with up to 17 decimals. Source: Redis 7.2."""
    key = argv[1]
    value = client.lookup_string_for_write(key)
    data = _add_floats(b"0" if value is None else value.to_bytes(), argv[2])
    # Redis keeps the result as text even where it is an integer.
    encoding = b"embstr" if len(data) <= EMBEDDED_STRING_BYTES else b"raw"
    _replace(client, key, value, data, encoding)
    client.notify(_EVENTS, b"incrbyfloat", key)
    client.propagate(b"SET", key, data, b"KEEPTTL")
    return replies.bulk(data)


def _add_floats(augend: bytes, increment: bytes) -> bytes:
    """The sum as text. An argument that is not a number is refused before an infinite one."""
    left, right = _parse_float(augend), _parse_float(increment)
    if left is None or right is None:
        raise ReplyError(errors.INCREMENT_NOT_FINITE)
    try:
        return long_double.format_number(long_double.add(left, right))
    except long_double.NotFinite:
        raise ReplyError(errors.INCREMENT_NOT_FINITE) from None


def _parse_float(text: bytes) -> Fraction | None:
    """The number, or None if it is infinite."""
    try:
        return long_double.parse(text)
    except long_double.NotFinite:
        return None
    except ValueError:
        raise ReplyError(errors.NOT_A_FLOAT) from None
