"""What is kept of a run: written, read again, gone on with."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import record
from benchmarks.cases.catalogue import CASES, chosen
from benchmarks.figures import Figure, Result, Row
from benchmarks.record import Go, Record, UnfitRecord
from tests.benchmarks.samples import small_record


def test_json_has_every_figure_of_every_pair() -> None:
    written = json.loads(json.dumps(record.as_json(small_record())))
    small, grown, alone = written["results"]
    assert [figure["value"] for figure in small["pairs"]["rillway"]] == [110, 120, 130]
    assert small["ratio"] == {"median": 1.2, "low": 1.1, "high": 1.3}
    assert small["limits"] == {"rillway": "", "redis": "load"}
    assert small["ceiling"] == 900_000
    assert small["targets"] == [{"measure": "ratio", "bound": 1.0, "is_met": True}]
    assert grown["growth"]["median"] == 0.5
    assert grown["redis_growth"]["median"] == 0.9
    assert alone["redis"] is None
    assert written["failures"] == {"memory/small": "ServerError: gone"}


def test_what_was_written_is_read_again() -> None:
    before = small_record()
    rows = {result.row.name: result.row for result in before.results.values()}
    written = json.loads(json.dumps(record.as_json(before)))
    assert record.from_json(written, rows) == before


def test_targets_are_those_of_today_and_rows_that_went_are_left_out() -> None:
    written = record.as_json(small_record())
    today = {"xadd/small": Row("xadd/small", unit="elephants")}
    assert [result.row for result in record.from_json(written, today).results.values()] == list(
        today.values()
    )


def test_a_file_is_replaced_in_one_step(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    path.write_text("before")
    record.write(small_record(), path)
    assert json.loads(path.read_text())["servers"] == ["Rillway 1.0", "Redis 7.0.15"]
    assert [child.name for child in tmp_path.iterdir()] == ["figures.json"]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"servers": 1}', '{"machine": {}'])
def test_a_file_that_holds_no_record_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "figures.json"
    path.write_text(content)
    with pytest.raises(UnfitRecord, match=r"figures\.json"):
        record.read(path, CASES)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnfitRecord, match="No such file"):
        record.read(tmp_path / "figures.json", CASES)


@pytest.mark.parametrize(
    "other",
    [
        replace(small_record(), machine={"processor": "6502"}),
        replace(small_record(), servers=("Rillway 1.0", "Redis 8.4.0")),
        replace(small_record(), settings={"pairs": 5}),
    ],
)
def test_figures_of_another_kind_of_run_are_not_mixed_in(other: Record) -> None:
    small_record().check_fits(small_record())
    with pytest.raises(UnfitRecord, match="differ"):
        small_record().check_fits(other)


def test_a_case_is_there_when_all_its_rows_are() -> None:
    (case,) = chosen(["latency/seeds"], is_quick=False)
    made = Record({}, ("a", "b"), {})
    first, second = [Result(row, [Figure(1)]) for row in case.rows]
    made.add([first])
    assert not made.has(case)
    made.add([second])
    assert made.has(case)


def test_rows_are_in_the_order_of_the_cases_whenever_they_were_measured() -> None:
    cases = chosen(["ping/p1-c50", "xadd/small-p1-c50"], is_quick=False)
    made = Record({}, ("a", "b"), {})
    made.add([Result(row, [Figure(1)]) for case in reversed(cases) for row in case.rows])
    made.add([Result(Row("gone/case"), [Figure(1)])])
    made.sort(CASES)
    assert list(made.results) == ["xadd/small-p1-c50", "ping/p1-c50"]


def test_a_go_says_when_and_from_what_it_was_made() -> None:
    go = Go.starting("make bench")
    go.note(90.04)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", go.began)
    assert (go.command, go.seconds) == ("make bench", 90.0)
    assert len(go.load_after.split()) == 3
