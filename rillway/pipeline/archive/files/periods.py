"""The period that a file of the archive covers: a day, a month, a year, or all time.

A period is named by its first date in UTC, which is in the partition column `date`. With short
periods, streams of few entries have many small files; choose the period by the size of files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

from rillway.pipeline.archive.limits import DAY, MONTH, NONE, YEAR

MS_PER_DAY = 86_400_000
FIRST_DATE = date(1970, 1, 1)
# Made-up IDs may be later than any date.
LAST_DAY = (date.max - FIRST_DATE).days


def day_of(ms: int) -> date:
    """Return the UTC date of a Unix time, at most the last date."""
    if ms // MS_PER_DAY >= LAST_DAY:
        return date.max
    return datetime.fromtimestamp(ms // 1000, UTC).date()


@dataclass(frozen=True, slots=True)
class Undated:
    """The dates of rows without a time: `by_stream`, or else `otherwise`."""

    by_stream: Mapping[str, date] = field(default_factory=dict)
    otherwise: date = date.max


LATEST = Undated()


def period_of(ms: int, period: str) -> date:
    """Return the first date of the period of a Unix time."""
    return first_date(day_of(ms), period)


def first_date(day: date, period: str) -> date:
    """Return the first date of the period of a date."""
    if period == NONE:
        return FIRST_DATE
    if day == date.max or period == DAY:
        return day
    return day.replace(day=1) if period == MONTH else day.replace(month=1, day=1)


def period_end_ms(ms: int, period: str) -> int | None:
    """Return the Unix ms at which the next period begins; None if there is none."""
    return end_of_period(day_of(ms), period)


def end_of_period(day: date, period: str) -> int | None:
    """Return the Unix ms at which the period of a date ends; None if it has no end."""
    first = first_date(day, period)
    try:
        if period == DAY:
            following = first + timedelta(days=1)
        elif period == MONTH:
            following = (first.replace(day=28) + timedelta(days=4)).replace(day=1)
        elif period == YEAR:
            following = first.replace(year=first.year + 1)
        else:
            return None
    except (OverflowError, ValueError):  # the year 9999 ends
        return None
    return day_ms(following)


def day_before(now: datetime, seconds: float) -> date:
    """Return the date some time ago, at least the first date."""
    try:
        return (now - timedelta(seconds=seconds)).date()
    except OverflowError:
        return date.min


def day_number(day: date) -> int:
    """Return the days since 1970."""
    return (day - FIRST_DATE).days


def day_ms(day: date) -> int:
    """Return the Unix ms at which a date begins."""
    return day_number(day) * MS_PER_DAY
