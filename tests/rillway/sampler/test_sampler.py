"""What a sampler asks, when, and what it knows then: canned replies and a fake clock."""

from __future__ import annotations

import json

import pytest

from rillway.sampler import Sampler
from tests.rillway.sampler.canned import VERSIONS, CannedGroup, CannedServer, CannedStream

FORBIDDEN = {"KEYS", "MONITOR", "XADD", "XREADGROUP", "XACK", "CONFIG", "DEBUG"}


def orders_server(version: str = "8.2.3") -> CannedServer:
    server = CannedServer(version)
    group = CannedGroup({"anna": (40, 100), "carla": (8, 124_000)}, lag=7, entries_read=93)
    server.streams["orders"] = CannedStream(100, 100, {"mailers": group, "idle": CannedGroup()})
    return server


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_is_sampled_and_what_it_does_not_know_is_none(version: str) -> None:
    server, sampler = orders_server(version), Sampler()
    server.finish_round(sampler)
    [stream] = sampler.streams.values()
    is_new = server.numbers >= (7, 0)
    assert (stream.name, stream.length, stream.pending) == (b"orders", 100, 48)
    assert stream.lag == (7 if is_new else None)
    assert stream.in_is_estimate is not is_new
    assert stream.oldest_ms is not None and 5000 <= stream.oldest_ms < 6000
    assert stream.memory_bytes == 1000 and stream.dead_count == 1
    mailers, idle = stream.groups or ()
    assert mailers.consumers is not None and idle.consumers is None
    anna, carla = mailers.consumers
    assert (anna.name, anna.pending, anna.is_dead) == (b"anna", 40, False)
    assert carla.is_dead
    assert (carla.inactive_ms is not None) is (server.numbers >= (7, 2))
    assert sampler.server.product == ("Rillway" if server.product else "Redis")


@pytest.mark.parametrize("version", VERSIONS)
def test_nothing_is_sent_that_writes_or_walks_the_data(version: str) -> None:
    server, sampler = orders_server(version), Sampler()
    sampler.focus([b"orders"], [b"orders"], b"orders")
    server.run(sampler, 120)
    sent = {str(words[0]) for words in server.requests}
    assert not sent & FORBIDDEN
    assert not [words for words in server.requests if "FULL" in words or "IDLE" in words]
    assert all(len(words) == 2 for words in server.asked("INFO"))


def test_rates_come_from_what_was_added_and_read_between_two_samples() -> None:
    server, sampler = orders_server(), Sampler()
    sampler.focus([b"orders"])
    server.finish_round(sampler)
    server.advance(2)
    server.streams["orders"].added += 500
    server.streams["orders"].groups["mailers"].entries_read = 293
    server.run(sampler, 0.1)
    stream = sampler.streams[b"orders"]
    assert stream.in_per_s == pytest.approx(250, rel=0.05) and not stream.in_is_estimate
    assert stream.out_per_s == pytest.approx(100, rel=0.05)


def test_before_7_0_the_growth_of_a_stream_is_an_estimate_of_what_comes_in() -> None:
    server, sampler = orders_server("6.2.14"), Sampler()
    sampler.focus([b"orders"])
    server.finish_round(sampler)
    server.advance(2)
    server.streams["orders"].length += 50
    server.run(sampler, 0.1)
    stream = sampler.streams[b"orders"]
    assert stream.in_per_s == pytest.approx(25, rel=0.05) and stream.in_is_estimate
    assert stream.out_per_s is None


@pytest.mark.parametrize(("version", "count"), [("8.2.3", 2000), ("8.10.0 rillway", 10_000)])
def test_many_streams_take_one_percent_of_the_servers_time(version: str, count: int) -> None:
    server = CannedServer(version, cost_us=20)
    for number in range(count):
        group = CannedGroup({"c": (1, 10)})
        server.streams[f"s{number}"] = CannedStream(1, 1, {"g": group})
    sampler = Sampler()
    sampler.focus([f"s{number}".encode() for number in range(20)], [b"s0"])
    server.run(sampler, 5)
    before = len(server.requests)
    server.run(sampler, 60)
    share = (len(server.requests) - before) * server.cost_us / 60_000_000
    assert 0.005 < share < 0.0105


