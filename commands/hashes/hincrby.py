"""HINCRBY and HINCRBYFLOAT: fields that are numbers.

A field that is not there counts as 0, and a time that it has stays.
"""

from __future__ import annotations

from fractions import Fraction

import cython

from commands.core.arguments import INT64_MAX, INT64_MIN, parse_int
from commands.core.client import Client
from commands.core.registry import DENYOOM, FAST, WRITE, command, one_key
from commands.hashes.lookup import remove_named, write_fields
from commands.strings import long_double
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from storage.redis_format.listpack_size import plain_integer
from storage.types.hashes import HashValue

_LEAST: cython.longlong = INT64_MIN
_GREATEST: cython.longlong = INT64_MAX


@command(
    "HINCRBY", arity=4, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"ACCESS", b"UPDATE")
)
def hincrby(client: Client, argv: Request) -> bytes:
    """Integer: the sum. Source: Redis 7.0."""
    key, field = argv.word(1), argv.word(2)
    increment: cython.longlong = parse_int(argv.word(3))
    value: HashValue | None = client.lookup_typed_for_write(key, HashValue)
    if value is not None and value.expires is not None:
        value = remove_named(client, key, value, [field])
    old: bytes | None = None if value is None else value.get(field)
    number: cython.longlong = 0
    if old is not None:
        number = plain_integer(old, 0, len(old))
        if number == 0 and old != b"0":
            raise ReplyError(errors.HASH_VALUE_NOT_AN_INTEGER)
    if number > _GREATEST - increment if increment > 0 else number < _LEAST - increment:
        raise ReplyError(errors.INCREMENT_OVERFLOW)
    reply: bytes = replies.integer(number + increment)
    # The reply has the digits, after a colon and before the end of the line.
    text: cython.p_const_uchar = reply
    _set(client, key, value, field, text[1 : len(reply) - 2])
    if client.instance.is_observed:
        client.notify_fields(b"hincrby", key, [field])
    argv.mark_quick(len(field))
    return reply


@cython.cfunc
def _set(client: Client, key: bytes, value: HashValue | None, field: bytes, number: bytes) -> None:
    if value is None:
        value = HashValue()
        client.store(key, value)
    value.set(field, number, client.instance.encoding_limits)
    client.modified(key)


@command(
    "HINCRBYFLOAT", arity=4, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"ACCESS", b"UPDATE")
)
def hincrbyfloat(client: Client, argv: Request) -> bytes:
    """Bulk string: the sum, with up to 17 decimals. Source: Redis 7.0.

    Propagated as the result, because another machine's floats may round otherwise.
    """
    _, key, field, text = argv
    try:
        increment = _parse(text, errors.NOT_A_FLOAT)
    except long_double.NotFinite:
        raise ReplyError(errors.NOT_FINITE) from None
    value = write_fields(client, key, [field])
    old = None if value is None else value.get(field)
    try:
        augend = _parse(b"0" if old is None else old, errors.HASH_VALUE_NOT_A_FLOAT)
        number = long_double.format_number(long_double.add(augend, increment))
    except long_double.NotFinite:
        raise ReplyError(errors.INCREMENT_NOT_FINITE) from None
    at_ms = None if value is None else value.time_of(field)
    _set(client, key, value, field, number)
    client.notify_fields(b"hincrbyfloat", key, [field])
    client.propagate(b"HSET", key, field, number)
    if at_ms is not None:  # which HSET removes
        client.propagate(b"HPEXPIREAT", key, b"%d" % at_ms, b"FIELDS", b"1", field)
    return replies.bulk(number)


def _parse(text: bytes, error: bytes) -> Fraction:
    """A number. Raises ReplyError(error) if it is none, and NotFinite."""
    try:
        return long_double.parse(text)
    except ValueError:
        raise ReplyError(error) from None
