"""Which back-ups `--keep 7d,4w` leaves: all of the last seven days, one a week for four weeks.

The newest of a calendar week (ISO, in UTC) is the one that stays, so a back-up that is taken each
day does not push out the one of last week. The newest of all stays, and the last one that was
checked.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

TERM = re.compile(r"([1-9]\d{0,4})([hdw])")
DAYS = {"h": 1 / 24, "d": 1.0, "w": 7.0}


class Term(NamedTuple):
    """A number of hours, days or weeks."""

    number: int
    unit: str

    @property
    def span(self) -> timedelta:
        return timedelta(days=self.number * DAYS[self.unit])


def parse_keep(text: str) -> list[Term]:
    """Parse `7d,4w`. Raises ValueError."""
    found = [TERM.fullmatch(word) for word in text.replace(" ", "").split(",")]
    if not all(found):
        raise ValueError(f"expected times such as 7d,4w with h, d or w; not {text!r}")
    return [Term(int(each[1]), each[2]) for each in found if each]


def removable(
    times_ms: dict[str, int], keep: list[Term], now_ms: int, checked: str | None
) -> list[str]:
    """The names of finished back-ups to remove. `times_ms`: when each began, by its name.

    `checked`: the last one that was checked.
    """
    now = datetime.fromtimestamp(now_ms / 1000, UTC)
    times = {name: datetime.fromtimestamp(ms / 1000, UTC) for name, ms in times_ms.items()}
    newest_first = sorted(times, key=lambda name: times[name], reverse=True)
    kept = {checked, *newest_first[:1]}
    first, *others = keep
    kept.update(name for name, when in times.items() if when >= now - first.span)
    for term in others:
        seen = set()
        for name in newest_first:
            period = _period(times[name], term.unit)
            oldest = now - term.span
            if period not in seen and times[name] >= oldest:
                kept.add(name)
            seen.add(period)
    return [name for name in reversed(newest_first) if name not in kept]


def _period(when: datetime, unit: str) -> str:
    """The calendar period of a time."""
    return when.strftime({"h": "%Y-%m-%d %H", "d": "%Y-%m-%d", "w": "%G-%V"}[unit])
