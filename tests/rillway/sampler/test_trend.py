"""Rates between samples, and when a group is through."""

from __future__ import annotations

import pytest

from rillway.sampler import GroupFigures, StreamFigures
from rillway.sampler.trend import (
    RECENT_SAMPLES,
    GroupSample,
    Recording,
    Series,
    Trend,
    group_samples,
    trend,
)

NOW_MS = 1_700_000_000_000


def sample(
    seconds: float, lag: int | None, read: int | None, added: int, group: str = "g"
) -> GroupSample:
    time_ms = NOW_MS + round(seconds * 1000)
    return GroupSample("s", group, time_ms, lag, 0, read, "0-0", added, added, "0-0")


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


def keeping_up(lags: list[int | None], read_per_s: float = 100) -> bool | None:
    samples = [
        sample(number, lag, round(number * read_per_s), 1000 * number)
        for number, lag in enumerate(lags)
    ]
    return Series(samples).keeps_up


def test_a_group_that_is_momentarily_two_behind_keeps_up() -> None:
    assert keeping_up([0, 2, 0, 1, 0, 0, 3, 0, 0, 2]) is True
    assert keeping_up([2] * 10) is True


def test_one_whose_lag_is_more_than_a_moments_worth_and_does_not_shrink_does_not() -> None:
    assert keeping_up([500 + 10 * number for number in range(10)]) is False
    assert keeping_up([5] * 10, read_per_s=0) is False
    assert keeping_up([500 - 10 * number for number in range(10)]) is True


def test_few_samples_or_an_unknown_lag_say_nothing() -> None:
    assert keeping_up([500] * 9) is None
    assert keeping_up([500] * 9 + [None]) is None


def test_a_sample_of_a_group_has_its_streams_position() -> None:
    group = GroupFigures(b"\xff", 5, 3, 95, "7-0", oldest_ms=12)
    stream = StreamFigures(0, b"s", NOW_MS, 90, 100, last_id="9-0", groups=(group,))
    [found] = group_samples([stream, StreamFigures(0, b"t", NOW_MS, 0)])
    assert (found.stream, found.group, found.lag, found.oldest_ms) == ("s", "\\xff", 5, 12)
    assert (found.stream_length, found.stream_entries_added, found.stream_last_id) == (
        90,
        100,
        "9-0",
    )
