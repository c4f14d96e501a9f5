"""Counters and rates."""

from __future__ import annotations

import pytest

from commands.core.instance import MAX_ERROR_CODES, Stats
from commands.core.registry import COMMANDS
from commands.core.stats import (
    MAX_DISTINCT,
    SAMPLES,
    LatencyHistogram,
    Rate,
    bucket_end_ns,
    bucket_ends_us,
)
from server.inprocess.server import InProcessServer


def test_a_rate_is_the_mean_of_the_latest_samples() -> None:
    rate = Rate()
    for i in range(1, SAMPLES + 5):
        rate.sample(total=50 * i, elapsed_ms=100)
    assert rate.per_second() == pytest.approx(500)
    for _ in range(SAMPLES):
        rate.sample(total=50 * (SAMPLES + 4), elapsed_ms=100)
    assert rate.per_second() == 0


def test_samples_are_a_tenth_of_a_second_apart() -> None:
    stats = Stats()
    stats.sample(monotonic_ms=1000)
    stats.commands_processed = 80
    stats.sample(monotonic_ms=1050)
    assert stats.operations.per_second() == 0
    stats.sample(monotonic_ms=1100)
    assert stats.operations.per_second() == pytest.approx(800 / SAMPLES)


def test_errors_are_counted_by_code_and_in_all() -> None:
    stats = Stats()
    stats.count_error(b"ERR")
    stats.count_error(b"ERR")
    stats.count_error(b"WRONGTYPE")
    assert stats.errors == {b"ERR": 2, b"WRONGTYPE": 1}
    assert stats.total_error_replies == 3


def test_there_is_an_end_to_the_codes_that_are_counted_one_by_one() -> None:
    stats = Stats()
    for number in range(MAX_ERROR_CODES + 10):
        stats.count_error(b"E%d" % number)
    stats.count_error(b"E0")
    assert len(stats.errors) == MAX_ERROR_CODES
    assert stats.errors[b"E0"] == 2
    assert stats.total_error_replies == MAX_ERROR_CODES + 11


def test_a_reset_forgets_counters_but_goes_on_counting_the_command_that_runs() -> None:
    server = InProcessServer()
    client = server.connect()
    client.execute("PING")
    client.execute("CONFIG", "RESETSTAT")
    commands = server.instance.stats.commands
    assert commands[COMMANDS[b"ping"]].calls == 0
    assert commands[COMMANDS[b"config"].subcommands[b"resetstat"]].calls == 1


@pytest.mark.parametrize(
    ("elapsed_us", "printed"),
    [(0, 0.001), (1, 1.003), (3, 3.007), (9, 9.023), (12, 12.031), (66, 66.047), (552, 552.959)],
)
def test_a_single_latency_is_printed_as_redis_prints_it(elapsed_us: int, printed: float) -> None:
    histogram = LatencyHistogram()
    histogram[elapsed_us] += 1
    assert histogram.percentiles_us([50.0, 99.0, 99.9]) == [printed] * 3


def test_percentiles_tell_the_latency_of_the_call_at_that_rank() -> None:
    histogram = LatencyHistogram()
    for elapsed_us in range(1, 101):
        histogram[elapsed_us] += 1
    assert histogram.percentiles_us([0.0, 50.0, 99.0, 100.0]) == [1.003, 50.175, 99.327, 100.351]


def test_nothing_is_slower_than_one_second() -> None:
    histogram = LatencyHistogram()
    histogram[10_000_000] += 1
    assert histogram.percentiles_us([50.0]) == [1002438.655]
    assert histogram.cumulative_us() == [(1073741, 1)]


def test_an_empty_histogram_has_no_rows_and_percentiles_of_zero() -> None:
    assert LatencyHistogram().cumulative_us() == []
    assert LatencyHistogram().percentiles_us([50.0]) == [0.0]


def test_rows_are_cumulative_and_only_where_the_number_grows() -> None:
    histogram = LatencyHistogram()
    for elapsed_us, count in ((0, 2), (1, 2), (2, 1), (30, 1), (300_000, 4)):
        histogram[elapsed_us] += count
    assert histogram.calls == 10
    assert histogram.cumulative_us() == [(1, 4), (2, 5), (33, 6), (541065, 10)]


def test_the_histogram_stays_small_and_keeps_its_calls() -> None:
    histogram = LatencyHistogram()
    for elapsed_us in range(0, 50_000, 3):
        histogram[elapsed_us] += 1
    assert len(histogram) <= MAX_DISTINCT
    assert histogram.calls == len(range(0, 50_000, 3))
    assert histogram.percentiles_us([50.0])[0] == pytest.approx(25_000, rel=0.01)


@pytest.mark.parametrize(("value_ns", "end_ns"), [(1, 1), (255, 255), (256, 257), (1024, 1031)])
def test_a_bucket_holds_two_significant_digits(value_ns: int, end_ns: int) -> None:
    assert bucket_end_ns(value_ns) == end_ns


def test_the_ends_of_rows_are_those_that_are_reported() -> None:
    histogram = LatencyHistogram()
    for elapsed_us in (0, 1, 3, 40, 1000, 70_000, 5_000_000):
        histogram[elapsed_us] += 1
    ends_us = list(bucket_ends_us())
    assert ends_us[:7] == [1, 2, 4, 8, 16, 33, 66]
    assert {end_us for end_us, _ in histogram.cumulative_us()} <= set(ends_us)
