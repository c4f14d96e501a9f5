"""The catalogue, and which cases a run measures; nothing is measured here."""

from __future__ import annotations

import itertools
import re

import pytest

from benchmarks.catalogue import CASES, UnknownCase, chosen
from benchmarks.catalogue import QUICK as QUICK_CASES
from benchmarks.comparison import FULL, HEADLINES, QUICK
from benchmarks.figures import TARGETS

ROWS = {row.name: row for case in CASES for row in case.rows}


def test_no_name_is_given_twice() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    assert len(ROWS) == sum(len(case.rows) for case in CASES)


def test_every_row_is_named_after_a_section_and_a_case() -> None:
    assert all(re.fullmatch(r"[a-z-]+/[A-Za-z0-9.-]+", name) for name in ROWS)


def test_every_target_is_of_a_row_and_every_quick_case_exists() -> None:
    assert TARGETS.keys() <= ROWS.keys()
    assert {case.name for case in CASES} >= QUICK_CASES


def test_ten_cases_are_headlines() -> None:
    assert len(HEADLINES) == 10
    assert {case.name for case in CASES} >= HEADLINES


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


def test_a_case_that_takes_long_has_fewer_pairs() -> None:
    (flush,) = chosen(["stall/flushall"], is_quick=False)
    (ping,) = chosen(["ping/p1-c50"], is_quick=False)
    assert (flush.pairs(FULL), ping.pairs(FULL), ping.pairs(QUICK)) == (2, 5, 3)


def test_what_takes_long_to_prepare_is_prepared_once() -> None:
    prepared = [
        setting.name
        for setting, _ in itertools.groupby(case.setting for case in CASES)
        if setting and setting.prepare
    ]
    assert len(set(prepared)) == len(prepared) > 5
