"""LATENCY."""

from __future__ import annotations

import pytest

from commands.core.registry import COMMANDS
from commands.server.latency import MAX_SAMPLES, LatencyEvent, LatencyMonitor, graph
from server.inprocess.server import InProcessClient, InProcessServer
from tests.commands.server.decoder import decode, pairs


@pytest.fixture
def server() -> InProcessServer:
    return InProcessServer(now_ms=1_700_000_000_000)


def sample(server: InProcessServer, event: bytes, duration_ms: int, ago_s: int = 0) -> None:
    server.instance.feature(LatencyMonitor).sample(event, duration_ms, server.now_ms - ago_s * 1000)


def test_latest_returns_the_last_and_the_worst_sample_of_each_event(
    server: InProcessServer, client: InProcessClient
) -> None:
    sample(server, b"command", 300, ago_s=60)
    sample(server, b"command", 120, ago_s=10)
    sample(server, b"expire-cycle", 101)
    assert decode(client.execute("LATENCY", "LATEST")) == [
        [b"command", 1_699_999_990, 120, 300],
        [b"expire-cycle", 1_700_000_000, 101, 101],
    ]


def test_history_returns_all_samples_of_one_event(
    server: InProcessServer, client: InProcessClient
) -> None:
    sample(server, b"command", 300, ago_s=60)
    sample(server, b"command", 120, ago_s=10)
    assert decode(client.execute("LATENCY", "HISTORY", "command")) == [
        [1_699_999_940, 300],
        [1_699_999_990, 120],
    ]
    assert client.execute("LATENCY", "HISTORY", "COMMAND") == b"*0\r\n"


def test_reset_counts_the_events_that_it_forgets(
    server: InProcessServer, client: InProcessClient
) -> None:
    for event in (b"a", b"b", b"c"):
        sample(server, event, 100)
    assert client.execute("LATENCY", "RESET", "a", "missing") == b":1\r\n"
    assert client.execute("LATENCY", "RESET") == b":2\r\n"
    assert client.execute("LATENCY", "LATEST") == b"*0\r\n"


# -- drawing and words ---------------------------------------------------------------------------


def test_a_graph_has_a_column_for_each_sample() -> None:
    event = LatencyEvent()
    event.add(100, 400)
    event.add(3700 - 60, 100)
    event.add(3692, 250)
    assert graph("command", event, now_s=3700).split("\n") == [
        "command - high 400 ms, low 100 ms (all time high 400 ms)",
        "-" * 80,
        "#  ",
        "#  ",
        "# #",
        "###",
        "",
        "118",
        "hms",
        "",
    ]


def test_graph_of_an_event_without_samples_is_an_error(client: InProcessClient) -> None:
    reply = client.execute("LATENCY", "GRAPH", "nope")
    assert reply == b"-ERR No samples available for event 'nope'\r\n"


def test_the_doctor_says_that_nothing_is_measured(client: InProcessClient) -> None:
    assert b"latency-monitor-threshold is 0" in client.execute("LATENCY", "DOCTOR")


def test_the_doctor_says_that_all_is_well(client: InProcessClient) -> None:
    client.execute("CONFIG", "SET", "latency-monitor-threshold", "50")
    text = decode(client.execute("LATENCY", "DOCTOR"))
    assert text == b"No event has taken 50 ms or longer. All is well.\n"


def test_the_doctor_describes_each_event_and_advises(
    server: InProcessServer, client: InProcessClient
) -> None:
    client.execute(
        "CONFIG", "SET", "latency-monitor-threshold", "50", "slowlog-log-slower-than", "90000"
    )
    sample(server, b"command", 100, ago_s=30)
    sample(server, b"command", 200, ago_s=10)
    sample(server, b"expire-cycle", 60)
    text = decode(client.execute("LATENCY", "DOCTOR")).decode()
    assert "- command: 2 spikes, 150 ms on average (mean deviation 50 ms)" in text
    assert "one every 20.0 s" in text
    assert "- expire-cycle: 1 spike, 60 ms on average" in text
    assert "CONFIG SET slowlog-log-slower-than 50000" in text
    assert "times to live" in text


