"""XREADGROUP in a group with a policy: what is due, in which order, and how much."""

from __future__ import annotations

import pytest

from tests.commands.streams.policies.workers import Workers, sink_of


@pytest.fixture
def workers() -> Workers:
    return Workers("ACK-WAIT 1000")


# -- what is due -------------------------------------------------------------------------------


def test_an_entry_goes_to_another_consumer_after_its_deadline(workers: Workers) -> None:
    workers.add(1)
    assert workers.read("a") == [1]
    workers.server.advance(999)
    assert workers.read("b") == []
    workers.server.advance(1)
    assert workers.read("b") == [1]
    assert workers.pending() == {1: ("b", 2)}


def test_an_owner_gets_its_own_entry_again(workers: Workers) -> None:
    workers.add(1)
    workers.read("a")
    workers.server.advance(1000)
    assert workers.read("a") == [1]
    assert workers.pending() == {1: ("a", 2)}


def test_pauses_come_after_the_deadline_and_the_last_one_repeats() -> None:
    workers = Workers("ACK-WAIT 1000 BACKOFF 10 500")
    workers.add(1)
    workers.read("a")
    for pause_ms in (10, 500, 500):
        workers.server.advance(1000 + pause_ms - 1)
        assert workers.read("a") == []
        workers.server.advance(1)
        assert workers.read("a") == [1]


def test_a_late_acknowledgement_counts_by_whomever(workers: Workers) -> None:
    workers.add(1)
    workers.read("a")
    workers.server.advance(5000)
    assert workers.talk.do("XACK jobs g 1-1") == 1
    assert workers.read("b") == []


def test_a_late_acknowledgement_acknowledges_the_next_delivery_too(workers: Workers) -> None:
    workers.add(1)
    workers.read("a")
    workers.server.advance(1000)
    assert workers.read("b") == [1]
    assert workers.talk.do("XACK jobs g 1-1") == 1
    assert workers.pending() == {}


def test_what_was_due_first_comes_first_and_before_what_is_new(workers: Workers) -> None:
    workers.add(1, 2, 3)
    workers.read("a", "COUNT 1")
    workers.server.advance(10)
    workers.read("b", "COUNT 1")
    workers.server.advance(10)
    workers.talk.do("XCLAIM jobs g a 0 1-1")  # the owner's heartbeat
    workers.server.advance(1000)
    assert workers.read("c", "COUNT 5") == [2, 1, 3]


def test_options_apply_to_deliveries_of_before() -> None:
    workers = Workers()
    workers.add(1)
    workers.read("a")
    workers.server.advance(500)
    workers.configure("ACK-WAIT 400")
    assert workers.read("b") == [1]
    workers.configure("ACK-WAIT 10000")
    workers.server.advance(9999)
    assert workers.read("b") == []
    workers.configure("ACK-WAIT 0")
    workers.server.advance(100_000)
    assert workers.read("b") == []


def test_noack_gives_new_entries_only(workers: Workers) -> None:
    workers.add(1, 2)
    workers.read("a", "COUNT 1")
    workers.server.advance(1000)
    assert workers.read("b", "NOACK") == [2]
    assert workers.pending() == {1: ("a", 1)}


def test_a_clock_that_is_set_back_makes_nothing_due_early(workers: Workers) -> None:
    workers.add(1)
    workers.read("a")
    workers.server.now_ms -= 3_600_000
    workers.server.tick()
    workers.server.advance(3_600_000 + 999)
    assert workers.read("b") == []
    workers.server.advance(1)
    assert workers.read("b") == [1]


def test_a_clock_that_is_a_year_ahead_costs_one_delivery(workers: Workers) -> None:
    workers.configure("MAX-DELIVERIES 3 DEAD-LETTER dead")
    workers.add(1, 2)
    workers.read("a")
    workers.server.advance(365 * 86_400_000)
    assert workers.read("b") == [1, 2]
    assert workers.pending() == {1: ("b", 2), 2: ("b", 2)}


# -- new entries beside those that are due -----------------------------------------------------


