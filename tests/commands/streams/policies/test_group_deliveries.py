"""The timer of groups: readers that wait are woken when an entry falls due."""

from __future__ import annotations

import pytest

from commands.streams.policies.timer import PolicyTimer
from tests.commands.streams.policies.workers import Workers


@pytest.fixture
def workers() -> Workers:
    return Workers("ACK-WAIT 1000")


def test_a_reader_is_woken_when_an_entry_falls_due(workers: Workers) -> None:
    workers.add(1)
    workers.read("a")
    first, second = workers.wait("b"), workers.wait("c")
    workers.server.advance(999)
    assert first.received() is None
    workers.server.advance(1)
    assert b"1-1" in first.client.received()
    assert second.received() is None
    assert workers.pending() == {1: ("b", 2)}
    workers.server.advance(1000)
    assert b"1-1" in second.client.received()


def test_a_reader_is_woken_for_what_was_delivered_after_it_began_to_wait(
    workers: Workers,
) -> None:
    waiting = workers.wait("b")
    quick = workers.wait("a", "COUNT 1")
    workers.add(1)  # the first one that waits gets it
    assert b"1-1" in waiting.client.received()
    workers.server.advance(999)
    assert quick.received() is None
    workers.server.advance(1)
    assert b"1-1" in quick.client.received()


def test_readers_that_wait_are_answered_when_the_key_is_removed(workers: Workers) -> None:
    workers.add(1)
    workers.read("a")
    waiting = workers.wait("b")
    workers.talk.do("DEL jobs")
    assert waiting.client.received().startswith(b"-NOGROUP")
    workers.server.advance(5000)


def test_readers_that_wait_are_answered_when_the_key_expires(workers: Workers) -> None:
    workers.add(1)
    workers.read("a")
    waiting = workers.wait("b")
    workers.talk.do("PEXPIRE jobs 500")
    workers.server.advance(501)
    workers.talk.do("EXISTS jobs")
    assert waiting.client.received().startswith(b"-NOGROUP")


def test_the_count_holds_for_a_reader_that_was_woken(workers: Workers) -> None:
    workers.add(1, 2, 3)
    workers.read("a")
    waiting = workers.wait("b", "COUNT 2")
    workers.server.advance(1000)
    (part,) = waiting.received()
    assert [entry[0] for entry in part[1]] == [b"1-1", b"2-1"]


def test_a_reader_in_a_transaction_does_not_wait(workers: Workers) -> None:
    workers.talk.all("MULTI", "XREADGROUP GROUP g a BLOCK 0 STREAMS jobs >")
    assert workers.talk.do("EXEC") == [None]


def test_the_timer_rests_where_no_client_waits(workers: Workers) -> None:
    workers.add(1, 2)
    workers.read("a")
    workers.server.advance(2000)
    assert workers.server.instance.feature(PolicyTimer).next_ms() is None


def test_a_reader_that_is_held_does_not_keep_the_timer_busy(workers: Workers) -> None:
    workers.configure("MAX-PENDING 1")
    workers.add(1, 2)
    workers.read("a")
    workers.talk.do("XCLAIM jobs g a 0 1-1")
    workers.talk.do("XNACK jobs g FAIL IDS 1 1-1")
    workers.talk.do("XCLAIM jobs g b 0 2-1 FORCE")
    waiting = workers.wait("c")
    workers.server.advance(1)
    next_ms = workers.server.instance.feature(PolicyTimer).next_ms()
    assert next_ms is not None
    assert next_ms > workers.server.now_ms + 100
    assert waiting.received() is None
