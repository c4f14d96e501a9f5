"""Encodes replies: values as RESP bytes.

Every reply that leaves the server is built here. RESP2 and RESP3 differ in nulls, maps, sets,
doubles, booleans, verbatim strings and pushes: functions for those take `resp` (2 or 3); the
others are the same in both. Nothing here knows a command, a client or a socket.

Source: RESP2 and RESP3 specifications; shapes as Redis 7.2 sends them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import cython

# From this many strings on it pays to check whether all have one length.
_FEW_BULKS: cython.Py_ssize_t = 8
_COLON: cython.int = ord(":")
_STAR: cython.int = ord("*")

OK = b"+OK\r\n"
PONG = b"+PONG\r\n"
QUEUED = b"+QUEUED\r\n"
ZERO = b":0\r\n"
ONE = b":1\r\n"
_SMALL_INTEGERS = tuple([b":%d\r\n" % number for number in range(256)])
EMPTY_ARRAY = b"*0\r\n"
EMPTY_BULK = b"$0\r\n\r\n"

_INFINITY = float("inf")
# Doubles of whole numbers up to this one are printed as integers.
_LARGEST_PLAIN = 1 << 62

# Indexed by RESP version: NIL[client.resp].
NIL = (b"", b"", b"$-1\r\n", b"_\r\n")
NIL_ARRAY = (b"", b"", b"*-1\r\n", b"_\r\n")


def simple(text: bytes) -> bytes:
    """A simple string; `text` holds no CR or LF."""
    return b"+%b\r\n" % text


def error(text: bytes) -> bytes:
    """An error; `text` starts with its code ("ERR ..."). Line breaks become blanks."""
    return b"-%b\r\n" % text.replace(b"\r", b" ").replace(b"\n", b" ")


def joined(parts: list[bytes]) -> bytes:
    """Replies, one after the other: a fifth of the time of `join`, compiled."""
    if cython.compiled:
        return make_joined(parts)  # type: ignore[name-defined, no-any-return]  # noqa: F821
    return b"".join(parts)


def integer(value: cython.long) -> bytes:
    """A signed 64-bit integer."""
    if 0 <= value < len(_SMALL_INTEGERS):
        return _SMALL_INTEGERS[value]
    if cython.compiled:
        return make_line(_COLON, value)  # type: ignore[name-defined, no-any-return]  # noqa: F821
    return b":%d\r\n" % value


def bulk(value: bytes) -> bytes:
    """A bulk string."""
    if cython.compiled:
        return make_bulk(value)  # type: ignore[name-defined, no-any-return]  # noqa: F821
    return b"$%d\r\n%b\r\n" % (len(value), value)


def bulk_or_nil(value: bytes | None, resp: cython.long) -> bytes:
    """A bulk string, or null for None."""
    return NIL[resp] if value is None else bulk(value)


def array_header(length: cython.long) -> bytes:
    """The start of an array of `length` elements."""
    if cython.compiled:
        return make_line(_STAR, length)  # type: ignore[name-defined, no-any-return]  # noqa: F821
    return b"*%d\r\n" % length


def array(items: Sequence[bytes]) -> bytes:
    """An array of replies that are encoded already."""
    return b"*%d\r\n%b" % (len(items), b"".join(items))


def bulk_array(values: Sequence[bytes]) -> bytes:
    """An array of bulk strings."""
    return _after(array_header(len(values)), values)


def bulks(values: Sequence[bytes]) -> bytes:
    """Bulk strings, one after the other."""
    return _after(b"", values)


@cython.cfunc
def _after(head: bytes, values: Sequence[bytes]) -> bytes:
    """Bulk strings after a line; interpreted ten times as fast if all have one length."""
    if cython.compiled:
        found = values if type(values) is list else list(values)
        return make_bulks(head, found)  # type: ignore[name-defined, no-any-return]  # noqa: F821
    if len(values) >= _FEW_BULKS and len(set(map(len, values))) == 1:
        line = b"$%d\r\n" % len(values[0])
        return b"%b%b%b\r\n" % (head, line, (b"\r\n" + line).join(values))
    return head + b"".join([b"$%d\r\n%b\r\n" % (len(value), value) for value in values])


def map_header(pairs: cython.long, resp: cython.long) -> bytes:
    """The start of a map of `pairs` pairs; in RESP2 a flat array of twice as many elements."""
    return b"%%%d\r\n" % pairs if resp == 3 else b"*%d\r\n" % (2 * pairs)


def mapping(items: Sequence[bytes], resp: int) -> bytes:
    """A map from encoded keys and values that alternate in `items`."""
    return map_header(len(items) // 2, resp) + b"".join(items)


def set_header(length: cython.long, resp: cython.long) -> bytes:
    """The start of a set; in RESP2 an array."""
    return b"~%d\r\n" % length if resp == 3 else b"*%d\r\n" % length


def push_header(length: int, resp: int) -> bytes:
    """The start of an out-of-band message; in RESP2 an array."""
    return b">%d\r\n" % length if resp == 3 else b"*%d\r\n" % length


def double(value: float, resp: int) -> bytes:
    """A double; in RESP2 a bulk string of its shortest exact form."""
    text = format_double(value)
    return b",%b\r\n" % text if resp == 3 else bulk(text)


def format_double(value: cython.double) -> bytes:
    """The shortest text that reads back as `value`, in the form that Redis 7.2 gives it.

    Whole numbers up to 2**62 have no fraction and no exponent. Others have an exponent where that
    is shorter by far.
    """
    if cython.compiled:
        plain: bytes | None = make_plain_double(value)  # type: ignore[name-defined]  # noqa: F821
        if plain is not None:
            return plain
    if -_LARGEST_PLAIN <= value <= _LARGEST_PLAIN:
        number = int(value)
        if number == value:
            is_negative_zero = number == 0 and str(value)[0] == "-"
            return b"-0" if is_negative_zero else b"%d" % number
    elif value != value or value in (_INFINITY, -_INFINITY):
        return b"%a" % value
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    # The value is these digits, as a whole number, times 10 to the power of `scale`.
    scale = int(exponent or 0) - len(fraction)
    scale += len(digits) - len(digits.rstrip("0"))
    digits = digits.rstrip("0")
    text = ("-" if value < 0 else "") + _laid_out(digits, scale)
    return text.encode()


def _laid_out(digits: str, scale: int) -> str:
    """Digits times 10 to the power of `scale`, plain or with an exponent."""
    count = len(digits)
    exponent = scale + count - 1  # with one digit before the point
    if scale >= 0 and exponent < count + 7:
        return digits + "0" * scale
    if scale < 0 and (scale > -7 or abs(exponent) < 4):
        if exponent < 0:
            return "0." + "0" * (-exponent - 1) + digits
        return digits[: exponent + 1] + "." + digits[exponent + 1 :]
    fraction = "." + digits[1:] if count > 1 else ""
    return f"{digits[0]}{fraction}e{exponent:+d}"


def verbatim(text: bytes, resp: int, kind: bytes = b"txt") -> bytes:
    """A verbatim string of three-letter `kind`; in RESP2 a bulk string."""
    if resp == 3:
        return b"=%d\r\n%b:%b\r\n" % (len(text) + 4, kind, text)
    return bulk(text)


def command(argv: Sequence[bytes]) -> bytes:
    """A request: an array of bulk strings, as clients send it."""
    return bulk_array(argv)


@cython.cclass
class Form:
    """A text with places for numbers (%d) and bytes (%b): a fifth of the time of `%`, compiled."""

    __slots__ = ("_size", "_texts")

    def __init__(self, form: bytes) -> None:
        self._texts = [text.replace(b"%%", b"%") for text in re.split(rb"%[bd]", form)]
        self._size = sum(map(len, self._texts))

    def fill(self, values: tuple[bytes | int, ...]) -> bytes:
        """The text with these values, of which there is one for each place."""
        if cython.compiled:
            return make_filled(self._texts, self._size, values)  # type: ignore[name-defined, no-any-return]  # noqa: F821
        parts = [self._texts[0]]
        for value, text in zip(values, self._texts[1:], strict=True):
            parts += (value if isinstance(value, bytes) else b"%d" % value, text)
        return b"".join(parts)
