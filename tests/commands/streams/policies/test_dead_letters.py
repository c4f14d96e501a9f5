"""Dead letters: when an entry becomes one, and what it has."""

from __future__ import annotations

import pytest

from commands.streams.policies.dead_letters import letter_fields
from server.inprocess.server import InProcessServer
from storage.entries.entry_id import EntryIDs
from storage.groups.group import Group
from tests.commands.streams.policies.workers import START_MS, Workers, sink_of
from tests.commands.streams.talk import NOW_MS, Talk

OPTIONS = "ACK-WAIT 1000 MAX-DELIVERIES 2 DEAD-LETTER dead"


@pytest.fixture
def workers() -> Workers:
    return Workers(OPTIONS)


def wear_out(workers: Workers, number: int = 1) -> None:
    """Deliver an entry for the last time."""
    workers.add(number)
    assert workers.read("a") == [number]
    workers.server.advance(1000)
    assert workers.read("b") == [number]


def test_an_entry_becomes_a_dead_letter_when_its_last_delivery_ends(workers: Workers) -> None:
    wear_out(workers)
    workers.server.advance(999)
    assert workers.letters() == []
    workers.server.advance(1)
    (letter,) = workers.letters()
    assert letter == {
        "n": "1", "rillway-stream": "jobs", "rillway-group": "g", "rillway-consumer": "b",
        "rillway-id": "1-1", "rillway-deliveries": "2",
        "rillway-delivered": str(START_MS + 1000), "rillway-cause": "deadline",
        "rillway-error": "deadline", "rillway-hops": "1",
    }  # fmt: skip
    assert workers.pending() == {}
    assert workers.talk.ids("jobs") == ["1-1"]  # for other groups
    assert workers.info()["dead-lettered"] == 1


def test_an_acknowledgement_in_the_last_delivery_is_in_time(workers: Workers) -> None:
    wear_out(workers)
    workers.talk.do("XACK jobs g 1-1")
    workers.server.advance(5000)
    assert workers.letters() == []


def test_a_heartbeat_extends_the_last_delivery(workers: Workers) -> None:
    wear_out(workers)
    workers.server.advance(999)
    workers.talk.do("XCLAIM jobs g b 0 1-1 JUSTID")
    workers.server.advance(999)
    assert workers.letters() == []
    workers.server.advance(1)
    assert len(workers.letters()) == 1


def test_the_letter_and_the_acknowledgement_are_one_unit(workers: Workers) -> None:
    wear_out(workers)
    propagated = sink_of(workers.server)
    workers.server.advance(1000)
    multi, letter, acknowledgement, end = propagated()
    assert (multi, acknowledgement, end) == ("MULTI", "XACK jobs g 1-1", "EXEC")
    assert letter.startswith(f"XADD dead {workers.server.now_ms}-0 n 1 rillway-stream jobs ")


def test_a_journal_has_the_acknowledgement_as_well(workers: Workers) -> None:
    workers.talk.do("XCFGSET jobs ACK-JOURNAL acks")
    replica = Talk(InProcessServer(now_ms=NOW_MS))
    propagated = sink_of(workers.server)
    wear_out(workers)
    workers.server.advance(1000)
    workers.add(2)
    workers.read("a")
    workers.talk.do("XNACK jobs g FATAL IDS 1 2-1")
    workers.talk.do("XACK jobs g 1-1")  # late: it is not pending any more
    rows = [fields[1::2] for _, fields in workers.talk.do("XRANGE acks - +")]
    read_ms, dead_ms = str(START_MS + 1000).encode(), str(START_MS + 2000).encode()
    assert rows == [
        [b"jobs", b"g", b"b", b"1-1", read_ms, dead_ms, b"2"],
        [b"jobs", b"g", b"a", b"2-1", dead_ms, dead_ms, b"1"],
    ]
    replica.do("XGROUP CREATE jobs g 0 MKSTREAM")
    replica.replay(*propagated())
    assert replica.do("XRANGE acks - +") == workers.talk.do("XRANGE acks - +")


def test_readers_of_the_dead_letters_are_woken(workers: Workers) -> None:
    wear_out(workers)
    reader = Talk(workers.server)
    assert reader.raw("XREAD BLOCK 0 STREAMS dead $") == b""
    workers.server.advance(1000)
    assert b"rillway-cause" in reader.client.received()


def test_a_lower_limit_strikes_when_the_running_delivery_ends(workers: Workers) -> None:
    workers.configure("MAX-DELIVERIES 5")
    wear_out(workers)
    workers.configure("MAX-DELIVERIES 1")
    workers.server.advance(999)
    assert workers.letters() == []
    workers.server.advance(1)
    assert len(workers.letters()) == 1


def test_a_released_entry_that_had_its_last_delivery_is_dead_at_once(workers: Workers) -> None:
    wear_out(workers)
    assert workers.talk.do("XNACK jobs g FAIL IDS 1 1-1 REASON boom") == 1
    (letter,) = workers.letters()
    assert (letter["rillway-cause"], letter["rillway-error"]) == ("failed", "boom")
    assert letter["rillway-consumer"] == "b"


def test_a_silent_release_gives_the_delivery_back(workers: Workers) -> None:
    wear_out(workers)
    workers.talk.do("XNACK jobs g SILENT IDS 1 1-1")
    assert workers.letters() == []
    assert workers.read("c") == [1]
    assert workers.pending() == {1: ("c", 2)}


def test_a_retry_count_at_the_limit_is_the_end(workers: Workers) -> None:
    workers.add(1, 2)
    workers.read("a")
    workers.talk.do("XNACK jobs g FAIL IDS 1 1-1 RETRYCOUNT 2")
    workers.talk.do("XNACK jobs g FAIL IDS 1 2-1 RETRYCOUNT 1")
    (letter,) = workers.letters()
    assert (letter["n"], letter["rillway-deliveries"]) == ("1", "1")


