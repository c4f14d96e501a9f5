"""XREADGROUP in a group with KEY-FIELD: what each consumer gets of each key."""

from __future__ import annotations

import pytest

from commands.streams.groups import key_turn
from tests.commands.streams.policies.workers import Workers, numbers_of, sink_of


def keyed(options: str = "") -> Workers:
    return Workers(f"ACK-WAIT 1000 KEY-FIELD k {options}")


def add(workers: Workers, *keys: str) -> None:
    """Entries 1, 2, ... with these keys; '-' is none."""
    last = int(workers.talk.fields("XINFO STREAM jobs")["last-generated-id"].split(b"-")[0])
    for number, key in enumerate(keys, last + 1):
        fields = "n 1" if key == "-" else f"n 1 k {key}"
        workers.talk.do(f"XADD jobs {number}-1 {fields}")


def ack(workers: Workers, *numbers: int) -> None:
    for number in numbers:
        workers.talk.do(f"XACK jobs g {number}-1")


# -- new entries -------------------------------------------------------------------------------


def test_a_key_is_with_one_consumer_and_the_others_flow() -> None:
    workers = keyed()
    add(workers, "a", "a", "b", "-", "a", "c")
    assert workers.read("x", "COUNT 1") == [1]
    assert workers.read("y") == [3, 4, 6]
    assert workers.pending() == {
        1: ("x", 1), 2: ("x", 0), 3: ("y", 1), 4: ("y", 1), 5: ("x", 0), 6: ("y", 1),
    }  # fmt: skip
    assert workers.read("x") == [2, 5]
    assert workers.info()["reserved"] == 0


def test_a_free_key_goes_to_whoever_reads_first() -> None:
    workers = keyed()
    add(workers, "a", "a", "a")
    workers.read("x", "COUNT 1")
    assert workers.read("y") == []
    ack(workers, 1)
    assert workers.read("y", "COUNT 1") == [2]
    assert workers.read("x") == []
    assert workers.read("y") == [3]


def test_the_first_field_of_the_name_is_the_key() -> None:
    workers = keyed()
    workers.talk.do("XADD jobs 1-1 k a k b")
    workers.talk.do("XADD jobs 2-1 k b k a")
    workers.talk.do("XADD jobs 3-1 n 1 k a")
    assert workers.read("x", "COUNT 1") == [1]
    assert workers.read("y") == [2]
    assert workers.read("x") == [3]


def test_without_acknowledgements_new_entries_lock_nothing() -> None:
    workers = keyed()
    add(workers, "a", "b", "a", "b")
    workers.read("x", "COUNT 1")
    assert workers.read("y", "NOACK") == [2, 4]
    assert workers.pending() == {1: ("x", 1), 3: ("x", 0)}
    assert workers.read("x", "NOACK") == []
    assert workers.read("x") == [3]


def test_caps_count_all_entries() -> None:
    workers = keyed()
    add(workers, "a", "b", "a", "b", "c")
    workers.read("x", "COUNT 1")
    workers.read("y", "COUNT 1")
    assert workers.read("z", "MAXCOUNT 1") == [5]
    ack(workers, 1, 2)
    assert workers.read("z", "MAXCOUNT 1") == [3]
    assert workers.read("z", "MAXSIZE 1") == [4]


def test_a_bound_of_pending_entries_counts_what_is_sent() -> None:
    workers = keyed("MAX-PENDING 2")
    add(workers, "a", "a", "b", "b")
    assert workers.read("x", "COUNT 1") == [1]
    assert workers.read("y") == [3]
    assert workers.info()["in-flight"] == 2
    assert workers.read("x") == []
    ack(workers, 1)
    assert workers.read("z") == [2]


# -- redeliveries ------------------------------------------------------------------------------


def test_the_first_entry_takes_the_key_along_and_goes_alone() -> None:
    workers = keyed()
    add(workers, "a", "a", "a")
    assert workers.read("x") == [1, 2, 3]
    workers.server.advance(1000)
    assert workers.read("y") == [1]
    assert workers.pending() == {1: ("y", 2), 2: ("y", 1), 3: ("y", 1)}
    assert workers.read("y") == []
    add(workers, "a")
    assert workers.read("y") == []
    ack(workers, 1)
    assert workers.read("y", "COUNT 1") == [2]
    assert workers.read("y") == []
    ack(workers, 2)
    assert workers.read("z") == [3]


