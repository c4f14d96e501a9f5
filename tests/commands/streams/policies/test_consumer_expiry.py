"""CONSUMER-EXPIRY, and XGROUP DELCONSUMER in a group with ACK-WAIT."""

from __future__ import annotations

import pytest

from commands.streams.policies.timer import Turn
from tests.commands.streams.policies.workers import Workers, sink_of


def names(workers: Workers) -> list[bytes]:
    return sorted(workers.group().consumers)


@pytest.fixture
def workers() -> Workers:
    return Workers("ACK-WAIT 1000 CONSUMER-EXPIRY 5000")


def test_a_consumer_that_does_nothing_leaves(workers: Workers) -> None:
    workers.read("a")
    workers.server.advance(4999)
    assert names(workers) == [b"a"]
    workers.server.advance(1)
    assert names(workers) == []
    assert workers.info()["consumers-expired"] == 1


def test_what_was_pending_for_it_is_due_at_once(workers: Workers) -> None:
    workers.add(1, 2)
    workers.read("a")
    propagated = sink_of(workers.server)
    workers.server.advance(5000)
    assert workers.pending() == {1: ("", 1), 2: ("", 1)}
    requests = propagated()
    assert requests[:2] == ["MULTI", "XCLAIM jobs g  0 1-1 2-1 TIME 0 RETRYCOUNT 1 FORCE JUSTID"]
    assert requests[-2:] == ["XGROUP DELCONSUMER jobs g a", "EXEC"]
    assert workers.read("b") == [1, 2]
    assert workers.pending() == {1: ("b", 2), 2: ("b", 2)}


def test_a_consumer_that_waits_stays(workers: Workers) -> None:
    waiting = workers.wait("a")
    workers.server.advance(60_000)
    assert names(workers) == [b"a"]
    workers.add(1)
    assert b"1-1" in waiting.client.received()
    workers.talk.do("XACK jobs g 1-1")
    workers.server.advance(5000)
    assert names(workers) == []


def test_a_consumer_stays_until_the_deadline_of_its_last_entry() -> None:
    workers = Workers("ACK-WAIT 4000 CONSUMER-EXPIRY 5000")
    workers.add(1)
    workers.read("a")
    workers.server.advance(3000)
    workers.talk.do("XCLAIM jobs g a 0 1-1 TIME " + str(workers.server.now_ms))
    workers.server.advance(3999)
    assert names(workers) == [b"a"]


def test_without_deadlines_only_consumers_with_nothing_pending_leave() -> None:
    workers = Workers("CONSUMER-EXPIRY 5000")
    workers.add(1)
    workers.read("a")
    workers.read("b")
    workers.server.advance(5000)
    assert names(workers) == [b"a"]


def test_others_are_looked_at_when_their_time_comes(workers: Workers) -> None:
    workers.read("a")
    workers.server.advance(2500)
    workers.read("b")
    workers.server.advance(2500)
    assert names(workers) == [b"b"]
    workers.server.advance(2500)
    assert names(workers) == []


def test_a_consumer_that_is_deleted_loses_nothing_where_entries_are_delivered_again() -> None:
    workers = Workers("ACK-WAIT 1000")
    workers.add(1)
    workers.read("a")
    propagated = sink_of(workers.server)
    assert workers.talk.do("XGROUP DELCONSUMER jobs g a") == 1
    assert propagated()[-2:] == ["XGROUP DELCONSUMER jobs g a", "EXEC"]
    assert workers.read("b") == [1]


def test_a_reader_that_waits_gets_what_a_deleted_consumer_had() -> None:
    workers = Workers("ACK-WAIT 1000")
    workers.add(1)
    workers.read("a")
    waiting = workers.wait("b")
    workers.talk.do("XGROUP DELCONSUMER jobs g a")
    assert b"1-1" in waiting.client.received()


def test_however_long_one_takes_consumers_of_all_groups_leave(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workers = Workers("ACK-WAIT 1000 CONSUMER-EXPIRY 5000")
    workers.talk.do("XGROUP CREATE jobs h 0")
    workers.talk.do("XGROUP CONFIG jobs h ACK-WAIT 1000 CONSUMER-EXPIRY 5000")
    workers.add(1, 2)
    for name in ("a", "b"):
        workers.read(name, "COUNT 1")
        workers.talk.do(f"XREADGROUP GROUP h {name} COUNT 1 STREAMS jobs >")
    begun: list[Turn] = []

    def is_over(turn: Turn) -> bool:
        begun.append(turn)
        return any(one is turn for one in begun[:-1])

    monkeypatch.setattr(Turn, "is_over", is_over)
    workers.server.advance(5000)
    for _ in range(4):
        workers.server.advance(1)
    assert names(workers) == []
    assert not workers.stream().groups[b"h"].consumers
