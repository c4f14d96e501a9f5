"""The producer: what is sent, and when it is due."""

from __future__ import annotations

from typing import Any

import pytest

from rillway.demo.departures import producer as module
from rillway.demo.departures.data_set import Departure
from rillway.demo.departures.producer import MAX_PIPELINE, Producer

STREAM = "departures"


class FakeServer:
    """Takes pipelines and answers XADD with the ID asked for and a running number."""

    def __init__(self) -> None:
        self.pipelines: list[list[tuple[str, dict[str, str], str]]] = []

    def pipeline(self, transaction: bool) -> FakeServer:
        assert not transaction
        self.pipelines.append([])
        return self

    def __enter__(self) -> FakeServer:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def xadd(self, key: str, fields: dict[str, str], id: str) -> None:
        self.pipelines[-1].append((key, fields, id))

    def execute(self) -> list[bytes]:
        return [id.replace("*", "0").encode() for _, _, id in self.pipelines[-1]]


class ManualClock:
    """A clock that moves only in `sleep`."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds

    def time_ns(self) -> int:
        return 1_700_000_000_000_000_000 + int(self.seconds * 1e9)

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> ManualClock:
    clock = ManualClock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def make_producer(departures: int) -> tuple[Producer, FakeServer]:
    server: Any = FakeServer()
    return Producer(server, STREAM, [departure(ms) for ms in range(departures)]), server


def departure(scheduled_ms: int) -> Departure:
    return Departure(scheduled_ms, "UA", "1", "N1", "JFK", "BOS", "0")


def test_an_entry_carries_the_scheduled_time_in_its_id_and_the_moment_of_sending(
    clock: ManualClock,
) -> None:
    producer, server = make_producer(1)
    list(producer.run(rate=0))
    ((key, fields, entry_id),) = server.pipelines[0]
    assert key == STREAM
    assert entry_id == "0-*"
    assert fields == departure(0).fields() | {"sent_us": "1700000000000000"}
    assert producer.sent == [b"0-0"]


def test_departures_are_sent_in_order_and_none_twice(clock: ManualClock) -> None:
    producer, _ = make_producer(1_000)
    assert list(producer.run(rate=10_000))[-1] == 1_000
    assert producer.sent == [b"%d-0" % ms for ms in range(1_000)]


def test_the_rate_is_kept(clock: ManualClock) -> None:
    producer, server = make_producer(1_000)
    list(producer.run(rate=10_000))
    assert producer.seconds == pytest.approx(0.1, abs=0.002)
    assert max(map(len, server.pipelines)) <= 11


def test_a_producer_that_is_late_catches_up_in_bounded_pipelines(clock: ManualClock) -> None:
    producer, _ = make_producer(1_000)
    assert producer.count_due(rate=10_000, elapsed_seconds=60) == MAX_PIPELINE


def test_without_a_rate_every_pipeline_is_full(clock: ManualClock) -> None:
    producer, server = make_producer(3 * MAX_PIPELINE + 1)
    list(producer.run(rate=0))
    assert list(map(len, server.pipelines)) == [MAX_PIPELINE] * 3 + [1]