def test_a_heartbeat_for_the_first_entry_keeps_the_key() -> None:
    workers = keyed()
    add(workers, "a", "a")
    workers.read("x")
    workers.server.advance(900)
    workers.talk.do("XCLAIM jobs g x 0 1-1 JUSTID")
    workers.server.advance(900)
    assert workers.read("y") == []
    ack(workers, 1)
    assert workers.read("y") == [2]


def test_a_released_entry_holds_its_key_until_it_is_due() -> None:
    workers = keyed()
    add(workers, "a", "a", "a", "b")
    workers.read("x", "COUNT 2")
    workers.talk.do("XNACK jobs g FAIL IDS 1 1-1 DELAY 500")
    assert workers.read("y") == [4]
    ack(workers, 2)
    assert workers.read("y") == []
    workers.server.advance(500)
    assert workers.read("y") == [1]
    ack(workers, 1)
    assert workers.read("x") == [3]


def test_a_dead_letter_frees_its_key() -> None:
    workers = keyed("MAX-DELIVERIES 1 DEAD-LETTER dead")
    add(workers, "a", "a")
    assert workers.read("x") == [1]
    blocked = workers.wait("y")
    workers.server.advance(1000)
    assert numbers_of(blocked.received()) == [2]
    assert len(workers.letters()) == 1


def test_the_own_history_has_no_reserved_entries() -> None:
    workers = keyed()
    add(workers, "a", "a", "a")
    workers.read("x", "COUNT 2")
    workers.read("y")
    assert workers.read("x", after="0") == [1, 2]
    workers.server.advance(1000)
    assert workers.read("x", after="0") == [1, 2]
    assert workers.pending() == {1: ("x", 2), 2: ("x", 1), 3: ("x", 0)}


# -- claims ------------------------------------------------------------------------------------


def test_claims_take_the_oldest_entry_of_a_key_and_the_key() -> None:
    workers = keyed()
    add(workers, "a", "a", "b")
    workers.read("x")
    assert workers.talk.do("XCLAIM jobs g y 0 2-1 1-1 JUSTID") == [b"1-1"]
    assert workers.pending() == {1: ("y", 1), 2: ("y", 1), 3: ("x", 1)}
    workers.server.advance(100)
    claimed = workers.talk.do("XAUTOCLAIM jobs g z 100 0 JUSTID")
    assert claimed[1] == [b"1-1", b"3-1"]
    assert workers.pending() == {1: ("z", 1), 2: ("y", 1), 3: ("z", 1)}
    ack(workers, 1)
    assert workers.read("z") == [2]


def test_reading_with_a_claim_takes_the_key_too() -> None:
    workers = keyed()
    add(workers, "a", "a")
    workers.read("x")
    workers.server.advance(100)
    assert workers.read("y", "CLAIM 100") == [1]
    assert workers.pending() == {1: ("y", 2), 2: ("y", 1)}


def test_a_forced_claim_gets_no_entry_of_a_key_in_use() -> None:
    workers = keyed()
    add(workers, "a", "b")
    workers.read("x", "COUNT 1")
    add(workers, "a")
    assert workers.talk.do("XCLAIM jobs g y 0 2-1 3-1 FORCE JUSTID") == [b"2-1"]
    assert workers.read("x") == [3]


# -- what frees a key --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "request_",
    [
        "XACK jobs g 1-1",
        "XACKDEL jobs g IDS 1 1-1",
        "XNACK jobs g FAIL IDS 1 1-1",
        "XNACK jobs g SILENT IDS 1 1-1",
        "XDEL jobs 1-1",
        "XDELEX jobs DELREF IDS 1 1-1",
        "XDELRANGE jobs 1 1",
        "XTRIM jobs MINID 2",
        "XADD jobs MAXLEN 2 9-1 n 1",
        "XGROUP DELCONSUMER jobs g x",
        "XCFGSET jobs RETAIN-LEN 1",
    ],
)
def test_a_waiting_consumer_gets_the_next_entry_when_a_key_is_free(request_: str) -> None:
    workers = keyed()
    add(workers, "a", "a")
    workers.read("x", "COUNT 1")
    blocked = workers.wait("y", "COUNT 1")
    workers.talk.do(request_)
    workers.server.advance(5)
    reply = blocked.received()
    assert numbers_of(reply) == ([1] if "NACK" in request_ or "DELC" in request_ else [2])