def test_what_is_on_the_screen_is_sampled_once_a_second_among_ten_thousand() -> None:
    server = CannedServer(cost_us=20)
    for number in range(10_000):
        server.streams[f"s{number}"] = CannedStream(1, 1)
    sampler = Sampler()
    server.run(sampler, 10)
    visible = [f"s{number}".encode() for number in range(9_000, 9_020)]
    sampler.focus(visible)
    server.run(sampler, 5)
    for name in visible:
        assert sampler.time_ms - sampler.streams[name].time_ms < 1_600
        assert 4 <= len(server.asked("XINFO", "STREAM", name)) <= 6


def test_an_opened_stream_is_sampled_before_scan_has_come_to_it() -> None:
    server, sampler = CannedServer(cost_us=20), Sampler()
    for number in range(10_000):
        server.streams[f"s{number}"] = CannedStream(1, 1)
    sampler.focus([], [b"s9999", b"nothing"])
    server.run(sampler, 1)
    assert b"s9999" in sampler.streams and b"nothing" not in sampler.streams


def test_a_stream_off_the_screen_is_asked_for_its_length_and_the_rest_where_it_changed() -> None:
    server, sampler = CannedServer(), Sampler()
    server.streams |= {"still": CannedStream(5, 5), "grows": CannedStream(5, 5)}
    server.finish_round(sampler)
    server.requests.clear()
    for _ in range(10):
        server.streams["grows"].length += 1
        server.run(sampler, 1)
    assert len(server.asked("XLEN", b"still")) >= 8
    assert not server.asked("XINFO", "STREAM", b"still")
    assert len(server.asked("XINFO", "STREAM", b"grows")) >= 8
    server.run(sampler, 60)
    assert server.asked("XINFO", "STREAM", b"still")


def test_the_opened_stream_has_the_consumers_of_all_its_groups() -> None:
    server, sampler = orders_server(), Sampler()
    server.streams["orders"].groups["idle"].consumers["bob"] = (0, 5)
    server.finish_round(sampler)
    groups = {group.name: group for group in sampler.streams[b"orders"].groups or ()}
    assert groups[b"idle"].consumers is None
    sampler.focus([], [b"orders"])
    server.run(sampler, 2)
    groups = {group.name: group for group in sampler.streams[b"orders"].groups or ()}
    assert [one.name for one in groups[b"idle"].consumers or ()] == [b"bob"]


def test_memory_is_asked_for_once_a_minute() -> None:
    server, sampler = orders_server(), Sampler()
    sampler.focus([b"orders"])
    server.run(sampler, 125)
    assert len(server.asked("MEMORY")) == 3


def test_a_stream_of_large_entries_is_asked_for_its_length_from_then_on() -> None:
    server, sampler = orders_server(), Sampler()
    server.streams["orders"].entry = [b"1795608000000-0", [b"n", b"x" * 70_000]]
    sampler.focus([b"orders"], [], b"orders")
    server.run(sampler, 10)
    assert len(server.asked("XINFO", "STREAM", b"orders")) == 1
    assert len(server.asked("XLEN", b"orders")) >= 5
    assert sampler.streams[b"orders"].in_is_estimate
    assert len(server.asked("XREVRANGE")) <= 1


def test_the_newest_entries_of_the_stream_that_is_looked_into_are_known() -> None:
    server, sampler = orders_server(), Sampler()
    sampler.focus([], [], b"orders")
    server.run(sampler, 2)
    assert sampler.entries == [("1795608000000-0", [b"n", b"1"])]
    sampler.focus([])
    assert sampler.entries is None


def test_streams_that_come_and_go_are_noticed() -> None:
    server, sampler = orders_server(), Sampler()
    server.run(sampler, 3)
    server.streams["new"] = CannedStream(1, 1)
    server.run(sampler, 3)
    assert set(sampler.streams) == {b"orders", b"new"}
    del server.streams["new"]
    server.run(sampler, 3)
    assert set(sampler.streams) == {b"orders"} and sampler.known_streams == 1


def test_named_streams_are_not_searched_for_and_a_missing_one_is_an_error() -> None:
    server = orders_server()
    sampler = Sampler(streams=[b"orders", b"nothing"], server_facts=False, memory=False)
    server.finish_round(sampler)
    assert set(sampler.streams) == {b"orders"}
    assert sampler.errors == {b"nothing": "ERR no such key"}
    sent = {str(words[0]) for words in server.requests}
    assert sent == {"TIME", "XINFO", "XPENDING"}


