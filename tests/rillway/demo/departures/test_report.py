"""What the demo prints."""

from __future__ import annotations

from rillway.demo.departures.audit import Check
from rillway.demo.departures.report import (
    carrier_table,
    check_lines,
    consumer_table,
    latency_lines,
)
from rillway.demo.departures.tally import Counters


def make_tally(*latencies_ms: float) -> Counters:
    tally = Counters.create()
    for latency_ms in latencies_ms:
        tally.add_latency(latency_ms)
    return tally


def test_the_histogram_has_the_seeds_form() -> None:
    tallies = {"a": make_tally(0.2, 0.9, 0.5), "b": make_tally(1.5)}
    assert list(latency_lines(tallies)) == [
        "Processed between 0 and 1 ms -> 75.00%",
        "Processed between 1 and 2 ms -> 25.00%",
    ]


def test_the_slowest_are_in_the_histogram_too() -> None:
    assert list(latency_lines({"a": make_tally(60, 5_000)})) == [
        "Processed between 50 and 100 ms -> 50.00%",
        "Processed in 1000 ms or more -> 50.00%",
    ]


def test_without_entries_there_is_no_histogram() -> None:
    assert list(latency_lines({"a": make_tally()})) == []


def test_the_consumer_table_says_who_crashed_and_what_was_left_behind() -> None:
    healthy, unlucky = Counters.create(), Counters.create()
    healthy.add_delivered(10)
    healthy.add_claimed(3)
    healthy.add_acknowledged(13)
    unlucky.add_delivered(5)
    unlucky.add_acknowledged(2)
    shown = consumer_table({"healthy": healthy, "unlucky": unlucky}, crashed=["unlucky"])
    assert [line.split() for line in shown.splitlines()[2:]] == [
        ["healthy", "10", "3", "13", "0", "finished"],
        ["unlucky", "5", "0", "2", "3", "crashed"],
        ["all", "15", "3", "15", "3"],
    ]


def test_a_carrier_that_differs_is_marked() -> None:
    shown = carrier_table({"UA": 3, "B6": 1}, {"UA": 2, "B6": 1, "XX": 1})
    assert [line.split() for line in shown.splitlines()[2:]] == [
        ["B6", "1", "1"],
        ["UA", "3", "2", "DIFFERS"],
        ["XX", "0", "1", "DIFFERS"],
        ["all", "4", "4"],
    ]


def test_a_failed_check_shows_what_was_expected() -> None:
    checks = [Check("length", 2_000, 2_000), Check("order", True, True), Check("pending", 0, None)]
    assert list(check_lines(checks)) == [
        "  ok      length: 2,000",
        "  ok      order",
        "  FAILED  pending: expected 0, found None",
    ]
