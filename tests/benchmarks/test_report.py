"""What is shown of results that are given."""

from __future__ import annotations

import pytest

from benchmarks.figures import TARGETS, Figure, Result, Row, Target
from benchmarks.report import as_json, console_lines, number_text, summary

FASTER = Result(
    Row("xadd/small"),
    [Figure(value, 0.95, 0.5, 0.0) for value in (110, 120, 130)],
    [Figure(100, 0.5, 0.95, 0.0) for _ in range(3)],
)
LATER = Result(
    Row("stall/del", "ms", lower_is_better=True),
    [Figure(3, lines=("three",)), Figure(1, lines=("one",)), Figure(2, later=0.2, lines=("two",))],
    [Figure(2)] * 3,
)
RESULTS = {result.row.name: result for result in (FASTER, LATER)}


@pytest.fixture(autouse=True)
def targets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TARGETS, "xadd/small", (Target(1.0), Target(500.0, is_ratio=False)))
    monkeypatch.setitem(TARGETS, "stall/del", (Target(1.0),))


@pytest.mark.parametrize(
    ("value", "text"),
    [(1234567.8, "1,234,568"), (99.96, "100.0"), (12.34, "12.3"), (1.234, "1.23"), (0.0, "0")],
)
def test_numbers_are_short_and_not_scientific(value: float, text: str) -> None:
    assert number_text(value) == text


def test_a_row_shows_rates_ratio_spread_targets_and_limit() -> None:
    (line,) = console_lines(FASTER)
    assert " ".join(line.split()) == (
        "xadd/small 120 100 requests/s ratio 1.20 (1.10 to 1.30) "
        ">= 1.00: met >= 500 requests/s: MISSED [load]"
    )


def test_the_lines_of_the_middle_measurement_are_shown() -> None:
    first, second = console_lines(LATER)
    assert " ".join(first.split()) == (
        "stall/del 2 2 ms (less is better) ratio 1.00 (0.50 to 1.50) <= 1.00: met [later]"
    )
    assert second == "    Rillway: two"


def test_the_summary_tells_which_targets_are_missed_and_what_failed() -> None:
    assert summary(RESULTS, {"memory/small": "ServerError: gone"}).splitlines() == [
        "2 targets met, 1 missed",
        "  xadd/small >= 500 requests/s: MISSED",
        "not measured: memory/small: ServerError: gone",
    ]


def test_every_figure_is_written() -> None:
    written = as_json({"processor": "Z80"}, RESULTS, {})
    first, second = written["results"]
    assert (first["case"], first["ratio"]["median"], second["redis"]) == ("xadd/small", 1.2, 2)
    assert [figure["value"] for figure in first["pairs"]["rillway"]] == [110, 120, 130]


def test_a_row_shows_its_ratio_to_valkey_and_the_lines_of_it() -> None:
    beside = [Figure(240, lines=("busy",))] * 3
    result = Result(FASTER.row, FASTER.ours, FASTER.theirs, valkey=beside)
    line, detail = console_lines(result)
    assert line.endswith("  beside Valkey 0.50")
    assert detail == "    Valkey: busy"
    (written,) = as_json({}, {"xadd/small": result}, {})["results"]
    assert (written["valkey"], written["valkey_ratio"]["median"]) == (240, 0.5)
    assert [figure["value"] for figure in written["pairs"]["valkey"]] == [240] * 3


def test_a_headline_shows_its_ratio_to_the_older_redis() -> None:
    headline = Result(FASTER.row, FASTER.ours, FASTER.theirs, [Figure(60)] * 3)
    (line,) = console_lines(headline)
    assert line.endswith("  beside the older Redis 2.00")
    (written,) = as_json({}, {"xadd/small": headline}, {})["results"]
    assert written["older_ratio"]["median"] == 2.0
