"""Counters and rates."""

from __future__ import annotations

import pytest

from commands.core.registry import COMMANDS
from commands.state.stats import MAX_ERROR_CODES, SAMPLES, Rate, Stats
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
    stats.sample(now_ms=1000)
    stats.commands_processed = 80
    stats.sample(now_ms=1050)
    assert stats.operations.per_second() == 0
    stats.sample(now_ms=1100)
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
