"""Which back-ups stay."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rillway.backup.retention import Term, parse_keep, removable

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)  # a Wednesday


def ms(when: datetime) -> int:
    return round(when.timestamp() * 1000)


def days(*numbers: int) -> dict[str, int]:
    """Back-ups by their age in days."""
    return {str(number): ms(NOW - timedelta(days=number)) for number in numbers}


def test_seven_days_and_four_weeks() -> None:
    times = days(*range(60))
    removed = removable(times, parse_keep("7d,4w"), ms(NOW), None)
    # Of earlier weeks their Sundays: the 15th, the 8th, the 1st of November.
    assert sorted(set(times) - set(removed), key=int) == [*map(str, range(8)), "10", "17", "24"]


def test_the_last_one_that_was_checked_stays_and_so_does_the_newest() -> None:
    assert removable(days(30, 40, 50), parse_keep("7d"), ms(NOW), "40") == ["50"]


def test_a_back_up_each_day_leaves_one_a_week() -> None:
    """Removing after each back-up leaves what removing at the end would have left."""
    keep, there = parse_keep("3d,4w"), dict[str, int]()
    for day in range(70, -1, -1):
        now = NOW - timedelta(days=day)
        there[str(day)] = ms(now)
        for name in removable(there, keep, ms(now), None):
            del there[name]
    assert len(there) == 4 + 3
    assert set(days(*range(71))) - set(removable(days(*range(71)), keep, ms(NOW), None)) == set(
        there
    )


@given(st.sets(st.integers(0, 400), min_size=1), st.integers(1, 30), st.integers(0, 8))
def test_no_age_is_left_without_a_back_up_that_was_there(
    ages: set[int], first: int, weeks: int
) -> None:
    keep = [Term(first, "d"), *([Term(weeks, "w")] if weeks else [])]
    removed = {int(name) for name in removable(days(*ages), keep, ms(NOW), None)}
    left = ages - removed
    assert min(ages) in left
    assert {age for age in ages if age <= first} <= left
    for age in removed:
        week = (NOW - timedelta(days=age)).strftime("%G-%V")
        newer = [other for other in left if (NOW - timedelta(days=other)).strftime("%G-%V") == week]
        assert age > first and (age > 7 * weeks or any(other < age for other in newer))


@pytest.mark.parametrize("text", ["", "7", "d", "0d", "7d,", "7y", "1d 2w x"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(ValueError, match="expected times such as 7d,4w"):
        parse_keep(text)
