"""Floating-point numbers as C's strtod reads them: scores, weights, bounds of ranges, coordinates.

Decimal with an optional exponent, hexadecimal (0x1.8p3), inf and infinity in any case. Unlike
Python's float() it takes no underscores and no blanks after the number.

Leaves out: long doubles (commands/strings/long_double.py); how numbers are printed
(protocol/replies.py).
"""

from __future__ import annotations

import re
from math import inf, nan

import cython

from protocol import errors
from protocol.errors import ReplyError

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