def test_every_fourth_entry_is_new_where_both_wait(workers: Workers) -> None:
    workers.add(*range(1, 7))
    workers.read("a")
    workers.add(*range(7, 17))
    workers.server.advance(1000)
    assert [workers.read("b", "COUNT 1")[0] for _ in range(9)] == [1, 2, 3, 7, 4, 5, 6, 8, 9]


def test_a_read_with_a_count_has_its_share_of_new_entries(workers: Workers) -> None:
    workers.add(*range(1, 21))
    workers.read("a")
    workers.add(*range(21, 31))
    workers.server.advance(1000)
    assert workers.read("b", "COUNT 10") == [*range(1, 9), 21, 22]
    assert workers.read("b", "COUNT 10") == [*range(9, 16), 23, 24, 25]
    assert workers.read("b", "COUNT 10") == [*range(16, 21), *range(26, 31)]


def test_all_that_is_due_is_given_where_few_are_new(workers: Workers) -> None:
    workers.add(*range(1, 11))
    workers.read("a")
    workers.add(11)
    workers.server.advance(1000)
    assert workers.read("b", "COUNT 8") == [1, 2, 3, 4, 5, 6, 7, 11]
    assert workers.read("b") == [8, 9, 10]


@pytest.mark.parametrize("caps", ["MAXCOUNT 3", "COUNT 3"])
def test_caps_bound_the_sum(workers: Workers, caps: str) -> None:
    workers.add(1, 2)
    workers.read("a")
    workers.add(3, 4)
    workers.server.advance(1000)
    assert workers.read("b", caps) == [1, 2, 3]


def test_a_size_bounds_the_sum_and_starves_no_new_entry(workers: Workers) -> None:
    workers.add(1, 2, 3, 4)
    workers.read("a")
    workers.add(5)
    workers.server.advance(1000)
    reads = [workers.read("b", "MAXSIZE 1") for _ in range(5)]
    assert reads == [[1], [2], [3], [5], [4]]


# -- the last delivery -------------------------------------------------------------------------


def test_an_entry_in_its_last_delivery_is_alone(workers: Workers) -> None:
    workers.configure("MAX-DELIVERIES 2 DEAD-LETTER dead")
    workers.add(1, 2)
    workers.read("a")
    workers.add(3)
    workers.server.advance(1000)
    assert workers.read("b") == [1]
    assert workers.read("b") == [2]
    assert workers.read("b") == [3]


def test_a_batch_ends_before_an_entry_in_its_last_delivery(workers: Workers) -> None:
    workers.configure("MAX-DELIVERIES 3 DEAD-LETTER dead")
    workers.add(1, 2)
    workers.read("a")
    workers.server.advance(1000)
    workers.talk.do("XCLAIM jobs g a 0 2-1 TIME 5 RETRYCOUNT 2")
    workers.talk.do("XCLAIM jobs g a 0 1-1 TIME 4 RETRYCOUNT 1")
    workers.add(3)
    assert workers.read("b") == [1]
    assert workers.read("b") == [2]
    assert workers.read("b") == [3]


def test_with_one_delivery_each_new_entry_is_alone() -> None:
    workers = Workers("ACK-WAIT 1000 MAX-DELIVERIES 1 DEAD-LETTER dead")
    workers.add(1, 2)
    assert workers.read("a", "COUNT 10") == [1]
    assert workers.read("a") == [2]
    workers.server.advance(1000)
    assert [letter["n"] for letter in workers.letters()] == ["1", "2"]


def test_nothing_of_other_streams_follows_a_last_delivery(workers: Workers) -> None:
    workers.configure("MAX-DELIVERIES 2 DEAD-LETTER dead")
    workers.talk.all("XADD more 9-1 n 9", "XGROUP CREATE more g 0")
    workers.add(1)
    workers.read("a")
    workers.server.advance(1000)
    request = "XREADGROUP GROUP g b STREAMS {} > >"
    reply = workers.talk.do(request.format("more jobs"))
    assert [part[0] for part in reply] == [b"more"]
    workers.talk.do("XADD more 10-1 n 10")
    reply = workers.talk.do(request.format("jobs more"))
    assert [part[0] for part in reply] == [b"jobs"]


# -- MAX-PENDING -------------------------------------------------------------------------------


