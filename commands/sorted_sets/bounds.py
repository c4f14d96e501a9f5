"""Parsing of range bounds: scores `1`, `(1`, `-inf`; members `[a`, `(a`, `-`, `+`; ranks."""

from __future__ import annotations

import cython

from commands.core.arguments import parse_int, parse_loose_double, quick_double
from protocol import errors
from protocol.errors import ReplyError
from storage.types.sets import LexBounds, ScoreBounds, Span

# Up to this many digits a number is read without an object.
_FEW_DIGITS: cython.Py_ssize_t = 9
_ZERO: cython.int = ord("0")

_LOWEST = b"-"
_HIGHEST = b"+"


def parse_score_bounds(low: bytes, high: bytes) -> ScoreBounds:
    """Raises ReplyError."""
    low_score, excludes_low = _parse_score(low)
    high_score, excludes_high = _parse_score(high)
    return ScoreBounds(low_score, high_score, excludes_low, excludes_high)


def _parse_score(text: bytes) -> tuple[float, bool]:
    return parse_score(text), excludes(text)


def parse_score(text: bytes) -> cython.double:
    """The score of a bound of a range. Raises ReplyError."""
    start: cython.Py_ssize_t = excludes(text)
    quick: cython.double = quick_double(text, start)
    if quick == quick:
        return quick
    score = parse_loose_double(text[start:])
    if score is None:
        raise ReplyError(errors.BOUNDS_NOT_FLOATS)
    return score


def excludes(text: bytes) -> cython.bint:
    """Return True if a bound of a range of scores is not itself within the range."""
    return text.startswith(b"(")


@cython.boundscheck(False)
@cython.wraparound(False)
def parse_rank(text: bytes) -> cython.longlong:
    """A rank, negative from the end. Raises ReplyError."""
    length: cython.Py_ssize_t = len(text)
    if 0 < length <= _FEW_DIGITS:
        data: cython.p_const_uchar = text
        rank: cython.longlong = 0
        place: cython.Py_ssize_t = 0
        while place < length and 0 <= data[place] - _ZERO <= 9:
            rank = 10 * rank + data[place] - _ZERO
            place += 1
        if place == length and (data[0] != _ZERO or length == 1):
            return rank
    return parse_int(text)


def parse_lex_bounds(low: bytes, high: bytes) -> LexBounds:
    """Raises ReplyError."""
    low_member, excludes_low = _parse_member(low)
    high_member, excludes_high = _parse_member(high)
    is_empty = low == _HIGHEST or high == _LOWEST
    if low_member is not None and high_member is not None:
        is_open = excludes_low or excludes_high
        is_empty |= low_member > high_member or (low_member == high_member and is_open)
    return LexBounds(low_member, high_member, excludes_low, excludes_high, is_empty)


def _parse_member(text: bytes) -> tuple[bytes | None, bool]:
    if text in (_LOWEST, _HIGHEST):
        return None, False
    if text[:1] not in (b"(", b"[") or not text:
        raise ReplyError(errors.BOUNDS_NOT_STRINGS)
    return text[1:], text[:1] == b"("


def rank_span(start: cython.longlong, end: cython.longlong, count: cython.Py_ssize_t) -> Span:
    """The ranks from `start` to `end`, both included and negative from the end, of `count`."""
    if start < 0:
        start = start + count if start + count > 0 else 0
    if end < 0:
        end += count
    elif end >= count:
        end = count - 1
    if start > end:
        return 0, 0
    return start, end + 1


def limited(span: Span, offset: int, count: int, *, reverse: bool) -> Span:
    """Apply LIMIT to a span; a negative `count` is no limit, a negative `offset` gives no ranks.

    `reverse`: the span is read from its end.
    """
    start, end = span
    if offset < 0 or offset >= end - start:
        return 0, 0
    if reverse:
        end -= offset
        return (start if count < 0 else max(start, end - count)), end
    start += offset
    return start, (end if count < 0 else min(end, start + count))
