"""A cursor over a request's arguments.

Handlers parse all of their arguments before they change anything. `Arguments` keeps the current
position and raises the errors that parsers share: "not an integer", "syntax error" for a missing or
a trailing argument.
"""

from __future__ import annotations

import re
from math import inf, nan

import cython

from protocol import errors
from protocol.errors import ReplyError
from protocol.request import Request
from storage.redis_format.listpack_elements import plain_integer

INT64_MIN = -(1 << 63)
INT64_MAX = (1 << 63) - 1
_GREATEST: cython.long = INT64_MAX


def parse_int(
    text: bytes,
    error: bytes = errors.NOT_AN_INTEGER,
    minimum: cython.long = INT64_MIN,
    maximum: cython.long = INT64_MAX,
) -> cython.long:
    """A canonical decimal integer in the given bounds; `ReplyError(error)` otherwise.

    Redis's string2ll: no blanks, no leading zeros, no plus sign.
    """
    number: cython.long = plain_integer(text, 0, len(text))
    if number < minimum or number > maximum or (number == 0 and text != b"0"):
        raise ReplyError(error)
    return number


def parse_deadline(
    amount: bytes,
    unit_ms: cython.long,
    base_ms: cython.long,
    command: bytes,
    least: cython.long = 1,
) -> cython.long:
    """The Unix time in ms that lies `amount` units after `base_ms`.

    Raises ReplyError if the amount is below `least`, or if the time has no 64 bits.
    """
    count: cython.long = parse_int(amount)
    if count < least or count > (_GREATEST - base_ms) // unit_ms:
        raise errors.invalid_expire_time(command)
    return count * unit_ms + base_ms


class Arguments:
    """The arguments of a request from `position` on."""

    __slots__ = ("argv", "position")

    def __init__(self, request: Request, position: int) -> None:
        self.argv = request.words()
        self.position = position

    def __bool__(self) -> bool:
        return self.position < len(self.argv)

    @property
    def remaining(self) -> int:
        """The number of arguments that are left."""
        return len(self.argv) - self.position

    def peek(self) -> bytes:
        """The next word in upper case, b"" at the end; the cursor stays."""
        return self.argv[self.position].upper() if self else b""

    def next(self, error: bytes = errors.SYNTAX) -> bytes:
        """The next word as it was sent; `ReplyError(error)` at the end."""
        if not self:
            raise ReplyError(error)
        word = self.argv[self.position]
        self.position += 1
        return word

    def next_keyword(self) -> bytes:
        """The next word in upper case."""
        return self.next().upper()

    def take(self, keyword: bytes) -> bool:
        """Step over `keyword` (upper case) if it comes next."""
        if self.peek() != keyword:
            return False
        self.position += 1
        return True

    def next_int(
        self,
        error: bytes = errors.NOT_AN_INTEGER,
        minimum: int = INT64_MIN,
        maximum: int = INT64_MAX,
    ) -> int:
        """The next word as an integer (see `parse_int`); a missing word is a syntax error."""
        return parse_int(self.next(), error, minimum, maximum)

    def finish(self, error: bytes = errors.SYNTAX) -> None:
        """Raise `ReplyError(error)` if arguments are left."""
        if self:
            raise ReplyError(error)


_DECIMAL = rb"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_HEXADECIMAL = rb"0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)(?:[pP][+-]?\d+)?"
_NUMBER = re.compile(rb"([+-]?)(?:(%b)|(%b)|(?i:inf(?:inity)?))" % (_HEXADECIMAL, _DECIMAL))
# Up to this many digits, every number fits a double.
_FEW_DIGITS = 20
# Bounds without end, as they are written most often.
_ENDLESS = {b"-inf": -inf, b"+inf": inf, b"inf": inf}


def quick_double(text: bytes, start: cython.Py_ssize_t) -> cython.double:
    """The number that a text is from a place on if that is simple: some digits. Else NaN."""
    if cython.compiled:
        return read_double(text, start)  # type: ignore[name-defined, no-any-return]  # noqa: F821
    digits = text[start:]
    return float(digits) if digits.isdigit() and len(digits) <= _FEW_DIGITS else nan


def parse_double(text: bytes, error: bytes = errors.NOT_A_FLOAT) -> float:
    """A number that a double can hold; `ReplyError(error)` otherwise, for NaN too.

    A number too large for a double, or so small that it would become 0, is refused.
    """
    quick: cython.double = quick_double(text, 0)
    if quick == quick:
        return quick
    parts = _NUMBER.fullmatch(text)
    if parts is None:
        raise ReplyError(error)
    number = _value(parts)
    is_infinite = number in (inf, -inf)
    if is_infinite and (parts[2] or parts[3]):
        raise ReplyError(error)
    if number == 0 and _has_digits(parts):
        raise ReplyError(error)
    return number


def parse_loose_double(text: bytes) -> float | None:
    """A bound of a range of scores, or a weight of SORT; None if it is not a number.

    The empty text is 0, and the number ends at a NUL. One too large for a double is infinite, one
    too small is 0, and a hexadecimal one is none, as since Redis 8.2.
    """
    quick: cython.double = quick_double(text, 0)
    if quick == quick:
        return quick
    if text in _ENDLESS:
        return _ENDLESS[text]
    text = text.partition(b"\0")[0]
    if not text:
        return 0.0
    parts = _NUMBER.fullmatch(text)
    return None if parts is None or parts[2] else _value(parts)


def _value(parts: re.Match[bytes]) -> float:
    sign = -1.0 if parts[1] == b"-" else 1.0
    if parts[2]:
        try:
            return sign * float.fromhex(parts[2].decode())
        except OverflowError:
            return sign * inf
    return sign * (float(parts[3]) if parts[3] else inf)


def _has_digits(parts: re.Match[bytes]) -> bool:
    """Return True if a number parsed as 0 has a digit other than 0 (an underflow)."""
    if parts[2]:
        return bool(parts[2][2:].lower().partition(b"p")[0].strip(b"0."))
    return bool(parts[3].lower().partition(b"e")[0].strip(b"0."))
