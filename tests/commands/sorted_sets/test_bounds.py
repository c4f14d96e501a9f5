"""commands/sorted_sets/bounds.py: the ends of ranges."""

from __future__ import annotations

from math import inf

import pytest

from commands.sorted_sets.bounds import limited, parse_lex_bounds, parse_score_bounds, rank_span
from protocol.errors import ReplyError
from storage.types.sets import LexBounds, ScoreBounds


def test_scores() -> None:
    assert parse_score_bounds(b"(1", b"+inf") == ScoreBounds(1.0, inf, True, False)
    assert parse_score_bounds(b"(", b"") == ScoreBounds(0.0, 0.0, True, False)
    for low, high in ((b"x", b"1"), (b"1", b"((1"), (b"nan", b"1"), (b"1 ", b"1")):
        with pytest.raises(ReplyError, match="not a float"):
            parse_score_bounds(low, high)


def test_members() -> None:
    assert parse_lex_bounds(b"-", b"[b") == LexBounds(None, b"b")
    assert parse_lex_bounds(b"(a", b"+") == LexBounds(b"a", None, excludes_low=True)
    assert parse_lex_bounds(b"[", b"(b") == LexBounds(b"", b"b", excludes_high=True)
    for low, high in ((b"a", b"+"), (b"", b"+"), (b"-", b"++"), (b"-", b"-a")):
        with pytest.raises(ReplyError, match="not valid string range item"):
            parse_lex_bounds(low, high)


@pytest.mark.parametrize(
    ("low", "high", "is_empty"),
    [
        (b"+", b"-", True),
        (b"+", b"+", True),
        (b"-", b"-", True),
        (b"-", b"+", False),
        (b"[b", b"[a", True),
        (b"[a", b"[a", False),
        (b"(a", b"[a", True),
    ],
)
def test_nothing_is_within_some_bounds(low: bytes, high: bytes, is_empty: bool) -> None:
    assert parse_lex_bounds(low, high).is_empty is is_empty


@pytest.mark.parametrize(
    ("start", "end", "span"),
    [
        (0, -1, (0, 5)),
        (1, 2, (1, 3)),
        (-2, -1, (3, 5)),
        (-99, 1, (0, 2)),
        (3, 99, (3, 5)),
        (2, 1, (0, 0)),
        (5, 9, (0, 0)),
        (0, -6, (0, 0)),
    ],
)
def test_ranks(start: int, end: int, span: tuple[int, int]) -> None:
    assert rank_span(start, end, 5) == span


@pytest.mark.parametrize(
    ("offset", "count", "reverse", "span"),
    [
        (0, -1, False, (2, 7)),
        (1, 2, False, (3, 5)),
        (1, 2, True, (4, 6)),
        (1, -5, True, (2, 6)),
        (4, 9, False, (6, 7)),
        (5, 1, False, (0, 0)),
        (-1, 3, False, (0, 0)),
        (0, 0, False, (2, 2)),
    ],
)
def test_limits(offset: int, count: int, reverse: bool, span: tuple[int, int]) -> None:
    assert limited((2, 7), offset, count, reverse=reverse) == span
