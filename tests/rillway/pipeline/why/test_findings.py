"""Each finding by figures that show it, and none by figures of a group that is well."""

from __future__ import annotations

from dataclasses import replace

from rillway.pipeline.why.findings import Finding, PendingOne, findings
from rillway.sampler import ConsumerFigures, GroupFigures, StreamFigures

STREAM = StreamFigures(0, b"jobs", 1_700_000_000_000, 1000, in_per_s=10.0)
ANNA = ConsumerFigures(b"anna", 4, 200)
BOB = ConsumerFigures(b"bob", 3, 300)
GROUP = GroupFigures(
    b"g", 0, 7, 100, "1-0", out_per_s=10.0, consumer_count=2, consumers=(ANNA, BOB)
)
PENDING = [PendingOne("1-0", b"anna", 900, 1), PendingOne("2-0", b"bob", 800, 1)]


def texts(
    group: GroupFigures = GROUP,
    stream: StreamFigures = STREAM,
    pending: list[PendingOne] | None = None,
) -> list[str]:
    found = findings(stream, group, PENDING if pending is None else pending)
    assert all(one.advice for one in found)
    return [one.text for one in found]


def test_a_group_that_is_well_has_no_findings() -> None:
    assert texts() == []
    assert texts(replace(GROUP, lag=5)) == []  # they are on their way
    assert texts(GroupFigures(b"g", 0, 0, 0, "0-0"), pending=[]) == []
    assert texts(GroupFigures(b"g", None, 0, None, "0-0"), pending=[]) == []


def test_nobody_reads() -> None:
    never = GroupFigures(b"g", 12, 0, 0, "0-0", consumers=())
    assert texts(never, pending=[]) == [
        "no consumer has ever read: 12 new entries not delivered yet"
    ]
    still = replace(ANNA, idle_ms=20_000, pending=0)
    group = replace(GROUP, lag=1, pending=0, consumers=(still,))
    assert texts(group, pending=[]) == [
        "no consumer asks for entries, for 20 s: 1 new entry not delivered yet"
    ]


def test_entries_that_the_server_cannot_count_are_found() -> None:
    never = GroupFigures(b"g", None, 0, None, "2-0", consumers=())
    assert [one.text for one in findings(STREAM, never, [], has_new=True)] == [
        "no consumer has ever read: new entries not delivered yet"
    ]
    assert findings(STREAM, never, []) == []
    done = replace(never, lag=0)
    assert findings(STREAM, done, [], has_new=True) == []


def test_readers_are_too_slow() -> None:
    assert texts(replace(GROUP, lag=5000), replace(STREAM, in_per_s=20.0)) == [
        "entries come faster than they are read: 20 and 10 a second; "
        "5,000 new entries not delivered yet"
    ]


def test_the_policy_holds_entries_back() -> None:
    policy = {"max-pending": 7, "key-lookahead": 100}
    group = replace(GROUP, lag=9, policy=policy, waits_for={"MAX-PENDING": 9, "key": 1})
    assert texts(group) == [
        "MAX-PENDING 7 is reached: new entries wait until others are acknowledged",
        "1 entry waits for another entry of the same key",
    ]
    assert texts(replace(GROUP, policy=policy, waits_for={"KEY-LOOKAHEAD": None})) == [
        "KEY-LOOKAHEAD 100 is reached: new entries wait until others are acknowledged"
    ]
    assert texts(replace(GROUP, waits_for={"back-off": 2, "deadline": 3})) == [
        "2 entries wait for the next attempt, after a failure"
    ]
    still = replace(ANNA, idle_ms=15_000)
    assert texts(replace(GROUP, waits_for={"read": 2}, consumers=(still,))) == [
        "no consumer asks for entries, for 15 s: 2 entries due again"
    ]


def test_a_dead_consumer_holds_entries() -> None:
    dead = replace(ANNA, idle_ms=90_000, is_dead=True)
    found = findings(STREAM, replace(GROUP, consumers=(dead, BOB)), [])
    assert [(one.text, one.consumer) for one in found] == [
        ("anna holds 4 pending entries and was idle for 1 min 30 s", b"anna")
    ]
    # Its entries are slow because of it.
    slow = [PendingOne("1-0", b"anna", 90_000, 1)]
    assert len(findings(STREAM, replace(GROUP, consumers=(dead, BOB)), slow)) == 1


def test_one_consumer_holds_nearly_all() -> None:
    most = replace(ANNA, pending=97)
    assert texts(replace(GROUP, pending=100, consumers=(most, BOB))) == [
        "anna holds 97 of 100 pending entries"
    ]
    assert texts(replace(GROUP, pending=97, consumers=(most,))) == []  # there is no other


def test_entries_that_fail_and_entries_that_take_long() -> None:
    pending = [PendingOne("1-0", b"anna", 100, 9), PendingOne("2-0", b"bob", 61_000, 1)]
    assert texts(pending=pending) == [
        "1-0 was delivered 9 times and never acknowledged",
        "bob has had 2-0 for 1 min 1 s",
    ]
    many = [PendingOne(f"{number}-0", b"bob", 70_000, 1) for number in range(9)]
    assert len(texts(pending=many)) == 3


def test_a_name_that_is_no_text_is_shown() -> None:
    assert Finding("text", "advice", b"\xff").as_json() == {
        "text": "text", "consumer": "\\xff", "advice": "advice",
    }  # fmt: skip