def test_a_full_group_gives_nothing_new(workers: Workers) -> None:
    workers.configure("MAX-PENDING 2")
    workers.add(1, 2, 3)
    assert workers.read("a", "COUNT 10") == [1, 2]
    assert workers.read("b") == []
    assert workers.info()["held"] == 1
    workers.talk.do("XACK jobs g 1-1")
    assert workers.read("b") == [3]


def test_a_full_group_passes_on_what_is_due(workers: Workers) -> None:
    workers.configure("MAX-PENDING 2")
    workers.add(1, 2, 3)
    workers.read("a")
    workers.server.advance(1000)
    assert workers.read("b") == [1, 2]


def test_released_entries_wait_for_room(workers: Workers) -> None:
    workers.configure("MAX-PENDING 2")
    workers.add(1, 2, 3)
    workers.read("a")
    workers.talk.do("XNACK jobs g FAIL IDS 1 1-1")
    assert workers.read("b", "COUNT 2") == [1]
    workers.talk.do("XNACK jobs g FAIL IDS 1 1-1")
    workers.talk.do("XCLAIM jobs g c 0 1-1")
    workers.talk.do("XNACK jobs g FAIL IDS 1 2-1")
    workers.talk.do("XCLAIM jobs g c 0 2-1")
    assert workers.read("b") == []


def test_entries_without_content_are_not_in_flight(workers: Workers) -> None:
    workers.configure("MAX-PENDING 2")
    workers.add(1, 2, 3, 4)
    workers.read("a")
    workers.talk.do("XDEL jobs 1-1")
    assert workers.read("b") == [3]
    workers.talk.do("XTRIM jobs MINID 4")
    assert workers.read("c") == [4]
    assert workers.info()["ghosts-dropped"] == 3


def test_noack_needs_no_room(workers: Workers) -> None:
    workers.configure("MAX-PENDING 1")
    workers.add(1, 2, 3)
    workers.read("a")
    assert workers.read("b", "NOACK") == [2, 3]


def test_claims_ignore_the_limit_and_a_lower_one_takes_nothing_back(workers: Workers) -> None:
    workers.configure("MAX-PENDING 3")
    workers.add(1, 2, 3, 4)
    workers.read("a")
    workers.configure("MAX-PENDING 1")
    assert len(workers.pending()) == 3
    workers.talk.do("XCLAIM jobs g b 0 1-1")
    assert workers.read("b") == []


@pytest.mark.parametrize(
    "request_", ["XACK jobs g 1-1", "XNACK jobs g FATAL IDS 1 1-1", "XDEL jobs 1-1",
                 "XACKDEL jobs g IDS 1 1-1", "XTRIM jobs MAXLEN 1", "XDELRANGE jobs 1 1"]
)  # fmt: skip
def test_room_wakes_a_reader(request_: str) -> None:
    workers = Workers("MAX-PENDING 1")
    workers.add(1)
    workers.read("a")
    workers.add(2)
    waiting = workers.wait("b")
    workers.talk.do(request_)
    workers.server.advance(1)
    received = waiting.client.received()
    assert b"2-1" in received


# -- CLAIM and history -------------------------------------------------------------------------


def test_claim_gives_what_is_due_and_what_is_idle_in_its_own_form(workers: Workers) -> None:
    workers.add(1, 2, 3)
    workers.read("a", "COUNT 1")
    workers.server.advance(600)
    workers.read("a", "COUNT 1")
    workers.server.advance(400)
    reply = workers.talk.do("XREADGROUP GROUP g b CLAIM 400 STREAMS jobs >")
    rows = [(entry[0], *entry[2:]) for entry in reply[0][1]]
    assert rows == [(b"1-1", 1000, 1), (b"2-1", 400, 1), (b"3-1", 0, 0)]
    assert workers.pending() == {1: ("b", 2), 2: ("b", 2), 3: ("b", 1)}


