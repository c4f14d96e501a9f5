"""Latencies in words."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from rillway.pipeline.latency.distribution import Distribution, LatencyCounts
from rillway.pipeline.latency.journal import count
from rillway.pipeline.latency.report import (
    MAX_CONSUMERS,
    curves,
    draw,
    histogram_lines,
    lines,
    short_lines,
    write_csv,
)
from tests.rillway.pipeline.latency.journals import NOW_MS, acknowledgement, as_batch, mixed


def tally() -> LatencyCounts:
    """100 entries of two consumers, which took 1 to 100 ms; and one that was given back."""
    entries = [
        acknowledgement(consumer=f"c{ms % 2}", delivered=NOW_MS + 10, acked=NOW_MS + 10 + ms)
        for ms in range(1, 101)
    ]
    entries.append(acknowledgement(consumer="", delivered=0, acked=NOW_MS + 5000))
    return count(as_batch(entries), "s")


def test_the_histogram_has_the_form_of_the_tutorial() -> None:
    distribution = Distribution()
    for ms, number in {0: 7411, 1: 2580, 2: 6, 3: 1, 4: 2}.items():
        distribution.add(ms, number)
    assert list(histogram_lines(distribution)) == [
        "Processed between 0 and 1 ms -> 74.11%",
        "Processed between 1 and 2 ms -> 25.80%",
        "Processed between 2 and 3 ms -> 0.06%",
        "Processed between 3 and 4 ms -> 0.01%",
        "Processed between 4 and 5 ms -> 0.02%",
    ]
    distribution.add(90_000, 10_000)
    assert list(histogram_lines(distribution))[-1] == "Processed in 60000 ms or more -> 50.00%"


def test_the_report_has_a_table_for_each_measure_and_a_histogram_for_each_group() -> None:
    text = "\n".join(lines(tally(), "s"))
    pending, total, histogram = text.split("\n\n")[:3]
    assert pending.startswith(
        "Pending time, from the last delivery to the acknowledgement, with the wait in its batch, "
    )
    assert "with COUNT 1 they are those of the handler alone" in pending.splitlines()[-1]
    rows = [line.split() for line in pending.splitlines()[3:-2]]
    assert rows == [
        ["g", "(all)", "101", "50", "90", "99", "100", "100"],
        ["g", "(none)", "1", "-", "-", "-", "-", "-"],
        ["g", "c0", "50", "50", "90", "100", "100", "100"],
        ["g", "c1", "50", "49", "89", "99", "99", "99"],
    ]
    assert total.splitlines()[3].split() == [
        "g",
        "(all)",
        "101",
        "61",
        "101",
        "110",
        "5,000",
        "5,000",
    ]
    assert histogram.splitlines()[0] == "s/g, total time"
    assert "Processed between 10 and 20 ms -> 8.91%" in histogram


def test_what_is_no_journal_is_mentioned() -> None:
    found = count(as_batch([[b"f", b"v"], acknowledgement()]), "s")
    last = list(lines(found, "s"))[-1]
    assert last == "left out: 1 entry in another format than a journal's"
    assert list(lines(LatencyCounts(), "s")) == ["s: no acknowledgements"]


def test_what_has_come_in_is_a_line_for_each_group() -> None:
    assert list(short_lines(tally(), "s")) == [
        "s/g: 101 acknowledged, pending p50 50 p99 99 max 100 ms, total p50 61 p99 110 max 5,000 ms"
    ]
    assert list(short_lines(LatencyCounts(), "s")) == []


def test_the_table_is_a_csv_file_too() -> None:
    file = io.StringIO()
    write_csv(tally(), file)
    rows = list(csv.DictReader(io.StringIO(file.getvalue())))
    assert [row["consumer"] for row in rows] == ["(all)", "(none)", "c0", "c1"]
    assert rows[0]["pending_p99.9_ms"] == "100" and rows[0]["total_max_ms"] == "5000"
    assert rows[1]["pending_p50_ms"] == "" and rows[1]["count"] == "1"


PNG = b"\x89PNG\r\n\x1a\n"


def test_groups_and_consumers_are_drawn(tmp_path: Path) -> None:
    path = tmp_path / "latency.png"
    draw(count(as_batch(mixed()), "s"), path, "s")
    assert path.read_bytes().startswith(PNG)


def test_a_picture_of_nothing_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "latency.png"
    draw(LatencyCounts(), path, "s")
    assert path.read_bytes().startswith(PNG)


def test_consumers_have_curves_if_they_are_a_few() -> None:
    def labels(consumers: int) -> list[str]:
        entries = [acknowledgement(consumer=f"c{number}") for number in range(consumers)]
        return [label for label, _, _ in curves(count(as_batch(entries), "s"))]

    assert labels(1) == ["g"]
    assert labels(2) == ["g", "g/c0", "g/c1"]
    assert labels(MAX_CONSUMERS + 1) == ["g"]
