"""What is shown of results that are given."""

from __future__ import annotations

import pytest

from benchmarks.figures import Figure, Measure, Result, Row, Target
from benchmarks.report import as_json, console_lines, number_text, summary

TARGETS = (Target(Measure.RATIO, 1.0), Target(Measure.VALUE, 500.0))
FASTER = Result(
    Row("xadd/small", targets=TARGETS),
    [Figure(value, 0.95, 0.5, 0.0) for value in (110, 120, 130)],
    [Figure(100, 0.5, 0.95, 0.0) for _ in range(3)],
)
ALONE = Result(
    Row("pending/claim", "ms", lower_is_better=True, targets=TARGETS[:1]),
    [Figure(3, lines=("three",)), Figure(1, lines=("one",)), Figure(2, later=0.2, lines=("two",))],
)
RESULTS = {result.row.name: result for result in (FASTER, ALONE)}


@pytest.mark.parametrize(
    ("value", "text"),
    [(1234567.8, "1,234,568"), (99.96, "100.0"), (12.34, "12.3"), (1.234, "1.23"), (0.0, "0")],
)
def test_numbers_are_short_and_not_scientific(value: float, text: str) -> None:
    assert number_text(value) == text


def test_a_row_shows_rates_ratio_spread_targets_and_limit() -> None:
    (line,) = console_lines(FASTER)
    assert line.split() == [
        "xadd/small",
        "120",
        "100",
        "requests/s",
        "ratio",
        "1.20",
        "(1.10",
        "to",
        "1.30)",
        ">=",
        "1.00:",
        "met",
        ">=",
        "500",
        "requests/s:",
        "MISSED",
        "[load]",
    ]


def test_a_case_that_redis_lacks_says_so_and_shows_the_lines_of_the_middle() -> None:
    first, second = console_lines(ALONE)
    assert " ".join(first.split()) == "pending/claim 2 none ms (less is better) <= 1.00 [later]"
    assert second == "    Rillway: two"


def test_the_summary_tells_which_targets_are_missed_and_what_failed() -> None:
    assert summary(RESULTS, {"memory/small": "ServerError: gone"}).splitlines() == [
        "1 targets met, 1 missed",
        "  xadd/small >= 500 requests/s: MISSED",
        "not measured: memory/small: ServerError: gone",
    ]


def test_every_figure_is_written() -> None:
    written = as_json({"processor": "Z80"}, RESULTS, {})
    first, second = written["results"]
    assert (first["case"], first["ratio"]["median"], second["redis"]) == ("xadd/small", 1.2, None)
    assert [figure["value"] for figure in first["pairs"]["rillway"]] == [110, 120, 130]
