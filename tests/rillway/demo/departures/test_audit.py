"""The audit: a clean run passes every check, and each kind of fault fails one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from rillway.demo.departures.audit import Check, Evidence, Ledger, audit
from rillway.demo.departures.data_set import Departure
from rillway.demo.departures.tally import Counters

DEPARTURES = [
    Departure(1_000, "UA", "1", "N1", "JFK", "BOS", "0"),
    Departure(1_000, "B6", "2", "N2", "LGA", "ORD", "NA"),
    Departure(2_000, "UA", "3", "N3", "EWR", "LAX", "-4"),
]
IDS = [b"1000-0", b"1000-1", b"2000-0"]


def make_tally(delivered: int, claimed: int, acknowledged: int) -> Counters:
    tally = Counters.create()
    tally.add_delivered(delivered)
    tally.add_claimed(claimed)
    tally.add_acknowledged(acknowledged)
    return tally


def make_ledger() -> Ledger:
    ledger = Ledger()
    ledger.add("healthy", [b"1000-0", b"1000-1", b"2000-0"], [b"UA", b"B6", b"UA"])
    return ledger


def stored(departure: Departure) -> Mapping[bytes, bytes]:
    fields = departure.fields() | {"sent_us": "1"}
    return {name.encode(): value.encode() for name, value in fields.items()}


def clean_run() -> Evidence:
    """Three departures: one consumer crashed holding the last, the other claimed it."""
    return Evidence(
        departures=DEPARTURES,
        sent_ids=IDS,
        tallies={"healthy": make_tally(2, 1, 3), "unlucky": make_tally(1, 0, 0)},
        crashed=["unlucky"],
        expected_crashes=1,
        stored=dict(zip(IDS, map(stored, DEPARTURES), strict=True)),
        ledger=make_ledger(),
        stream={"length": 3, "entries-added": 3},
        group={"entries-read": 3, "lag": 0, "pending": 0},
        consumers=[{"pending": 0}, {"pending": 0}],
        pending={"pending": 0},
    )


def failures(evidence: Evidence) -> list[Check]:
    return [check for check in audit(evidence) if not check.passed]


def test_a_clean_run_passes_every_check() -> None:
    assert failures(clean_run()) == []


def lost_departure(run: Evidence) -> Evidence:
    return replace(run, stored=dict(list(run.stored.items())[:-1]))


def changed_field(run: Evidence) -> Evidence:
    changed = {**run.stored[b"1000-1"], b"carrier": b"AA"}
    return replace(run, stored={**run.stored, b"1000-1": changed})


def wrong_time_in_an_id(run: Evidence) -> Evidence:
    ids = [b"1000-0", b"1000-1", b"2001-0"]
    return replace(run, sent_ids=ids, stored=dict(zip(ids, run.stored.values(), strict=True)))


def wrong_order(run: Evidence) -> Evidence:
    return replace(run, stored=dict(reversed(list(run.stored.items()))))


def extra_entry(run: Evidence) -> Evidence:
    return replace(run, stored={**run.stored, b"3000-0": {}})


def wrong_length(run: Evidence) -> Evidence:
    return replace(run, stream={**run.stream, "length": 2})


def wrong_counter(run: Evidence) -> Evidence:
    return replace(run, stream={**run.stream, "entries-added": 4})


def unread_entries(run: Evidence) -> Evidence:
    return replace(run, group={**run.group, "entries-read": 2, "lag": 1})


def unknown_lag(run: Evidence) -> Evidence:
    return replace(run, group={**run.group, "lag": None})


def pending_in_xinfo(run: Evidence) -> Evidence:
    return replace(run, group={**run.group, "pending": 1})


def pending_in_xpending(run: Evidence) -> Evidence:
    return replace(run, pending={"pending": 1})


def pending_with_a_consumer(run: Evidence) -> Evidence:
    return replace(run, consumers=[{"pending": 0}, {"pending": 1}])


def never_acknowledged(run: Evidence) -> Evidence:
    ledger = Ledger()
    ledger.add("healthy", IDS[:-1], [b"UA", b"B6"])
    return replace(run, ledger=ledger)


def delivered_twice_as_new(run: Evidence) -> Evidence:
    return replace(run, tallies={**run.tallies, "unlucky": make_tally(2, 0, 0)})


def acknowledged_twice(run: Evidence) -> Evidence:
    return replace(run, tallies={**run.tallies, "unlucky": make_tally(1, 0, 1)})


def credited_to_another(run: Evidence) -> Evidence:
    tallies = {"healthy": make_tally(2, 1, 2), "unlucky": make_tally(1, 0, 1)}
    return replace(run, tallies=tallies)


def no_crash(run: Evidence) -> Evidence:
    return replace(run, crashed=[])


def nothing_claimed(run: Evidence) -> Evidence:
    return replace(run, tallies={**run.tallies, "healthy": make_tally(2, 0, 3)})


def miscounted_carrier(run: Evidence) -> Evidence:
    ledger = Ledger()
    ledger.add("healthy", IDS, [b"UA", b"B6", b"B6"])
    return replace(run, ledger=ledger)


@pytest.mark.parametrize(
    "fault",
    [
        lost_departure,
        changed_field,
        wrong_time_in_an_id,
        wrong_order,
        extra_entry,
        wrong_length,
        wrong_counter,
        unread_entries,
        unknown_lag,
        pending_in_xinfo,
        pending_in_xpending,
        pending_with_a_consumer,
        never_acknowledged,
        delivered_twice_as_new,
        acknowledged_twice,
        credited_to_another,
        no_crash,
        nothing_claimed,
        miscounted_carrier,
    ],
)
def test_each_fault_fails_the_audit(fault: Callable[[Evidence], Evidence]) -> None:
    assert failures(fault(clean_run())) != []


def test_an_entry_in_two_records_belongs_to_the_first() -> None:
    ledger = Ledger()
    ledger.add("first", [b"1-0"], [b"UA"])
    ledger.add("second", [b"1-0", b"2-0"], [b"UA", b"B6"])
    assert ledger.by_consumer() == {"first": 1, "second": 1}
    assert ledger.by_carrier == {"UA": 1, "B6": 1}
    assert ledger.repeated == 1


def test_a_record_whose_lists_differ_in_length_is_no_record() -> None:
    with pytest.raises(ValueError, match="zip"):
        Ledger().add("first", [b"1-0", b"2-0"], [b"UA"])