def test_a_waiting_owner_gets_what_another_reader_reserves() -> None:
    workers = keyed()
    add(workers, "a", "a")
    workers.read("x")
    ack(workers, 1)
    blocked = workers.wait("x")
    add(workers, "a")
    assert numbers_of(blocked.received()) == [3]


def test_a_waiting_reader_gets_the_key_at_its_deadline() -> None:
    workers = keyed()
    add(workers, "a", "a")
    workers.read("x")
    blocked = workers.wait("y")
    workers.server.advance(1000)
    assert numbers_of(blocked.received()) == [1]


def test_a_consumer_hands_its_keys_to_its_heir() -> None:
    workers = keyed()
    add(workers, "a", "a", "a")
    workers.read("x", "COUNT 1")
    workers.read("z")
    workers.talk.do("XGROUP DELCONSUMER jobs g x TRANSFER y")
    assert workers.pending() == {1: ("y", 1), 2: ("y", 0), 3: ("y", 0)}
    assert workers.read("z") == []
    assert workers.read("y") == [2, 3]


def test_deleted_reserved_entries_are_dropped() -> None:
    workers = keyed()
    add(workers, "a", "a", "a")
    workers.read("x", "COUNT 1")
    workers.read("y")
    workers.talk.do("XDEL jobs 2-1")
    ack(workers, 1)
    assert workers.read("y") == [3]
    assert workers.pending() == {3: ("y", 1)}
    assert workers.info()["ghosts-dropped"] == 1


def test_a_group_that_is_set_back_skips_what_is_pending() -> None:
    workers = keyed()
    add(workers, "a", "b", "a")
    workers.read("x", "COUNT 1")
    workers.talk.do("XGROUP SETID jobs g 0")
    assert workers.read("y") == [2]
    assert workers.pending() == {1: ("x", 1), 2: ("y", 1), 3: ("x", 0)}


# -- the look-ahead ----------------------------------------------------------------------------


def test_the_look_ahead_ends_until_a_quarter_is_free() -> None:
    workers = keyed("KEY-LOOKAHEAD 4")
    add(workers, "a", "a", "a", "a", "a", "b", "a")
    workers.read("x", "COUNT 1")
    assert workers.read("y") == []
    assert workers.info()["key-held"] == 1
    ack(workers, 1)
    assert workers.read("x", "COUNT 1") == [2]
    assert workers.read("y") == [6]
    assert workers.talk.fields("XINFO STREAM jobs")["last-generated-id"] == b"7-1"
    assert workers.info()["key-held"] == 1


def test_a_key_with_its_own_bound_reached_is_passed_over() -> None:
    workers = keyed("KEY-LOOKAHEAD-KEY 4")
    add(workers, *"a" * 8, "b", "a", "b")
    workers.read("x", "COUNT 1")
    assert workers.read("y") == [9, 11]
    info = workers.info()
    assert (info["keys-passed"], info["reserved"], info["key-held"]) == (1, 4, 0)
    assert (info["longest-key"], info["longest-key-waiting"]) == (b"a", 4)
    # No other server may lose what was passed over.
    group = workers.talk.do("XINFO GROUPS jobs")[0]
    assert group[group.index(b"last-delivered-id") + 1] == b"5-1"
    got = []
    for _ in range(9):
        got += workers.read("x")
    assert got == [2, 3, 4, 5, 6, 7, 8, 10]
    assert workers.info()["keys-passed"] == 0
    group = workers.talk.do("XINFO GROUPS jobs")[0]
    assert group[group.index(b"last-delivered-id") + 1] == b"11-1"
    assert group[group.index(b"entries-read") + 1] == 11