def test_texts_are_verbatim_in_resp3(server: InProcessServer, client: InProcessClient) -> None:
    sample(server, b"command", 100)
    client.execute("HELLO", "3")
    for words in (("GRAPH", "command"), ("DOCTOR",)):
        assert b"\r\ntxt:" in client.execute("LATENCY", *words)


# -- HISTOGRAM -----------------------------------------------------------------------------------


def count(server: InProcessServer, command: str, *latencies_us: int) -> None:
    container, _, sub = command.encode().partition(b"|")
    declared = COMMANDS[container].subcommands[sub] if sub else COMMANDS[container]
    for elapsed_us in latencies_us:
        server.instance.stats.of(declared).histogram[elapsed_us] += 1


def test_a_histogram_is_cumulative(server: InProcessServer, client: InProcessClient) -> None:
    count(server, "get", 1, 3, 3, 40)
    reply = pairs(decode(client.execute("LATENCY", "HISTOGRAM", "GET")))
    assert pairs(reply[b"get"]) == {b"calls": 4, b"histogram_usec": [1, 1, 4, 3, 66, 4]}


def test_a_container_stands_for_its_subcommands(
    server: InProcessServer, client: InProcessClient
) -> None:
    count(server, "config|get", 1)
    count(server, "config|set", 2)
    count(server, "get", 1)
    reply = pairs(decode(client.execute("LATENCY", "HISTOGRAM", "config", "config|get", "nope")))
    assert reply.keys() == {b"config|get", b"config|set"}


def test_commands_that_never_ran_are_left_out(client: InProcessClient) -> None:
    assert client.execute("LATENCY", "HISTOGRAM", "get", "nope") == b"*0\r\n"


def test_without_names_all_commands_that_ran_are_reported(client: InProcessClient) -> None:
    client.execute("PING")
    client.execute("HELLO", "3")
    reply = decode(client.execute("LATENCY", "HISTOGRAM"))
    assert reply.keys() == {b"ping", b"hello"}
    assert reply[b"ping"][b"calls"] == 1


def test_nothing_is_counted_while_latency_tracking_is_off(client: InProcessClient) -> None:
    client.execute("CONFIG", "SET", "latency-tracking", "no")
    client.execute("PING")
    assert client.execute("LATENCY", "HISTOGRAM", "ping") == b"*0\r\n"


def test_help_names_every_subcommand(client: InProcessClient) -> None:
    words = {line.split()[0].lower() for line in decode(client.execute("LATENCY", "HELP"))}
    assert COMMANDS[b"latency"].subcommands.keys() <= words


def test_an_event_keeps_a_sample_for_each_second_and_its_worst() -> None:
    monitor = LatencyMonitor(InProcessServer().instance)
    monitor.sample(b"command", 150, now_ms=1000)
    monitor.sample(b"command", 300, now_ms=2000)
    monitor.sample(b"command", 100, now_ms=3000)
    event = monitor.events[b"command"]
    assert list(event.samples) == [(1, 150), (2, 300), (3, 100)]
    assert event.max_ms == 300


def test_of_one_second_the_slowest_sample_stays() -> None:
    monitor = LatencyMonitor(InProcessServer().instance)
    for duration_ms in (150, 300, 200):
        monitor.sample(b"command", duration_ms, now_ms=1500)
    assert list(monitor.events[b"command"].samples) == [(1, 300)]


def test_old_samples_go_but_the_worst_is_remembered() -> None:
    monitor = LatencyMonitor(InProcessServer().instance)
    for second in range(MAX_SAMPLES + 1):
        monitor.sample(b"command", 1000 - second, now_ms=second * 1000)
    event = monitor.events[b"command"]
    assert len(event.samples) == MAX_SAMPLES
    assert event.samples[0] == (1, 999)
    assert event.max_ms == 1000


def test_a_reset_forgets_the_named_events_or_all() -> None:
    monitor = LatencyMonitor(InProcessServer().instance)
    for event in (b"a", b"b", b"c"):
        monitor.sample(event, 1, now_ms=0)
    assert monitor.reset([b"a", b"unknown"]) == 1
    assert monitor.reset([]) == 2
    assert monitor.events == {}
    assert monitor.reset([]) == 0
