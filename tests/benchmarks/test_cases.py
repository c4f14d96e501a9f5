"""The catalogue, and which cases a run measures; nothing is measured here."""

from __future__ import annotations

import re

import pytest

from benchmarks.cases.case import FULL, QUICK
from benchmarks.cases.catalogue import CASES, UnknownCase, chosen
from benchmarks.comparison import has_case
from benchmarks.figures import Measure
from benchmarks.machine import Cores
from benchmarks.servers import Contender, Program

ROWS = {row.name: row for case in CASES for row in case.rows}


def test_no_name_is_given_twice() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    assert len(ROWS) == sum(len(case.rows) for case in CASES)


def test_every_base_of_growth_is_a_row() -> None:
    bases = {row.base for row in ROWS.values() if row.base}
    assert bases
    assert bases <= set(ROWS)


def test_every_row_is_named_after_a_section_and_a_case() -> None:
    assert all(re.fullmatch(r"[a-z-]+/[A-Za-z0-9.-]+", name) for name in ROWS)


@pytest.mark.parametrize(
    ("name", "measure", "bound"),
    [
        ("xadd/small-p64-c50", Measure.RATIO, 1.0),
        ("xadd/small-p1-c50", Measure.RATIO, 0.9),
        ("xrange/count-1000", Measure.RATIO, 5.0),
        ("fan-out/100-readers", Measure.RATIO, 2.0),
        ("group/count-100-consumers-10", Measure.RATIO, 1.0),
        ("latency/seeds-within-1ms", Measure.VALUE, 74.11),
        ("latency/seeds-p99.9", Measure.VALUE, 2.0),
        ("memory/small-entry", Measure.RATIO, 0.7),
        ("growth/xadd-p64-c50-at-10M", Measure.GROWTH, 0.9),
        ("growth/xrange-count-1000-at-1M-pending", Measure.GROWTH, 0.9),
        ("stall/flushall-p99.9", Measure.VALUE, 10.0),
    ],
)
def test_what_is_promised_has_a_target(name: str, measure: Measure, bound: float) -> None:
    assert (measure, bound) in [(target.measure, target.bound) for target in ROWS[name].targets]


def test_all_cases_are_measured_if_none_is_named() -> None:
    assert chosen([], is_quick=False) == CASES
    quick = chosen([], is_quick=True)
    assert 0 < len(quick) < len(CASES) / 2


def test_a_case_may_be_named_by_how_it_begins() -> None:
    assert {case.name.partition("/")[0] for case in chosen(["xread", "pi"], False)} == {
        "xread",
        "ping",
    }


def test_a_full_name_means_no_longer_one() -> None:
    (case,) = chosen(["xrange/count-10"], is_quick=True)
    assert case.name == "xrange/count-10"


def test_a_name_that_no_case_has_is_refused() -> None:
    with pytest.raises(UnknownCase, match="xdel"):
        chosen(["ping", "xdel"], is_quick=False)


def test_a_case_is_measured_for_a_redis_that_has_the_command() -> None:
    (claim,) = chosen(["pending/xreadgroup-claim-10k"], is_quick=False)

    def redis(*version: int) -> Contender:
        return Contender(Program("Redis", ("redis-server",), version), Cores(0, 1), is_ours=False)

    assert not has_case(redis(7, 0, 15), claim)
    assert has_case(redis(8, 4, 0), claim)
    ours = Contender(Program("Rillway", ("rillway",), (0, 1)), Cores(0, 1), is_ours=True)
    assert has_case(ours, claim)


def test_a_case_that_takes_long_has_fewer_pairs() -> None:
    (flush,) = chosen(["stall/flushall"], is_quick=False)
    (ping,) = chosen(["ping/p1-c50"], is_quick=False)
    assert (flush.pairs(FULL), ping.pairs(FULL), ping.pairs(QUICK)) == (2, 5, 3)
