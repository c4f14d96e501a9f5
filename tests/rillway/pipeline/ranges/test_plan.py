"""Slices and ends: with XSPLIT, and without."""

from __future__ import annotations

from itertools import pairwise

import pytest

from rillway.pipeline.ranges import pages, plan
from rillway.pipeline.ranges.plan import Planner, Range, Slice, backlog, shares
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.facts import StreamFacts, read_facts
from rillway.pipeline.wire.ids import MAX_ID, format_id, make_id
from tests.rillway.pipeline.scene import add, add_many

pytestmark = pytest.mark.integration


def bounds(slices: list[Slice]) -> list[tuple[str, str]]:
    return [(format_id(part.first), format_id(part.last)) for part in slices]


def lengths(link: Connection, slices: list[Slice]) -> list[int]:
    ranges = [("XRANGE", part.stream, *bounds([part])[0]) for part in slices]
    return [len(found) for found in link.call_all(ranges)]


def test_slices_hold_every_entry_once_and_in_order(link: Connection) -> None:
    add_many(link, "s", 100)
    slices = Planner(link).slices(Range("s", make_id(10), make_id(90)), estimate=80, every=20)
    assert lengths(link, slices) == [20, 20, 20, 20]
    assert slices[0].first == make_id(11)
    assert slices[-1].last == make_id(90)
    assert all(one.last < other.first for one, other in pairwise(slices))


def test_more_cuts_are_made_where_a_minimum_asks_for_them(link: Connection) -> None:
    add_many(link, "s", 12)
    planner, wanted = Planner(link), Range("s", 0, make_id(12))
    assert planner.cuts(wanted, estimate=12, every=1000) == ()
    cuts = planner.cuts(wanted, estimate=12, every=1000, minimum=4)
    assert cuts == (make_id(4), make_id(7), make_id(10))


def test_there_are_never_more_cuts_than_an_offset_may_hold(
    link: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "MAX_SLICES", 5)
    add_many(link, "s", 100)
    assert len(Planner(link).cuts(Range("s", 0, make_id(100)), estimate=100, every=1)) == 4


def test_what_is_between_cuts_is_found_as_it_is_now(link: Connection) -> None:
    add_many(link, "s", 12)
    ranges = Range("s", 0, make_id(12)).split([make_id(4), make_id(7), make_id(10)])
    link.call("XDEL", "s", "4-0", "7-0", "8-0", "9-0")
    found = Planner(link).found(ranges)
    assert [part and (part.first, part.last) for part in found] == [
        (make_id(1), make_id(4) - 1),
        (make_id(5), make_id(7) - 1),
        None,
        (make_id(10), make_id(12)),
    ]


def test_the_first_entry_of_each_slice_is_there(link: Connection) -> None:
    add(link, "s", [f"{ms}-{seq}" for ms in (1, 2, 500, 501, 999) for seq in range(7)])
    slices = Planner(link).slices(Range("s", 0, make_id(999, 6)), estimate=35, every=5)
    assert sum(lengths(link, slices)) == 35
    for part in slices:
        assert link.call("XRANGE", "s", format_id(part.first), format_id(part.first))


def test_entries_of_one_millisecond_are_cut_as_well(link: Connection) -> None:
    add(link, "s", [f"5-{seq}" for seq in range(100)])
    slices = Planner(link).slices(Range("s", 0, make_id(5, 99)), estimate=100, every=25)
    assert len(slices) == 4
    assert sum(lengths(link, slices)) == 100


def test_nothing_has_no_slices(link: Connection) -> None:
    add_many(link, "s", 3)
    link.call("XTRIM", "s", "MAXLEN", 0)
    for stream in ("s", "missing"):
        assert Planner(link).slices(Range(stream, 0, make_id(3)), estimate=0, every=5) == []


def test_a_plan_is_the_same_when_it_is_made_again_and_more_has_come(link: Connection) -> None:
    add_many(link, "s", 50)
    arguments = {"estimate": 50, "every": 7}
    before = Planner(link).slices(Range("s", 0, make_id(50)), **arguments)
    add_many(link, "s", 50, first=51)
    assert Planner(link).slices(Range("s", 0, make_id(50)), **arguments) == before


def test_the_end_within_a_number_of_entries(link: Connection) -> None:
    add_many(link, "s", 2500)
    planner = Planner(link)
    assert planner.end_within("s", 0, MAX_ID, 1700, None) == (make_id(1700), 1700)
    assert planner.end_within("s", make_id(2000), MAX_ID, 1700, None) == (make_id(2500), 500)
    assert planner.end_within("s", 0, make_id(30), 1700, None) == (make_id(30), 30)
    assert planner.end_within("s", make_id(7), MAX_ID, 0, None) == (make_id(7), 0)
    assert planner.end_within("s", make_id(2500), MAX_ID, 5, None) == (make_id(2500), 0)


def test_the_end_within_a_number_of_bytes(link: Connection) -> None:
    add(link, "s", [f"{n}-0" for n in range(1, 101)], "field", "x" * 1000)
    planner = Planner(link)
    last, counted = planner.end_within("s", 0, MAX_ID, None, 10_500)
    assert (last, counted) == (make_id(10), 10)
    assert planner.end_within("s", 0, MAX_ID, 3, 10_500) == (make_id(3), 3)


def test_pages_that_are_read_ahead_are_bounded_by_bytes(
    link: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "MAX_REPLY_BYTES", 300_000)
    add(link, "s", [f"{n}-0" for n in range(1, 31)], "field", "x" * 20_000)
    before = link.received_bytes
    assert Planner(link).end_within("s", 0, MAX_ID, None, 410_000) == (make_id(20), 20)
    assert link.received_bytes - before < 2_000_000


def test_an_entry_above_the_limit_of_bytes_is_read_alone(link: Connection) -> None:
    add(link, "s", ["1-0", "2-0"], "field", "x" * 1000)
    assert Planner(link).end_within("s", 0, MAX_ID, None, 10) == (make_id(1), 1)


def test_only_rillway_counts_for_us(link: Connection, request: pytest.FixtureRequest) -> None:
    add_many(link, "s", 9)
    is_rillway = "rillway" in request.node.callspec.id
    assert Planner(link).count([Range("s", make_id(3), make_id(8))]) == (
        [5] if is_rillway else None
    )


def test_the_backlog_is_exact_where_the_count_is_known(link: Connection) -> None:
    add_many(link, "s", 100)
    facts = read_facts(link, "s")
    assert backlog(make_id(30), 30, facts) == 70
    assert backlog(make_id(100), 100, facts) == 0
    assert backlog(0, None, facts) == 100
    assert 60 <= backlog(make_id(30), None, facts) <= 80
    assert backlog(0, 0, StreamFacts()) == 0


def test_a_limit_is_shared_in_proportion() -> None:
    assert shares(10, {"a": 90, "b": 10}) == {"a": 9, "b": 1}
    assert shares(100, {"a": 30, "b": 5}) == {"a": 30, "b": 5}
    assert shares(1, {"a": 2, "b": 3}) == {"a": 0, "b": 1}
    assert sum(shares(7, {"a": 10, "b": 11, "c": 12}).values()) == 7
    assert shares(5, {}) == {}
