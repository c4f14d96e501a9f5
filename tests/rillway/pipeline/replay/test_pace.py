"""When entries are due."""

from __future__ import annotations

from rillway.pipeline.replay.pace import AtOnce, Rate, Speed

TIMES_MS = [1000, 1000, 2000, 11_000]


def test_at_once_everything_is_due() -> None:
    assert AtOnce().due(TIMES_MS, 1, 1, 0.0) == 3


def test_a_rate_lets_so_many_pass_a_second() -> None:
    pace = Rate(2)
    assert pace.due(TIMES_MS, 0, 0, 0.0) == 1
    assert pace.due(TIMES_MS, 1, 1, 0.4) == 0
    assert pace.wait_seconds(1000, 1, 0.4) == 0.09999999999999998
    assert pace.due(TIMES_MS, 1, 1, 1.0) == 2
    assert pace.due(TIMES_MS, 1, 1, 100.0) == 3


def test_a_speed_keeps_the_gaps_in_proportion() -> None:
    pace = Speed(10)
    assert pace.due(TIMES_MS, 0, 0, 0.0) == 2
    assert pace.due(TIMES_MS, 2, 2, 0.09) == 0
    assert pace.due(TIMES_MS, 2, 2, 0.1) == 1
    assert pace.wait_seconds(11_000, 3, 0.1) == 0.9
    assert pace.due(TIMES_MS, 3, 3, 1.0) == 1
