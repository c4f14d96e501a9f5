"""Compaction, without a server."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import pyarrow as pa
import pytest

from rillway.pipeline.archive.files.merge import merged
from rillway.pipeline.archive.limits import TARGET_BYTES, VACUUM_AFTER_HOURS
from rillway.pipeline.archive.table import ArchiveError, ArchiveTable, CommitConflict
from rillway.pipeline.archive.upkeep import compaction
from rillway.pipeline.archive.upkeep.compaction import compact, compact_due, mergeable
from rillway.pipeline.ranges.offsets import Position
from rillway.pipeline.wire.ids import parse_id
from tests.rillway.pipeline.archive.scene import DAY_MS, STREAM, archived_ids, commit, written


def append(table: ArchiveTable, *ids: str, stream: str = STREAM) -> None:
    entries = [[entry_id.encode(), [b"n", b"1"]] for entry_id in ids]
    files = written(table, entries, stream)
    commit(table, Position(parse_id(ids[-1]), 1), files, stream=stream)


@pytest.fixture
def days(table: ArchiveTable) -> ArchiveTable:
    """Three files of the first day, two of the second, and one of the third."""
    for day, count in enumerate((3, 2, 1)):
        for n in range(count):
            append(table, f"{day * DAY_MS + n}-0", f"{day * DAY_MS + n}-1")
    return table


def test_the_files_of_each_day_become_one(days: ArchiveTable) -> None:
    before = archived_ids(days)
    done = compact(days)
    assert (done.files_before, done.files_after, done.rows) == (5, 2, 10)
    assert [file.rows for file in days.files()] == [6, 4, 2]
    assert archived_ids(days) == before
    assert days.end(STREAM) == Position(parse_id(f"{2 * DAY_MS}-1"), 1)
    assert compact(days).files_before == 0


@pytest.mark.parametrize("change", ["another stream", "another last one", "one less"])
def test_files_with_other_rows_are_not_committed(
    table: ArchiveTable, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    append(table, "1-0", "1-1", stream="a")
    append(table, "1-0", "1-1", stream="b")
    append(table, "2-0", stream="a")
    before = table.files()

    def changed(*words: Any) -> Iterator[pa.RecordBatch]:
        rows = pa.Table.from_batches(merged(*words)).to_pylist()
        if change == "another stream":
            rows[2]["stream"] = "b"
        elif change == "another last one":
            rows[2]["ms"] = 3
        else:
            del rows[1]
        yield pa.RecordBatch.from_pylist(rows, table.file_schema)

    monkeypatch.setattr(compaction, "merged", changed)
    with pytest.raises(ArchiveError, match="lacks rows of its sources"):
        compact(table)
    assert table.files() == before
    assert len(list(table.root.glob("date=*/*.parquet"))) == len(before)


def test_streams_are_merged_into_one_run(table: ArchiveTable) -> None:
    names = [f"s{n}" for n in range(5)]
    for n in range(4):
        for name in names:
            append(table, f"{n + 1}-0", stream=name)
    before = {name: archived_ids(table, name) for name in names}
    assert compact(table).files_after == 1
    assert {name: archived_ids(table, name) for name in names} == before


def test_days_become_months_where_the_archive_is_cut_by_months(table: ArchiveTable) -> None:
    for day in (1, 2, 3, 33, 34, 70, 71, 72):
        append(table, f"{day * DAY_MS}-0")
    before = archived_ids(table)
    table.set_period("month")
    assert ArchiveTable.open(table.root).period == "month"
    done = compact(table)
    assert (done.files_before, done.files_after) == (8, 3)
    assert [(file.date.month, file.rows) for file in table.files()] == [(1, 3), (2, 2), (3, 3)]
    assert archived_ids(table) == before
    assert compact(table).files_before == 0


def test_a_large_file_is_not_written_again_for_little(table: ArchiveTable) -> None:
    table.set_period("none")
    large = [[f"{n}-0".encode(), [b"n", sha256(b"%d" % n).digest()]] for n in range(1, 1001)]
    commit(table, Position(parse_id("1000-0"), 1000), written(table, large))
    for day in (1, 2, 3):
        append(table, f"{day * DAY_MS}-0")
    assert compact(table).files_before == 3
    for day in range(4, 60):
        append(table, f"{day * DAY_MS}-0")
    assert compact(table).files_before == 58
    assert [file.rows for file in table.files()] == [1059]


def test_a_large_file_between_small_ones_stays_where_it_was(table: ArchiveTable) -> None:
    append(table, "1-0", "2-0")
    large = [[f"{n}-0".encode(), [b"n", sha256(b"%d" % n).digest()]] for n in range(3, 1001)]
    commit(table, Position(parse_id("1000-0"), 1000), written(table, large))
    append(table, "1001-0")
    assert compact(table).files_before == 2
    assert archived_ids(table) == [f"{n}-0" for n in range(1, 1002)]


def test_more_files_than_may_be_open_are_merged(
    table: ArchiveTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "MAX_FILES", 5)
    for n in range(1, 19):
        append(table, f"{n}-0")
    compact(table)
    assert len(table.files()) == 1
    assert archived_ids(table) == [f"{n}-0" for n in range(1, 19)]


def test_a_round_merges_what_has_become_too_much(
    table: ArchiveTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "DUE_FILES", 4)
    for n in range(4):
        append(table, f"{n + 1}-0")
    append(table, f"{DAY_MS}-0")
    assert compact_due(table, seconds=1).files_before == 0
    append(table, "9-0")
    assert compact_due(table, seconds=0).files_before == 0
    assert compact_due(table, seconds=1).files_before == 5
    assert len(table.files()) == 2


def test_only_so_much_goes_into_one_file(days: ArchiveTable) -> None:
    size = days.files()[0].size_bytes
    assert mergeable(days, size) == []
    assert [len(files) for files in mergeable(days, size * 2)] == [3, 2]


def test_replaced_files_stay_until_no_reader_needs_them(days: ArchiveTable) -> None:
    count = len(list(days.root.rglob("part-*.parquet")))
    compact(days)
    assert len(list(days.root.rglob("part-*.parquet"))) == count + 2
    assert compact(days, vacuum_after_hours=0).vacuumed == 5
    assert len(list(days.root.rglob("part-*.parquet"))) == 3


@pytest.mark.parametrize("hours", [0, VACUUM_AFTER_HOURS])
def test_a_file_that_is_being_written_is_not_vacuumed(days: ArchiveTable, hours: int) -> None:
    [orphan] = written(days, [[f"{9 * DAY_MS}-0".encode(), [b"n", b"1"]]])
    compact(days, vacuum_after_hours=hours)
    assert (days.root / orphan.path).is_file()


def test_a_commit_may_find_itself(days: ArchiveTable, monkeypatch: pytest.MonkeyPatch) -> None:
    """An object store has refused what its client has put already, as the answer was lost."""
    expected, replace = archived_ids(days), days.replace

    def refused(*files: Any) -> None:
        replace(*files)
        raise CommitConflict("is there already")

    monkeypatch.setattr(days, "replace", refused)
    done = compact(days, vacuum_after_hours=None)
    assert done.files_after and not mergeable(days, TARGET_BYTES)
    assert archived_ids(days) == expected


def test_two_compactions_at_once_double_nothing(days: ArchiveTable) -> None:
    other = ArchiveTable.open(days.root)
    before = archived_ids(days)
    compact(other)
    with pytest.raises(ArchiveError, match="another process"):
        compact(days)
    days.refresh()
    assert archived_ids(days) == before
