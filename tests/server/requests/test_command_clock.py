"""server/requests/command_clock.py: counting, the slow log, time slices."""

from __future__ import annotations

import itertools

import pytest

from commands.core.registry import COMMANDS
from commands.server.latency import LatencyMonitor
from commands.server.slowlog import SlowLog
from server.inprocess.server import InProcessServer
from server.requests import command_clock


def test_commands_that_are_counted_together_are_counted_each_by_its_name() -> None:
    server = InProcessServer()
    client = server.connect()
    words = [("SET", "k", "1"), ("GET", "k"), ("GET", "k"), ("INFO", "server"), ("INCR", "k")]
    client.pipeline(*words * 10)
    stats = server.instance.stats
    calls = {name: stats.of(COMMANDS[name]).calls for name in (b"set", b"get", b"info", b"incr")}
    assert calls == {b"set": 10, b"get": 20, b"info": 10, b"incr": 10}
    assert stats.commands_processed == client.state.commands == 50
    assert all(stats.of(COMMANDS[name]).histogram.calls == calls[name] for name in calls)


def test_statistics_include_the_requests_before_the_command_that_shows_them() -> None:
    client = InProcessServer().connect()
    shown = client.pipeline(*[("GET", "k")] * 3, ("INFO", "commandstats"))
    assert b"cmdstat_get:calls=3," in shown


def test_time_slices_are_shorter_late_in_a_long_cycle() -> None:
    dispatcher = InProcessServer().dispatcher
    clock = dispatcher.clock
    clock.slice_ns = 10**12
    dispatcher.start_batch()
    assert clock.slice_end_ns == clock.mark_ns + 10**12
    clock._cycle_start_ns -= 10**9
    clock.slice_ns = 4000
    dispatcher.start_batch()
    assert clock.slice_end_ns == clock.mark_ns + 1000
    clock.end_cycle()
    dispatcher.start_batch()
    assert clock.slice_end_ns == clock.mark_ns + 4000


@pytest.mark.interpreted  # the clock of a compiled module cannot be replaced
@pytest.mark.parametrize(
    ("slow_us", "spike_ms", "recorded"),
    [
        ("1000", "0", (1, 0)),
        ("-1", "1", (0, 1)),
        ("1000", "1", (1, 1)),
        ("10000000", "10000", (0, 0)),
        ("-1", "0", (0, 0)),
    ],
)
def test_slow_log_and_latency_monitor_record_from_their_thresholds_on(
    monkeypatch: pytest.MonkeyPatch, slow_us: str, spike_ms: str, recorded: tuple[int, int]
) -> None:
    server = InProcessServer(slowlog_log_slower_than=slow_us, latency_monitor_threshold=spike_ms)
    client = server.connect()
    ticks = itertools.count(1, 2_000_000)  # each look is 2 ms later
    monkeypatch.setattr(command_clock, "perf_counter_ns", lambda: next(ticks))
    client.execute("ECHO", "x")
    instance = server.instance
    found = (
        len(list(instance.feature(SlowLog).latest(9))),
        len(instance.feature(LatencyMonitor).events),
    )
    assert found == recorded
