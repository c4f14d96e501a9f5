"""What is shown of results that are given: lines, the page, the picture."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import plot
from benchmarks.figures import Figure, Result, Row
from benchmarks.report import (
    cells,
    console_lines,
    markdown,
    median_lines,
    number_text,
    sections,
)
from tests.benchmarks.samples import small_record


@pytest.mark.parametrize(
    ("value", "text"),
    [(1234567.8, "1,234,568"), (99.96, "100.0"), (12.34, "12.3"), (1.234, "1.23"), (0.0, "0")],
)
def test_numbers_are_short_and_not_scientific(value: float, text: str) -> None:
    assert number_text(value) == text


def test_a_row_shows_rates_ratio_spread_target_and_limit() -> None:
    record = small_record()
    assert cells(record.results["xadd/small"], record.results) == (
        "xadd/small",
        "120",
        "100",
        "1.20",
        "1.10 to 1.30",
        ">= 1.00: met",
        "900,000",
        "load",
    )


def test_a_case_that_redis_lacks_says_so() -> None:
    record = small_record()
    row = cells(record.results["pending/claim"], record.results)
    assert row == ("pending/claim", "3.14", "none", "", "", "", "", "later")


def test_growth_is_shown_below_its_row() -> None:
    record = small_record()
    lines = list(console_lines(record.results["growth/xadd-at-1M"], record.results))
    assert "MISSED" in lines[0]
    assert lines[1] == "    0.50 of xadd/small (0.50 to 0.50)"


def test_the_lines_of_the_measurement_in_the_middle_are_shown() -> None:
    figures = [Figure(3, lines=("three",)), Figure(1, lines=("one",)), Figure(2, lines=("two",))]
    assert median_lines(figures) == ("two",)


def test_the_page_has_a_table_for_each_family_and_tells_what_failed() -> None:
    page = markdown(small_record(), "results.png")
    assert "Rillway 1.0 beside Redis 7.0.15" in page
    families = [line for line in page.splitlines() if line.startswith("## ")]
    assert families == [
        *("## Targets", "## XADD", "## Growth"),
        *("## Pending entries: looked at and claimed", "## Not measured"),
    ]
    assert (
        "| xadd/small | 120 | 100 | 1.20 | 1.10 to 1.30 | >= 1.00: met | 900,000 | load |" in page
    )
    assert "| growth/xadd-at-1M | 0.50 | 0.50 to 0.50 | 0.90 | 0.90 to 0.90 |" in page
    assert "| case | Rillway | Redis | note |\n" in page  # columns without content are left out
    assert "In ms (less is better):" in page
    assert "```\na line\n```" in page
    assert "- `memory/small`: ServerError: gone" in page
    assert "(results.png)" in page


def test_the_page_tells_which_targets_are_met() -> None:
    page = markdown(small_record())
    assert "1 met, 1 missed." in page
    assert "| xadd/small | >= 1.00 | 1.200 | met |" in page
    assert "| growth/xadd-at-1M | >= 0.90 of xadd/small | 0.500 | MISSED |" in page


def test_the_page_tells_when_and_how_each_go_was_made() -> None:
    record = small_record()
    assert "goes" not in markdown(record)
    record.goes.append(replace(record.goes[0], command="make bench ARGS='--resume x.json'"))
    page = markdown(record)
    assert "made in 2 goes" in page
    assert page.count("| 2026-01-01 10:00 UTC | 1.5 | 3 | 0.1 | 0.9 | c0ffee | `make bench") == 2


def test_rows_of_a_family_stand_together_whenever_they_were_measured() -> None:
    record = small_record()
    record.add([Result(Row("xadd/late"), [Figure(1)], [Figure(1)])])
    found = sections(record.results)
    assert [result.row.name for result in found["xadd"]] == ["xadd/small", "xadd/late"]


def test_panels_stay_in_order_in_columns_of_like_heights() -> None:
    heights = {"a": 4.5, "b": 1.0, "c": 4.0, "d": 2.0, "e": 1.0, "f": 3.0}
    columns = plot.in_columns(heights)
    assert [list(column) for column in columns] == [["a", "b"], ["c", "d"], ["e", "f"]]
    assert plot.in_columns({"a": 1.0}) == [{"a": 1.0}]


def test_the_picture_is_a_png(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "ratios.png"
    assert plot.draw(small_record().results, picture, "title")
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_without_ratios_there_is_no_picture(tmp_path: Path) -> None:
    alone = small_record().results["pending/claim"]
    assert not plot.draw({"pending/claim": alone}, tmp_path / "ratios.png", "title")
    assert not list(tmp_path.iterdir())