def test_a_read_looks_at_a_limited_number_of_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_turn, "LOOKED_AT_ONCE", 10)
    monkeypatch.setattr(key_turn, "ENTRIES_AT_ONCE", 5)
    workers = keyed()
    add(workers, *"a" * 25, "b")
    workers.read("x", "COUNT 1")
    assert workers.read("y") == []
    assert workers.read("y") == []
    assert workers.read("y") == [26]
    # One that waits goes on by itself.
    add(workers, *"a" * 25, "c")
    blocked = workers.wait("z")
    for _ in range(5):
        workers.server.advance(1)
    assert numbers_of(blocked.received()) == [52]


def test_looking_for_passed_entries_is_limited_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_turn, "LOOKED_AT_ONCE", 10)
    workers = keyed("KEY-LOOKAHEAD-KEY 1")
    add(workers, "a", "a", "a", *"b" * 40, "a")
    workers.read("x", "COUNT 1")
    for _ in range(30):
        workers.read("y")
    got = []
    for _ in range(40):
        got += workers.read("x")
    assert got == [2, 3, 44]


def test_a_new_position_ends_what_was_passed_over() -> None:
    workers = keyed("KEY-LOOKAHEAD-KEY 1")
    add(workers, *"aaaab")
    workers.read("x", "COUNT 1")
    workers.read("y")
    assert workers.info()["keys-passed"] == 1
    workers.talk.do("XGROUP SETID jobs g $")
    assert workers.info()["keys-passed"] == 0
    assert workers.read("x") == [2]
    assert workers.read("x") == []


# -- options -----------------------------------------------------------------------------------


def test_the_field_changes_only_while_nothing_is_pending() -> None:
    workers = keyed()
    add(workers, "a")
    workers.read("x")
    for field in ("other", ""):
        words = ["XGROUP", "CONFIG", "jobs", "g", "KEY-FIELD", field]
        reply = workers.talk.client.execute(*words)
        assert b"only while the group has no pending entries" in reply
    workers.configure("KEY-FIELD k KEY-LOOKAHEAD 7")
    assert workers.info()["key-lookahead"] == 7
    workers.configure("KEY-LOOKAHEAD 0")
    assert workers.info()["key-lookahead"] == 120_000
    ack(workers, 1)
    workers.configure("KEY-FIELD other")


def test_a_group_without_the_field_has_no_keys() -> None:
    workers = keyed()
    workers.talk.client.execute("XGROUP", "CONFIG", "jobs", "g", "KEY-FIELD", "")
    add(workers, "a", "a")
    workers.read("x", "COUNT 1")
    assert workers.read("y") == [2]
    assert "key-field" not in workers.info()


# -- what others get ---------------------------------------------------------------------------


def test_reserved_entries_travel_as_claims_and_as_a_row() -> None:
    workers = keyed()
    add(workers, "a", "a")
    workers.read("x", "COUNT 1")
    taken = sink_of(workers.server)
    workers.read("y")
    requests = [each for each in taken() if "CREATECONSUMER" not in each]
    assert [each for each in requests if each.startswith("XCLAIM")] == [
        "XCLAIM jobs g x 0 2-1 TIME 0 RETRYCOUNT 0 FORCE JUSTID LASTID 2-1"
    ]
    carriers = [each for each in requests if each.startswith("ECHO")]
    assert len(carriers) == 1
    assert "XPOLICY" in carriers[0]
    assert "reserved" in carriers[0]


def test_a_key_stays_with_who_is_at_work_when_another_hands_on_what_it_had() -> None:
    workers = keyed()
    add(workers, "a", "a", "a")
    workers.read("x", "COUNT 1")
    assert workers.read("y") == []  # 2 and 3 are reserved, for x
    workers.server.advance(1000)
    assert workers.read("y") == [1]
    ack(workers, 1)
    assert workers.read("y", "COUNT 1") == [2]
    workers.talk.do("XGROUP DELCONSUMER jobs g x TRANSFER z")
    assert workers.read("z") == []
    ack(workers, 2)
    assert workers.read("z") == [3]
