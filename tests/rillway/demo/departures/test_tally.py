"""The counters that outlive their process."""

from __future__ import annotations

import multiprocessing
import os
import signal

import pytest

from rillway.demo.departures.tally import LATENCY_BOUNDS_MS, Counters


def count_and_die(tally: Counters) -> None:
    tally.add_delivered(7)
    tally.add_acknowledged(3)
    os.kill(os.getpid(), signal.SIGKILL)


def test_what_is_neither_acknowledged_nor_lost_is_unacknowledged() -> None:
    tally = Counters.create()
    tally.add_delivered(10)
    tally.add_claimed(5)
    tally.add_acknowledged(12)
    assert (tally.delivered, tally.claimed, tally.acknowledged) == (10, 5, 12)
    assert tally.unacknowledged == 3


def test_a_tally_begins_unready_and_empty() -> None:
    tally = Counters.create()
    assert not tally.ready
    assert tally.unacknowledged == 0
    assert not any(tally.latencies())
    tally.mark_ready()
    assert tally.ready


@pytest.mark.parametrize(
    ("latency_ms", "expected_class"),
    [
        (0.0, 0),
        (0.999, 0),
        (1.0, 1),
        (1.5, 1),
        (9.99, 9),
        (10, 10),
        (999.9, 15),
        (1000, 16),
        (1e6, 16),
    ],
)
def test_a_latency_falls_into_the_class_whose_lower_bound_it_reaches(
    latency_ms: float, expected_class: int
) -> None:
    tally = Counters.create()
    tally.add_latency(latency_ms)
    counts = list(tally.latencies())
    assert len(counts) == len(LATENCY_BOUNDS_MS) + 1
    assert [index for index, count in enumerate(counts) if count] == [expected_class]


@pytest.mark.integration
def test_the_counters_survive_a_process_that_is_killed() -> None:
    tally = Counters.create()
    # Forked, where the demo spawns: a test module is no importable name in a fresh interpreter.
    process = multiprocessing.get_context("fork").Process(target=count_and_die, args=(tally,))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert tally.unacknowledged == 4
