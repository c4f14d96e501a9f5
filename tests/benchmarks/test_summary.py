"""The figures in the documentation: what they say, and that they are those of RESULTS.md."""

from __future__ import annotations

import pytest

from benchmarks import record, report, run, summary
from benchmarks.cases.catalogue import CASES
from benchmarks.figures import Figure, Measure, Result, Row, Target
from tests.benchmarks.samples import small_record

FIGURES = run.FOLDER / "figures.json"


def sample() -> record.Record:
    made = small_record()
    made.machine["cores"] = "2"
    made.add(
        [
            Result(
                Row("xadd/small-p1-c50", targets=(Target(Measure.RATIO, 0.9),)),
                [Figure(90.0)],
                [Figure(100.0)],
            ),
            Result(Row("xrange/count-1000"), [Figure(500.0)], [Figure(100.0)]),
            Result(
                Row(
                    *("memory/small-entry", "bytes"),
                    lower_is_better=True,
                    targets=(Target(Measure.VALUE, 45.0),),
                ),
                [Figure(102.0)],
                [Figure(100.0)],
            ),
        ]
    )
    return made


def test_the_better_figure_is_bold_unless_both_are_close() -> None:
    shown = summary.figures(sample())
    assert (
        "| XADD, 50 clients; requests/s | 90.0 | **100** | 0.90 | >= 0.90 | 0.900, met |" in shown
    )
    assert "| XRANGE COUNT 1000; requests/s | **500** | 100 | 5.00 |  |  |" in shown
    memory = "memory for a small entry; bytes (less is better)"
    assert f"| {memory} | 102 | 100 | 1.02 | <= 45.0 bytes | 102 bytes, MISSED |" in shown


def test_nothing_is_said_of_a_target_if_there_is_nothing_to_compare_with() -> None:
    made = sample()
    alone = Row("set/p64-c50", targets=(Target(Measure.RATIO, 0.7),))
    made.add([Result(alone, [Figure(5.0)])])
    assert "pipelines of 64; requests/s | 5 | none |  | >= 0.70 |  |\n" in summary.figures(made)


def test_families_tell_in_how_many_cases_who_is_ahead() -> None:
    shown = summary.figures(sample())
    assert "| XADD | 2 | 1 | 1 | 0.90 | 1.05 | 1.20 |" in shown
    assert "| Memory | 1 | 0 | 0 | 0.98 | 0.98 | 0.98 |" in shown


def test_figures_take_the_place_of_those_before() -> None:
    page = f"text\n\n{summary.BEGIN}\n\nformer\n\n{summary.END}\n\nmore\n"
    once = summary.with_figures(page, sample())
    assert once.startswith("text\n\n")
    assert once.endswith("\n\nmore\n")
    assert "former" not in once
    assert summary.with_figures(once, sample()) == once


def test_a_page_without_the_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="up to here"):
        summary.with_figures(f"text {summary.BEGIN}", sample())


def test_the_documentation_has_the_marks_and_every_headline_is_a_case() -> None:
    assert summary.with_figures(summary.PAGE.read_text(), sample())
    rows = {row.name for case in CASES for row in case.rows}
    assert set(summary.HEADLINES) <= rows


@pytest.mark.skipif(not FIGURES.exists(), reason="no full run was kept")
def test_both_pages_are_what_the_figures_say() -> None:
    """After a change of them: make bench ARGS="--report benchmarks/figures.json"."""
    made = record.read(FIGURES, CASES)
    assert (run.FOLDER / "RESULTS.md").read_text() == report.markdown(made, "results.png")
    page = summary.PAGE.read_text()
    assert summary.with_figures(page, made) == page
