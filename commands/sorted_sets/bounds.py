"""Parsing of range bounds: scores `1`, `(1`, `-inf`; members `[a`, `(a`, `-`, `+`; ranks."""

from __future__ import annotations

from commands.core.floats import parse_loose_double
from protocol import errors
from protocol.errors import ReplyError
from storage.types.sorted_sets import LexBounds, ScoreBounds, Span

_LOWEST = b"-"
_HIGHEST = b"+"


def parse_score_bounds(low: bytes, high: bytes) -> ScoreBounds:
    """Raises ReplyError."""
    low_score, excludes_low = _parse_score(low)
    high_score, excludes_high = _parse_score(high)
    return ScoreBounds(low_score, high_score, excludes_low, excludes_high)


def _parse_score(text: bytes) -> tuple[float, bool]:
    is_exclusive = text[:1] == b"("
    score = parse_loose_double(text[1:] if is_exclusive else text)
    if score is None:
        raise ReplyError(errors.BOUNDS_NOT_FLOATS)
    return score, is_exclusive


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


def rank_span(start: int, end: int, count: int) -> Span:
    """The ranks from `start` to `end`, both included and negative from the end, of `count`."""
    start = max(start + count, 0) if start < 0 else start
    end = end + count if end < 0 else min(end, count - 1)
    return (start, end + 1) if start <= end else (0, 0)


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