def test_a_fatal_entry_is_dead_at_once(workers: Workers) -> None:
    workers.add(1)
    workers.read("a")
    assert workers.talk.do("XNACK jobs g FATAL IDS 1 1-1") == 1
    (letter,) = workers.letters()
    assert (letter["rillway-cause"], letter["rillway-error"]) == ("fatal", "fatal")
    assert letter["rillway-deliveries"] == "1"


def test_a_burst_of_failures_uses_up_no_more_than_its_attempts(workers: Workers) -> None:
    workers.configure("BACKOFF 50")
    workers.add(1)
    deliveries = 0
    for _ in range(100):
        if workers.read("a"):
            deliveries += 1
            workers.talk.do("XNACK jobs g FAIL IDS 1 1-1")
        workers.server.advance(1)
    assert deliveries == 2
    assert len(workers.letters()) == 1


def test_an_entry_without_content_is_dropped_instead(workers: Workers) -> None:
    wear_out(workers)
    workers.talk.do("XDEL jobs 1-1")
    propagated = sink_of(workers.server)
    workers.server.advance(1000)
    assert workers.letters() == []
    assert workers.pending() == {}
    assert propagated() == ["XACK jobs g 1-1"]
    assert workers.info()["ghosts-dropped"] == 1


def test_entries_stay_pending_where_the_key_holds_another_type(workers: Workers) -> None:
    workers.talk.do("SET dead x")
    wear_out(workers)
    workers.server.advance(1000)
    assert workers.pending() == {1: ("b", 2)}
    assert workers.read("c") == []
    workers.server.advance(999)
    assert workers.info()["dead-letter-failures"] == 1
    workers.server.advance(1)
    assert workers.info()["dead-letter-failures"] == 2
    workers.talk.do("DEL dead")
    workers.server.advance(1000)
    assert [letter["rillway-cause"] for letter in workers.letters()] == ["deadline"]
    assert workers.pending() == {}


@pytest.mark.parametrize(("mode", "cause"), [("FAIL", "failed"), ("FATAL", "fatal")])
def test_what_consumers_gave_up_is_tried_again_with_its_cause(
    workers: Workers, mode: str, cause: str
) -> None:
    workers.talk.do("SET dead x")
    wear_out(workers)
    workers.talk.do(f"XNACK jobs g {mode} IDS 1 1-1 REASON why")
    assert workers.pending()[1][0] == ""
    assert workers.read("c") == []
    workers.talk.do("DEL dead")
    workers.server.advance(1000)
    (letter,) = workers.letters()
    assert (letter["rillway-cause"], letter["rillway-error"]) == (cause, "why")


def test_the_user_who_configured_it_must_keep_the_right(workers: Workers) -> None:
    talk = Talk(workers.server)
    talk.all("ACL SETUSER bob on nopass ~* +@all", "AUTH bob x", f"XGROUP CONFIG jobs g {OPTIONS}")
    wear_out(workers)
    workers.talk.do("ACL SETUSER bob resetkeys ~jobs")
    workers.server.advance(1000)
    assert workers.letters() == []
    assert workers.info()["dead-letter-failures"] == 1
    workers.talk.do("ACL DELUSER bob")
    workers.server.advance(1000)
    assert workers.info()["dead-letter-failures"] == 2
    workers.configure("DEAD-LETTER dead")
    workers.server.advance(1)
    assert len(workers.letters()) == 1


def test_a_limit_of_memory_is_no_obstacle(workers: Workers) -> None:
    wear_out(workers)
    workers.talk.do("CONFIG SET maxmemory 1")
    workers.server.advance(1000)
    workers.talk.do("CONFIG SET maxmemory 0")
    assert len(workers.letters()) == 1


def test_letters_of_letters_count_their_hops(workers: Workers) -> None:
    workers.talk.do("XGROUP CREATE dead g2 0 MKSTREAM")
    workers.talk.do("XGROUP CONFIG dead g2 ACK-WAIT 10 MAX-DELIVERIES 1 DEAD-LETTER jobs")
    wear_out(workers)
    workers.server.advance(1000)
    workers.talk.do("XREADGROUP GROUP g2 a STREAMS dead >")
    workers.server.advance(10)
    letter = workers.letters("jobs")[-1]
    assert letter["rillway-hops"] == "2"
    assert (letter["n"], letter["rillway-stream"]) == ("1", "dead")


def test_fields_of_these_names_are_replaced() -> None:
    group = Group(b"g", 0)
    group.deliver(group.create_consumer(b"a", 5), EntryIDs.of([1]), 7)
    row = next(group.pending.rows_from(0))
    fields = [b"x", b"1", b"rillway-hops", b"two", b"rillway-id", b"9", b"x", b"2"]
    letter = letter_fields(b"s", group, row, b"failed", None, fields)
    assert letter[:4] == [b"x", b"1", b"x", b"2"]
    assert letter[4::2] == [
        b"rillway-stream", b"rillway-group", b"rillway-consumer", b"rillway-id",
        b"rillway-deliveries", b"rillway-delivered", b"rillway-cause", b"rillway-error",
        b"rillway-hops",
    ]  # fmt: skip
    assert letter[5::2] == [b"s", b"g", b"a", b"0-1", b"1", b"7", b"failed", b"failed", b"1"]


def test_very_many_that_are_dead_at_once_move_in_their_order(workers: Workers) -> None:
    workers.configure("MAX-DELIVERIES 5")
    workers.add(*range(1, 301))
    workers.read("a")
    workers.configure("MAX-DELIVERIES 1")
    workers.server.advance(1000)
    assert [int(letter["n"]) for letter in workers.letters()] == list(range(1, 301))
