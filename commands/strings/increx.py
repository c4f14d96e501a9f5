"""INCREX: a counter with bounds and a time to live (Redis 8.8).

An increment beyond the bounds changes nothing, or stops at the bound with SATURATE. It is
propagated as a SET of its result.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, TypeAlias, cast

from commands.core import notifications
from commands.core.arguments import INT64_MAX, INT64_MIN, Arguments, parse_int
from commands.core.client import Client
from commands.core.registry import DENYOOM, FAST, WRITE, command, one_key
from commands.strings import long_double
from commands.strings.conditions import Lifetime
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
from protocol.request import Request
from storage.types.value import EMBEDDED_STRING_BYTES, StringValue

if TYPE_CHECKING:
    from fractions import Fraction

# An integer, unless a request counts in floating-point numbers.
_Number: TypeAlias = "Fraction | int"

_GREATEST_FLOAT = ((1 << 64) - 1) << 16320  # that a long double holds


@record
class _Request:
    """The words of a request, by their option."""

    words: dict[bytes, bytes] = field(default_factory=dict)
    lifetime: Lifetime = field(default_factory=Lifetime)
    saturates: bool = False
    only_without_lifetime: bool = False  # ENX

    @property
    def is_float(self) -> bool:
        """True if the request counts in floating-point numbers."""
        return b"BYFLOAT" in self.words

    def number(self, option: bytes, name: bytes, default: _Number) -> _Number:
        """The number of an option. Raises ReplyError, in which it is called `name`."""
        text = self.words.get(option)
        if text is None:
            return default
        if not self.is_float:
            return parse_int(text, errors.increx_integer(name))
        try:
            return long_double.parse(text)
        except (long_double.NotFinite, ValueError):
            raise ReplyError(errors.increx_float(name)) from None


@command(
    "INCREX", arity=-2, flags=WRITE | DENYOOM | FAST, keys=one_key(b"RW", b"ACCESS", b"UPDATE")
)
def increx(client: Client, argv: Request) -> bytes:
    """Array: the number then, and by how much it has changed. Source: Redis 8.8."""
    key = argv[1]
    request = _parse(Arguments(argv, 2))
    deadline_ms = request.lifetime.deadline_ms(b"increx", client.instance.now_ms)
    increment, least, greatest = _numbers(request)
    value = client.lookup_string_for_write(key)
    old = _current(value, request)
    total = old + increment
    if request.is_float and least <= total <= greatest:
        total = long_double.nearest(cast("Fraction", total))
    if not least <= total <= greatest:
        if not request.saturates:
            return _reply(client, request, old, 0)
        total = min(max(total, least), greatest)
    _store(client, key, value, total, request)
    _set_lifetime(client, key, request, deadline_ms)
    return _reply(client, request, total, total - old)


def _parse(arguments: Arguments) -> _Request:
    """Unlike other commands, it takes no option twice."""
    request = _Request()
    while arguments:
        option = arguments.next_keyword()
        if option in (b"BYINT", b"BYFLOAT", b"LBOUND", b"UBOUND"):
            kind = b"BY" if option.startswith(b"BY") else option
            if any(other.startswith(kind) for other in request.words):
                raise ReplyError(errors.SYNTAX)
            request.words[option] = arguments.next()
        elif option == b"SATURATE" and not request.saturates:
            request.saturates = True
        elif option == b"ENX" and not request.only_without_lifetime:
            request.only_without_lifetime = True
        elif request.lifetime.option or not request.lifetime.take(option, arguments, b"PERSIST"):
            raise ReplyError(errors.SYNTAX)
    if request.only_without_lifetime and request.lifetime.option in (b"", b"PERSIST"):
        raise ReplyError(errors.ENX_WITHOUT_LIFETIME)
    return request


def _numbers(request: _Request) -> tuple[_Number, _Number, _Number]:
    """The increment and the bounds."""
    by = b"BYFLOAT" if request.is_float else b"BYINT"
    bounds = (-_GREATEST_FLOAT, _GREATEST_FLOAT) if request.is_float else (INT64_MIN, INT64_MAX)
    increment = request.number(by, b"Increment", 1)
    least = request.number(b"LBOUND", b"LBOUND", bounds[0])
    greatest = request.number(b"UBOUND", b"UBOUND", bounds[1])
    if least > greatest:
        raise ReplyError(errors.INCREX_BOUNDS)
    return increment, least, greatest


def _current(value: StringValue | None, request: _Request) -> _Number:
    if value is None:
        return 0
    if not request.is_float:
        return parse_int(value.to_bytes())
    try:
        return long_double.parse(value.to_bytes())
    except (long_double.NotFinite, ValueError):
        raise ReplyError(errors.NOT_A_FLOAT) from None


def _store(
    client: Client, key: bytes, value: StringValue | None, total: _Number, request: _Request
) -> None:
    data = long_double.format_number(total)
    encoding, event = None, b"incrby"
    if request.is_float:
        encoding = b"embstr" if len(data) <= EMBEDDED_STRING_BYTES else b"raw"
        event = b"incrbyfloat"
    if value is None:
        client.store(key, StringValue(data, client.instance.now_ms, encoding))
    else:
        value.replace(data, encoding)
    client.modified(key)
    client.notify(notifications.STRING, event, key)


def _set_lifetime(client: Client, key: bytes, request: _Request, deadline_ms: int | None) -> None:
    """Change the time to live as asked for, and propagate the result."""
    db = client.db
    if request.only_without_lifetime and db.deadline(key) is not None:
        deadline_ms = None
    if deadline_ms is not None:
        client.expire_at(db, key, deadline_ms)
        client.notify(notifications.GENERIC, b"expire", key)
    elif request.lifetime.option == b"PERSIST" and db.persist(key):
        client.notify(notifications.GENERIC, b"persist", key)
    value = db.values[key]
    assert isinstance(value, StringValue)
    expires_ms = db.deadline(key)
    lifetime = () if expires_ms is None else (b"PXAT", b"%d" % expires_ms)
    client.propagate(b"SET", key, value.to_bytes(), *lifetime)


def _reply(client: Client, request: _Request, total: _Number, change: _Number) -> bytes:
    if not request.is_float:
        return replies.array([replies.integer(int(total)), replies.integer(int(change))])
    texts = [long_double.format_number(total), long_double.format_number(change)]
    if client.resp == 3:
        return replies.array([b",%b\r\n" % text for text in texts])
    return replies.bulk_array(texts)
