"""Streams whose IDs are microseconds, nanoseconds, or no times, in one archive."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from rillway.pipeline.archive.command import main
from rillway.pipeline.archive.files.parquet_files import ArchivedFile
from rillway.pipeline.archive.repair.rebuilding import rebuilt
from rillway.pipeline.archive.repair.rows import RowsCheck
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.archive.upkeep.compaction import compact
from rillway.pipeline.archive.upkeep.expiry import expire
from rillway.pipeline.query import command as query
from rillway.pipeline.replay import command as replay
from rillway.pipeline.wire.connection import Connection
from tests.rillway.pipeline.archive.scene import archived_ids, live_ids

START = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
START_MS = 1_700_000_000_000
HOUR_MS, DAY_MS = 3_600_000, 86_400_000
FACTORS = {"ms": 1, "us": 1_000, "ns": 1_000_000}
# A snowflake of one worker, of an epoch in 2010.
SNOWFLAKE = (START_MS - 1_288_834_974_657) << 22 | 5 << 12


@pytest.fixture
def words(link: Connection, tmp_path: Path) -> list[str]:
    """An entry each hour of two days, as four streams have it; the arguments to archive them."""
    for hour in range(48):
        for unit, factor in FACTORS.items():
            link.call("XADD", unit, f"{(START_MS + hour * HOUR_MS) * factor}-0", "n", hour)
        link.call("XADD", "none", f"{SNOWFLAKE + (hour * HOUR_MS << 22)}-0", "n", hour)
    return ["--pattern", "*", "--to", str(tmp_path / "archive"), "--url", link.url]


def table_of(words: list[str]) -> ArchiveTable:
    return ArchiveTable.open(words[words.index("--to") + 1])


def times(table: ArchiveTable, stream: str) -> list[datetime | None]:
    return [
        time for _, batch in table.rows(stream).batches() for time in batch.column("ts").to_pylist()
    ]


def test_times_and_dates_follow_the_unit(
    link: Connection, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = datetime.now(UTC).date()
    assert main([*words, "--keep", "5h"]) == 0
    lines = capsys.readouterr().out.splitlines()
    table = table_of(words)
    hours = [START + timedelta(hours=hour) for hour in range(48)]
    for unit, text in {"ms": "", "us": "microseconds", "ns": "nanoseconds"}.items():
        assert times(table, unit) == hours
        assert len(live_ids(link, unit)) == 6
        (line,) = [one for one in lines if one.startswith(f"{unit}: ")]
        assert ("its IDs are" in line) == bool(text) and text in line
    assert times(table, "none") == [None] * 48
    assert len(live_ids(link, "none")) == 1
    assert {unit: table.unit(unit) for unit in (*FACTORS, "none")} == {
        **{unit: unit for unit in FACTORS},
        "none": "none",
    }
    days = {START.date() + timedelta(days=day) for day in range(3)}
    assert {file.date for file in table.files()} - days <= {before, datetime.now(UTC).date()}
    batches = [batch for _, batch in table.rows("us").batches()]
    assert batches[0].column("ms")[0].as_py() == START_MS * 1_000


def test_compaction_and_expiry_follow_the_unit(
    link: Connection, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 0
    for unit, factor in FACTORS.items():
        link.call("XADD", unit, f"{(START_MS + 48 * HOUR_MS) * factor}-0", "n", 48)
    link.call("XADD", "none", f"{SNOWFLAKE + (48 * HOUR_MS << 22)}-0", "n", 48)
    assert main(words) == 0
    table = table_of(words)
    before = {file.date for file in table.files()}
    compact(table, vacuum_after_hours=None)
    assert {file.date for file in table.files()} == before
    assert len(table.files()) == len(before)
    expire(table, None, START.date() + timedelta(days=1), vacuum_after_hours=None)
    for unit in FACTORS:
        assert times(table, unit)[0] == datetime(2023, 11, 15, 0, 13, 20, tzinfo=UTC)
    assert len(archived_ids(table, "none")) == 49
    tomorrow = datetime.now(UTC).date() + timedelta(days=1)
    expire(table, ["none"], tomorrow, vacuum_after_hours=None)
    assert archived_ids(table, "none") == []
    assert len(archived_ids(table, "ns")) == 47
    check = RowsCheck(table)
    check.run(table.files())
    assert check.findings == []
    assert main(["status", *words[2:], "--json"]) == 0
    lines = capsys.readouterr().out.splitlines()[-4:]
    units = {one["stream"]: one["id_unit"] for one in map(json.loads, lines)}
    assert units == {"ms": "ms", "us": "us", "ns": "ns", "none": "none"}


@pytest.mark.parametrize("unit", FACTORS)
def test_a_range_of_time_is_of_each_unit(
    link: Connection, words: list[str], unit: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "--keep", "5h"]) == 0
    capsys.readouterr()
    asked = ["--stream", unit, "--url", link.url, "--archive", words[3], "--format", "csv"]
    asked += ["--columns", "n"]
    bounds = ["--from", "2023-11-16T00:00Z", "--to", "2023-11-16T22:00Z"]
    assert query.main([*asked, *bounds]) == 0
    assert [line.split(",")[3] for line in capsys.readouterr().out.splitlines()[1:]] == [
        str(hour) for hour in range(26, 48)
    ]
    where = "ts >= '2023-11-15T00:00:00Z' AND ts < '2023-11-15T02:13:20Z'"
    assert query.main([*asked, "--where", where]) == 0
    rows = [line.split(",") for line in capsys.readouterr().out.splitlines()[1:]]
    assert [(row[2], row[3]) for row in rows] == [
        ("2023-11-15 00:13:20.000", "2"),
        ("2023-11-15 01:13:20.000", "3"),
    ]


def test_a_range_of_time_of_ids_that_are_none_is_refused(
    link: Connection, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 0
    capsys.readouterr()
    asked = ["--stream", "none", "--url", link.url, "--archive", words[3], "--format", "csv"]
    assert query.main([*asked, "--from", "-1h"]) == 1
    assert "none: its IDs are no times: a range is given by IDs" in capsys.readouterr().err
    assert query.main([*asked, "--from", str(SNOWFLAKE), "--limit", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith(f"none,{SNOWFLAKE}-0,,")
    replayed = ["--from-archive", words[3], "--url", link.url, "--stream", "none", "--into", "new"]
    assert replay.main([*replayed, "--speed", "10x"]) == 1
    assert "use --rate" in capsys.readouterr().err
    assert replay.main([*replayed, "--from", "2023-11-15"]) == 1
    assert replay.main(replayed) == 0
    assert link.call("XLEN", "new") == 48


def test_a_unit_is_fixed_by_the_first_entries(
    link: Connection, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    link.call("XGROUP", "CREATE", "empty", "g", "0", "MKSTREAM")
    assert main([*words, "--id-unit", "us"]) == 0
    table = table_of(words)
    assert [table.unit(stream) for stream in ("ms", "us", "none")] == ["us"] * 3
    assert "empty" not in table.records
    capsys.readouterr()
    link.call("XADD", "empty", f"{START_MS}-0", "n", 1)
    assert main([*words, "--id-unit", "none"]) == 0
    table.refresh()
    assert (table.unit("ms"), table.unit("empty")) == ("us", "none")
    assert "ms: its IDs are microseconds since it was archived first" in capsys.readouterr().err


def test_units_are_known_from_rows_when_the_state_was_lost(
    link: Connection, words: list[str]
) -> None:
    assert main(words) == 0
    table = table_of(words)
    for state in (table.root / "_rillway").glob("state-*"):
        state.unlink()
    records, _ = rebuilt(ArchiveTable.open(table.root))
    assert {name: record.unit for name, record in records.items()} == {
        "ms": "ms",
        "us": "us",
        "ns": "ns",
        "none": "none",
    }


@pytest.mark.parametrize(
    ("file", "period", "expected"),
    [
        ({"first_time_ms": 0, "last_time_ms": DAY_MS - 1}, "day", True),
        ({"first_time_ms": 0, "last_time_ms": DAY_MS}, "day", False),
        ({}, "day", False),
        ({"undated": 2}, "day", True),
        ({"undated": 2}, "month", False),
        ({"undated": 2}, "none", False),
        ({"undated": 1, "last_time_ms": DAY_MS - 1}, "day", True),
        ({"undated": 1, "last_time_ms": DAY_MS}, "day", False),
        ({"rows": 0}, "day", False),
    ],
)
def test_a_file_is_before_a_time_if_all_its_rows_are(
    file: dict[str, int], period: str, expected: bool
) -> None:
    archived = ArchivedFile("", date(1970, 1, 1), 1, 2, "", "", 0, 1, 1, 1)
    archived = replace(archived, **file)  # type: ignore[arg-type]
    assert archived.is_before(DAY_MS, period) is expected
