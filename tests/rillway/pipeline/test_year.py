"""examples/year: a few made-up days through the archive, checked and drawn."""

from __future__ import annotations

from pathlib import Path

from examples.year.plots import draw
from examples.year.proof import archive_checks, replay_checks
from examples.year.year import Year, day_of
from rillway.demo.departures.data_set import Departure
from rillway.pipeline.archive.engine import LocalEngine
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.wire.connection import Connection

DAY_MS = 86_400_000
DAYS = 7
EACH_DAY = 300
# What a replay of a day takes at the demo's pace follows from these.
FIRST_MS = 1_357_035_300_000 // DAY_MS * DAY_MS
STEP_MS = 60_000


def departures() -> list[Departure]:
    return [
        Departure(
            FIRST_MS + day * DAY_MS + number * STEP_MS,
            "UA" if number % 3 else "B6", str(number), "N1", "EWR", "IAH", "NA",
        )
        for day in range(DAYS)
        for number in range(EACH_DAY)
    ]  # fmt: skip


def test_a_few_days_are_archived_while_a_group_lags(link: Connection, tmp_path: Path) -> None:
    flights = departures()
    table = ArchiveTable.open_or_create(tmp_path / "archive")
    year = Year(link.url, table, LocalEngine())
    counted: list[int] = []
    samples = list(year.run(flights, counted.append))
    assert sum(counted) == len(flights)
    assert samples[-1].archived == len(flights)
    # What the slow group was not given, or has left alone, is still in memory.
    assert samples[-1].held_up_by == "billing"
    assert samples[-1].in_memory >= samples[-1].lags["billing"] == 3 * EACH_DAY
    year.catch_up()
    samples.append(year.night(day_of(flights[-1]) + 1, keep_ms=0))
    year.close()
    checks = [
        *archive_checks(link.url, tmp_path / "archive", flights),
        *replay_checks(link.url, tmp_path / "archive", flights),
    ]
    assert [check.claim for check in checks if not check.passed] == []
    assert [path.stat().st_size > 1000 for path in draw(samples, tmp_path)] == [True] * 3