def test_claim_takes_no_entry_that_had_its_last_delivery(workers: Workers) -> None:
    workers.configure("MAX-DELIVERIES 2 DEAD-LETTER dead")
    workers.add(1)
    workers.read("a")
    workers.server.advance(500)
    claim = "XREADGROUP GROUP g b CLAIM 100 STREAMS jobs >"
    assert workers.talk.do(claim) is not None
    workers.server.advance(500)
    assert workers.talk.do(claim) is None
    assert workers.talk.do("XAUTOCLAIM jobs g c 0 0")[1] == []
    assert workers.talk.do("XCLAIM jobs g c 0 1-1 JUSTID") == [b"1-1"]  # the operator's way


def test_history_changes_nothing_before_the_deadline(workers: Workers) -> None:
    workers.add(1, 2)
    workers.read("a")
    workers.server.advance(900)
    assert workers.read("a", after="0") == [1, 2]
    assert workers.pending() == {1: ("a", 1), 2: ("a", 1)}
    workers.server.advance(100)
    assert workers.read("b") == [1, 2]


def test_history_is_a_delivery_after_the_deadline(workers: Workers) -> None:
    workers.configure("MAX-DELIVERIES 3 DEAD-LETTER dead")
    workers.add(1, 2)
    workers.read("a")
    workers.server.advance(1000)
    assert workers.read("a", after="0") == [1, 2]
    assert workers.pending() == {1: ("a", 2), 2: ("a", 2)}
    workers.server.advance(1000)
    assert workers.read("a", after="0") == [1]  # alone: its last delivery
    assert workers.read("a", after="1-1") == [2]
    workers.server.advance(1000)
    assert workers.read("a", after="0") == []
    assert {letter["rillway-deliveries"] for letter in workers.letters()} == {"3"}


def test_an_entry_that_is_due_without_content_is_dropped(workers: Workers) -> None:
    workers.add(1, 2)
    workers.read("a")
    workers.talk.do("XDEL jobs 1-1")
    assert workers.talk.do("XREADGROUP GROUP g a STREAMS jobs 0")[0][1][0] == [b"1-1", None]
    workers.server.advance(1000)
    assert workers.read("b") == [2]
    assert workers.pending() == {2: ("b", 2)}
    assert workers.info()["ghosts-dropped"] == 1


# -- heartbeats --------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["", "JUSTID"])
def test_a_claim_by_the_owner_before_the_deadline_starts_it_again(
    workers: Workers, option: str
) -> None:
    workers.add(1)
    workers.read("a")
    for _ in range(5):
        workers.server.advance(999)
        assert len(workers.talk.do(f"XCLAIM jobs g a 0 1-1 {option}")) == 1
    assert workers.pending() == {1: ("a", 1)}
    workers.server.advance(999)
    assert workers.read("b") == []
    workers.server.advance(1)
    assert workers.read("b") == [1]


def test_a_claim_by_another_or_after_the_deadline_is_a_delivery(workers: Workers) -> None:
    workers.add(1)
    workers.read("a")
    workers.talk.do("XCLAIM jobs g b 0 1-1")
    assert workers.pending() == {1: ("b", 2)}
    workers.server.advance(1000)
    workers.talk.do("XCLAIM jobs g b 0 1-1")
    assert workers.pending() == {1: ("b", 3)}


def test_a_heartbeat_keeps_to_the_idle_time_that_it_asks_for(workers: Workers) -> None:
    workers.add(1)
    workers.read("a")
    workers.server.advance(10)
    assert workers.talk.do("XCLAIM jobs g a 500 1-1") == []


# -- propagation -------------------------------------------------------------------------------


def test_deliveries_are_propagated_as_claims(workers: Workers) -> None:
    workers.add(1, 2)
    workers.read("a", "COUNT 1")
    workers.server.advance(1000)
    propagated = sink_of(workers.server)
    workers.read("b")
    now_ms = workers.server.now_ms
    claim = "XCLAIM jobs g b 0 {} TIME {} RETRYCOUNT {} FORCE JUSTID LASTID {}"
    assert propagated() == [
        "MULTI", "XGROUP CREATECONSUMER jobs g b", claim.format("1-1", now_ms, 2, "1-1"),
        claim.format("2-1", now_ms, 1, "2-1"), "XGROUP SETID jobs g 2-1 ENTRIESREAD 2", "EXEC",
    ]  # fmt: skip
