"""Samples of slow events."""

from __future__ import annotations

from commands.config.configuration import Configuration
from commands.state.latency import MAX_SAMPLES, LatencyMonitor


def test_an_event_keeps_a_sample_for_each_second_and_its_worst() -> None:
    monitor = LatencyMonitor(Configuration())
    monitor.sample(b"command", 150, now_ms=1000)
    monitor.sample(b"command", 300, now_ms=2000)
    monitor.sample(b"command", 100, now_ms=3000)
    event = monitor.events[b"command"]
    assert list(event.samples) == [(1, 150), (2, 300), (3, 100)]
    assert event.max_ms == 300


def test_of_one_second_the_slowest_sample_stays() -> None:
    monitor = LatencyMonitor(Configuration())
    for duration_ms in (150, 300, 200):
        monitor.sample(b"command", duration_ms, now_ms=1500)
    assert list(monitor.events[b"command"].samples) == [(1, 300)]


def test_old_samples_go_but_the_worst_is_remembered() -> None:
    monitor = LatencyMonitor(Configuration())
    for second in range(MAX_SAMPLES + 1):
        monitor.sample(b"command", 1000 - second, now_ms=second * 1000)
    event = monitor.events[b"command"]
    assert len(event.samples) == MAX_SAMPLES
    assert event.samples[0] == (1, 999)
    assert event.max_ms == 1000


def test_a_reset_forgets_the_named_events_or_all() -> None:
    monitor = LatencyMonitor(Configuration())
    for event in (b"a", b"b", b"c"):
        monitor.sample(event, 1, now_ms=0)
    assert monitor.reset([b"a", b"unknown"]) == 1
    assert monitor.reset([]) == 2
    assert monitor.events == {}
    assert monitor.reset([]) == 0
