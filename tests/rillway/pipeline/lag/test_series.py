"""Rates between samples, and when a group is through."""

from __future__ import annotations

import pytest

from rillway.pipeline.client.group_samples import GroupSample
from rillway.pipeline.lag.series import RECENT_SAMPLES, Recording, Series, Trend, trend

NOW_MS = 1_700_000_000_000


def sample(
    seconds: float, lag: int | None, read: int | None, added: int, group: str = "g"
) -> GroupSample:
    time_ms = NOW_MS + round(seconds * 1000)
    return GroupSample("s", group, time_ms, lag, 0, read, "0-0", added, added, "0-0", ())


def test_a_group_that_reads_faster_than_entries_come_will_be_through() -> None:
    found = trend(sample(0, 100, 0, 100), sample(2, 80, 60, 140))
    assert (found.read_rate, found.added_rate) == (30.0, 20.0)
    assert found.drain_s == 8.0


@pytest.mark.parametrize(("read", "added"), [(40, 140), (10, 140), (0, 100)])
def test_one_that_does_not_will_never_be(read: int, added: int) -> None:
    assert trend(sample(0, 100, 0, 100), sample(2, added - read, read, added)).drain_s is None


def test_where_nothing_is_left_there_is_nothing_to_wait_for() -> None:
    assert trend(sample(0, 5, 0, 5), sample(1, 0, 5, 5)).drain_s == 0.0
    assert Trend(None, None, 0).drain_s == 0.0


@pytest.mark.parametrize(
    "after",
    [sample(1, 5, None, 10), sample(1, 5, 3, 10), sample(1, 5, 9, 3), sample(0, 5, 9, 10)],
)
def test_counters_that_are_unknown_or_went_back_give_no_rate(after: GroupSample) -> None:
    found = trend(sample(0, 5, 5, 10), after)
    assert found.drain_s is None
    assert found.read_rate is None or found.added_rate is None


def test_an_unknown_lag_is_never_through() -> None:
    assert trend(sample(0, 9, 0, 9), sample(1, None, 5, 9)).drain_s is None


def test_the_last_few_samples_are_recent() -> None:
    series = Series([sample(number, 0, number * number, 0) for number in range(30)])
    assert series.overall.read_rate == 29.0
    first = 30 - RECENT_SAMPLES
    assert series.recent.read_rate == (29 * 29 - first * first) / (29 - first)
    assert Series(series.samples[:3]).recent == Series(series.samples[:3]).overall


def test_each_group_has_its_own_series() -> None:
    recording = Recording()
    recording.add([sample(0, 5, 0, 5), sample(0, None, 0, 5, "h")])
    recording.add([sample(1, 7, 0, 7)])
    assert recording.series["s", "g"].lags == [5, 7]
    assert recording.series["s", "h"].lags == []
