"""What is shown of results that are given: lines, the JSON, the page, the picture."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import plot
from benchmarks.figures import Figure, Measure, Result, Row, Spread, Target
from benchmarks.report import (
    Report,
    as_json,
    cells,
    console_lines,
    markdown,
    median_lines,
    number_text,
)


def small_report() -> Report:
    report = Report({"processor": "Z80"}, ("Rillway 1.0", "Redis 7.0.15"), {"pairs": 3})
    small = Result(
        Row("xadd/small", targets=(Target(Measure.RATIO, 1.0),)),
        [Figure(value, 0.95, 0.5, 0.0, ceiling=900_000) for value in (110, 120, 130)],
        [Figure(100, 0.5, 0.95, 0.0) for _ in range(3)],
    )
    grown = Result(
        Row("growth/xadd-at-1M", targets=(Target(Measure.GROWTH, 0.9),), base="xadd/small"),
        [Figure(55), Figure(60), Figure(65)],
        [Figure(90), Figure(90), Figure(90)],
    )
    alone = Result(
        Row("pending/claim", unit="ms", lower_is_better=True), [Figure(3.14159, lines=("a line",))]
    )
    report.add([small, grown, alone])
    report.failures["memory/small"] = "ServerError: gone"
    return report


@pytest.mark.parametrize(
    ("value", "text"),
    [(1234567.8, "1,234,568"), (99.96, "100.0"), (12.34, "12.3"), (1.234, "1.23"), (0.0, "0")],
)
def test_numbers_are_short_and_not_scientific(value: float, text: str) -> None:
    assert number_text(value) == text


def test_a_row_shows_rates_ratio_spread_target_and_limit() -> None:
    report = small_report()
    assert cells(report.results["xadd/small"], report.results) == (
        "xadd/small",
        "requests/s",
        "120",
        "100",
        "1.20",
        "1.10 to 1.30",
        ">= 1.00: met",
        "load",
    )


def test_a_case_that_redis_lacks_says_so() -> None:
    report = small_report()
    row = cells(report.results["pending/claim"], report.results)
    assert row[:6] == ("pending/claim", "ms (less is better)", "3.14", "none", "", "")


def test_growth_is_shown_below_its_row() -> None:
    report = small_report()
    lines = list(console_lines(report.results["growth/xadd-at-1M"], report.results))
    assert "MISSED" in lines[0]
    assert lines[1] == "    0.50 of xadd/small (0.50 to 0.50)"


def test_the_lines_of_the_measurement_in_the_middle_are_shown() -> None:
    figures = [Figure(3, lines=("three",)), Figure(1, lines=("one",)), Figure(2, lines=("two",))]
    assert median_lines(figures) == ("two",)


def test_json_has_every_figure_of_every_pair() -> None:
    written = json.loads(json.dumps(as_json(small_report())))
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


def test_the_page_has_a_table_for_each_section_and_tells_what_failed() -> None:
    page = markdown(small_report())
    assert "Rillway 1.0 beside Redis 7.0.15" in page
    sections = [line for line in page.splitlines() if line.startswith("## ")]
    assert sections == ["## xadd", "## growth", "## pending", "## Not measured"]
    assert "| xadd/small | requests/s | 120 | 100 | 1.20 | 1.10 to 1.30 |" in page
    assert "| growth/xadd-at-1M | 0.50 | 0.50 to 0.50 | 0.90 | 0.90 to 0.90 |" in page
    assert "```\na line\n```" in page
    assert "- `memory/small`: ServerError: gone" in page


def test_less_is_ahead_where_less_is_better() -> None:
    less = Result(Row("memory", lower_is_better=True))
    more = Result(Row("rate"))
    assert plot.is_ahead(less, Spread(0.5, 0.5, 0.5))
    assert not plot.is_ahead(more, Spread(0.5, 0.5, 0.5))
    assert plot.label(less) == "memory (less is better)"


def test_the_picture_is_a_png(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "ratios.png"
    assert plot.draw(list(small_report().results.values()), picture, "title")
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_without_ratios_there_is_no_picture(tmp_path: Path) -> None:
    alone = small_report().results["pending/claim"]
    assert not plot.draw([alone], tmp_path / "ratios.png", "title")
    assert not list(tmp_path.iterdir())
