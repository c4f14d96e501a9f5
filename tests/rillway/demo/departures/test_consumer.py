"""One consumer, against a server that is a few lists."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import replace
from typing import Any

import pytest

from rillway.demo.departures.consumer import CRASH_HOLDING, Assignment, Consumer, Entry
from rillway.demo.departures.tally import Counters

ASSIGNMENT = Assignment(
    url="redis://127.0.0.1:1", stream="s", group="g", ledger="l", name="consumer-01"
)


def make_entries(first_ms: int, count: int) -> list[Entry]:
    return [
        (b"%d-0" % ms, {b"carrier": b"UA", b"sent_us": b"0"})
        for ms in range(first_ms, first_ms + count)
    ]


class FakeServer:
    """Answers XREADGROUP and XAUTOCLAIM from prepared replies; records transactions."""

    def __init__(self) -> None:
        self.new: list[list[Entry]] = []
        self.idle: list[list[Any]] = []
        self.transactions: list[list[tuple[Any, ...]]] = []

    def xreadgroup(
        self, group: str, name: str, streams: dict[str, str], count: int, block: int
    ) -> list[Any]:
        return [[b"s", self.new.pop(0)]] if self.new else []

    def xautoclaim(self, stream: str, group: str, name: str, **options: Any) -> list[Any]:
        return self.idle.pop(0)

    def pipeline(self, transaction: bool) -> FakeServer:
        assert transaction, "an acknowledgement and its record must not come apart"
        self.transactions.append([])
        return self

    def __enter__(self) -> FakeServer:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def xack(self, *arguments: Any) -> None:
        self.transactions[-1].append(("XACK", *arguments))

    def xadd(self, *arguments: Any) -> None:
        self.transactions[-1].append(("XADD", *arguments))

    def execute(self) -> list[Any]:
        return [len(self.transactions[-1][0]) - 3, b"1-0"]


def make_consumer(assignment: Assignment = ASSIGNMENT) -> tuple[Consumer, Any]:
    consumer = Consumer(assignment, Counters.create())
    server: Any = FakeServer()
    consumer.client = server
    return consumer, server


def test_an_acknowledgement_and_its_record_are_one_transaction() -> None:
    consumer, server = make_consumer()
    consumer.acknowledge(make_entries(5, 2))
    record = {"consumer": "consumer-01", "ids": b"5-0 6-0", "carriers": b"UA UA"}
    assert server.transactions == [[("XACK", "s", "g", b"5-0", b"6-0"), ("XADD", "l", record)]]
    assert consumer.tally.acknowledged == 2


def test_new_entries_are_counted_when_they_are_delivered() -> None:
    consumer, server = make_consumer()
    server.new = [make_entries(0, 3)]
    assert len(consumer.read_new()) == 3
    assert consumer.read_new() == []
    assert (consumer.tally.delivered, consumer.tally.unacknowledged) == (3, 3)


def test_claiming_follows_the_cursor_to_its_end_and_acknowledges_all() -> None:
    consumer, server = make_consumer(replace(ASSIGNMENT, claims=True))
    server.idle = [
        [b"7-0", make_entries(0, 4), []],
        [b"9-0", [], []],
        [b"0-0", make_entries(9, 1), []],
    ]
    consumer.claim_idle()
    assert server.idle == []
    assert (consumer.tally.claimed, consumer.tally.acknowledged) == (5, 5)


@pytest.mark.parametrize(("newest_ms", "broken"), [(99, False), (100, True), (250, True)])
def test_a_consumer_breaks_at_the_moment_it_was_told(newest_ms: int, broken: bool) -> None:
    consumer, _ = make_consumer(replace(ASSIGNMENT, crashes_from_ms=100))
    assert consumer.is_broken(make_entries(newest_ms, 1)) is broken


def test_a_consumer_that_was_not_told_to_break_never_does() -> None:
    consumer, _ = make_consumer()
    assert not consumer.is_broken(make_entries(10**15, 1))


@pytest.mark.parametrize("available", [10, 2 * CRASH_HOLDING])
def test_a_crash_leaves_entries_behind_unacknowledged(
    available: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    consumer, server = make_consumer()
    server.new = [make_entries(ms, 5) for ms in range(0, available, 5)]
    killed: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda *arguments: killed.append(arguments))
    stop: Any = threading.Event()
    consumer.hang_and_crash(stop)
    assert killed == [(os.getpid(), signal.SIGKILL)]
    assert server.transactions == []
    assert consumer.tally.unacknowledged == min(available, CRASH_HOLDING)
