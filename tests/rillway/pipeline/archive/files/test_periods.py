"""Days, months and years in UTC."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from rillway.pipeline.archive.files.periods import (
    day_before,
    day_ms,
    day_of,
    period_end_ms,
    period_of,
)
from rillway.pipeline.archive.limits import PERIODS


def ms(text: str) -> int:
    return day_ms(date.fromisoformat(text))


@pytest.mark.parametrize(
    ("period", "first", "following"),
    [
        ("day", "2024-02-28", "2024-02-29"),
        ("month", "2024-02-01", "2024-03-01"),
        ("year", "2024-01-01", "2025-01-01"),
    ],
)
def test_a_time_lies_in_a_period(period: str, first: str, following: str) -> None:
    moment = ms("2024-02-28") + 86_399_999
    assert period_of(moment, period) == date.fromisoformat(first)
    assert period_end_ms(moment, period) == ms(following)
    assert period_of(ms(following), period) > period_of(moment, period)


def test_each_period_ends_where_the_next_begins() -> None:
    for period in ("day", "month", "year"):
        for day in range(0, 3000, 7):
            end = period_end_ms(day * 86_400_000, period)
            assert end is not None
            assert period_of(end, period) != period_of(end - 1, period)
            assert period_of(end - 1, period) == period_of(day * 86_400_000, period)


def test_the_last_period_does_not_end() -> None:
    assert period_end_ms(0, "none") is None
    assert period_of(2**62, "none") == date(1970, 1, 1)
    assert day_of(2**62) == date.max
    for period in PERIODS:
        assert period_end_ms(2**62, period) is None
        assert period_end_ms(ms("9999-12-31"), period) is None


def test_there_is_no_day_before_the_first() -> None:
    now = datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert day_before(now, 86_400) == date(2026, 2, 28)
    assert day_before(now, 1e12) == day_before(now, 1e18) == date.min
