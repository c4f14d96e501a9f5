"""Percentiles and histograms are exact, however the counting was shared."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from rillway.pipeline.latency.distribution import BOUNDS_MS, Distribution, LatencyCounts

TIMES = st.lists(st.integers(0, 100_000), min_size=1, max_size=50)


def counted(times: list[int]) -> Distribution:
    distribution = Distribution()
    for ms in times:
        distribution.add(ms)
    return distribution


@given(TIMES, st.integers(1, 1000))
def test_a_percentile_is_the_nearest_rank(times: list[int], per_mille: int) -> None:
    rank = max(math.ceil(len(times) * per_mille / 1000 - 1e-9), 1)
    assert counted(times).percentile(per_mille) == sorted(times)[rank - 1]


def test_percentiles_of_a_thousand_times_are_those_one_would_name() -> None:
    distribution = counted(list(range(1, 1001)))
    assert distribution.percentiles() == {
        "p50": 500, "p90": 900, "p99": 990, "p99.9": 999, "max": 1000,
    }  # fmt: skip


def test_where_nothing_was_counted_nothing_is_known() -> None:
    empty = Distribution()
    assert set(empty.percentiles().values()) == {None}
    assert (empty.count, list(empty.histogram())) == (0, [])


@given(TIMES, TIMES)
def test_parts_add_up(one: list[int], other: list[int]) -> None:
    together = counted(one)
    together.merge(counted(other))
    assert together.counts == counted(one + other).counts
    assert together.percentiles() == counted(one + other).percentiles()


@given(TIMES)
def test_every_time_is_in_one_class_of_the_histogram(times: list[int]) -> None:
    classes = list(counted(times).histogram())
    assert sum(count for _, _, count in classes) == len(times)
    for lower, upper, count in classes:
        assert count == sum(lower <= ms and (upper is None or ms < upper) for ms in times) > 0


def test_the_classes_are_those_of_the_tutorial_where_there_are_most() -> None:
    classes = list(counted([0, 0, 1, 10, BOUNDS_MS[-1]]).histogram())
    assert classes == [(0, 1, 2), (1, 2, 1), (10, 20, 1), (BOUNDS_MS[-1], None, 1)]


def test_a_group_is_the_sum_of_its_consumers() -> None:
    tally = LatencyCounts()
    for consumer, ms in [("a", 1), ("b", 3), ("a", 5)]:
        latencies = tally.of("g", consumer)
        latencies.count += 1
        latencies.pending.add(ms)
    tally.of("f", "a").count += 1
    assert list(tally.groups()) == ["f", "g"]
    assert tally.groups()["g"].pending.counts == {1: 1, 3: 1, 5: 1}
    assert list(tally.consumers("g")) == ["a", "b"]
    assert tally.count == 4
    twice = LatencyCounts(unreadable=1)
    twice.merge(tally)
    twice.merge(tally)
    assert (twice.count, twice.unreadable) == (8, 1)