def test_a_round_asks_about_everything_again() -> None:
    server, sampler = orders_server(), Sampler(share=0.5, every_consumer=True)
    sampler.begin_round()
    server.finish_round(sampler)
    assert [group.consumers for group in sampler.streams[b"orders"].groups or ()][1] == ()
    server.requests.clear()
    server.run(sampler, 20)
    assert not server.requests
    server.streams["orders"].groups["mailers"].lag = 99
    sampler.begin_round()
    assert not sampler.round_done
    server.finish_round(sampler)
    assert sampler.streams[b"orders"].lag == 99
    assert sampler.as_json()["time_ms"] == sampler.time_ms


def test_a_user_with_few_rights_sees_what_it_may_see() -> None:
    server, sampler = orders_server(), Sampler()
    server.refused = {"INFO", "CLIENT", "SLOWLOG", "MEMORY", "TIME", "LATENCY"}
    server.run(sampler, 3)
    assert sampler.streams[b"orders"].lag == 7
    assert sampler.streams[b"orders"].memory_bytes is None
    assert set(sampler.server.refused) == {"INFO", "CLIENT", "SLOWLOG", "LATENCY"}
    server.refused.clear()
    server.run(sampler, 62)
    assert sampler.server.refused == {} and sampler.server.version == "8.2.3"


@pytest.mark.parametrize("command", ["SCAN", "XINFO"])
def test_a_user_that_may_see_no_streams_is_told_why(command: str) -> None:
    server, sampler = orders_server(), Sampler()
    server.refused = {command}
    server.run(sampler, 3)
    assert not sampler.streams and "NOPERM" in sampler.server.refused[command]


def test_after_a_lost_connection_it_begins_again_and_the_figures_stay() -> None:
    server, sampler = orders_server(), Sampler()
    server.run(sampler, 3)
    while not sampler.plan(server.now_s):
        server.advance(0.05)
    sampler.reset()
    assert sampler.streams[b"orders"].lag == 7
    server.streams["orders"].groups["mailers"].lag = 8
    sampler.focus([b"orders"])
    server.run(sampler, 3)
    assert sampler.streams[b"orders"].lag == 8


def test_a_sample_is_plain_json() -> None:
    server, sampler = orders_server(), Sampler()
    server.finish_round(sampler)
    text = json.dumps(sampler.as_json())
    sample = json.loads(text)
    assert list(sample) == ["time_ms", "server", "streams"]
    [stream] = sample["streams"]
    assert (stream["db"], stream["name"], stream["length"]) == (0, "orders", 100)
    assert stream["groups"][0]["consumers"][1]["is_dead"] is True
    assert stream["groups"][1]["consumers"] is None


def test_a_server_without_policies_is_asked_once_for_a_connection() -> None:
    server, sampler = orders_server(), Sampler()
    for name in ("clicks", "jobs"):
        server.streams[name] = CannedStream(3, 3)
    sampler.focus([b"orders", b"clicks"], [b"orders"])
    server.run(sampler, 90)
    assert len(server.asked("XINFO", "POLICY")) == 1
    assert sampler.has_policies is False and sampler.server.refused == {}
    sampler.reset()
    server.run(sampler, 90)
    assert len(server.asked("XINFO", "POLICY")) == 2


def test_a_user_who_may_not_see_policies_is_refused_once() -> None:
    server, sampler = orders_server("8.10.0 rillway"), Sampler()
    server.refused = {"XINFO POLICY"}
    server.run(sampler, 90)
    assert len(server.asked("XINFO", "POLICY")) == 1
    assert sampler.server.refused == {} and sampler.streams[b"orders"].lag == 7


def test_policies_are_known_after_one_round_of_named_streams() -> None:
    server = orders_server("8.10.0 rillway")
    server.streams["orders"].policy = [b"scheduled", 3, b"scheduled-next", 1_795_608_009_000]
    server.streams["orders"].groups["mailers"].policy = [b"ack-wait", 1000, b"due", 2]
    server.streams["jobs"] = CannedStream(3, 3, policy=[b"scheduled", 1])
    sampler = Sampler(streams=[b"gone", b"orders", b"jobs"], server_facts=False, memory=False)
    server.finish_round(sampler)
    orders, jobs = sampler.streams[b"orders"], sampler.streams[b"jobs"]
    assert (orders.due, orders.scheduled, jobs.scheduled) == (2, 3, 1)
    assert len(server.asked("XINFO", "POLICY", b"orders")) == 3  # the stream, and two groups
