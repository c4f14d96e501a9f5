"""server/clock.py: intervals, also when the clock is set back."""

from __future__ import annotations

import pytest

from server.clock import has_passed


@pytest.mark.parametrize(
    ("now_ms", "answer"), [(1000, False), (1999, False), (2000, True), (9000, True), (999, True)]
)
def test_time_has_passed_also_where_the_clock_was_set_back(now_ms: int, answer: bool) -> None:
    assert has_passed(1000, 1000, now_ms) is answer
