"""Compaction and retention, without a server."""

from __future__ import annotations

from datetime import date
from hashlib import sha256
from pathlib import Path

import pytest

from rillway.pipeline.archive.maintenance import compact, expire, mergeable
from rillway.pipeline.archive.parquet_files import write_files
from rillway.pipeline.archive.table import ArchiveError, ArchiveTable
from rillway.pipeline.arrow.decoder import fields_decoder
from rillway.pipeline.client.ids import parse_id
from rillway.pipeline.ranges.offsets import Position
from tests.rillway.pipeline.archive.scene import DAY_MS, STATE, STREAM, archived_ids


def append(table: ArchiveTable, *ids: str) -> None:
    entries = [[entry_id.encode(), [b"n", b"1"]] for entry_id in ids]
    files = write_files(table.root, STREAM, iter([fields_decoder(STREAM)(entries)]), table.period)
    table.append(STREAM, Position(parse_id(ids[-1]), 1), files, STATE, {})


@pytest.fixture
def days(table: ArchiveTable) -> ArchiveTable:
    """Three files of the first day, two of the second, and two of the third, which is not over."""
    for day, count in enumerate((3, 2, 2)):
        for n in range(count):
            append(table, f"{day * DAY_MS + n}-0", f"{day * DAY_MS + n}-1")
    return table


def test_the_files_of_days_that_are_over_become_one(days: ArchiveTable) -> None:
    before = archived_ids(days)
    done = compact(days, [STREAM])
    assert (done.files_before, done.files_after, done.rows) == (5, 2, 10)
    assert [file.rows for file in days.files(STREAM)] == [6, 4, 2, 2]
    assert archived_ids(days) == before
    assert days.end(STREAM) == Position(parse_id(f"{2 * DAY_MS + 1}-1"), 1)
    assert compact(days, [STREAM]).files_before == 0


def test_days_become_months_where_the_archive_is_cut_by_months(table: ArchiveTable) -> None:
    for day in (1, 2, 3, 33, 34, 70, 71, 72):
        append(table, f"{day * DAY_MS}-0")
    before = archived_ids(table)
    table.set_period("month")
    assert ArchiveTable.open(table.root).period == "month"
    done = compact(table, [STREAM])
    # The last day is not over.
    assert (done.files_before, done.files_after) == (7, 3)
    assert [file.rows for file in table.files(STREAM)] == [3, 2, 2, 1]
    assert [file.date.month for file in table.files(STREAM)] == [1, 2, 3, 3]
    assert archived_ids(table) == before
    assert compact(table, [STREAM]).files_before == 0


def test_a_period_that_goes_on_is_not_written_again_for_little(table: ArchiveTable) -> None:
    table.set_period("none")
    large = [[f"{n}-0".encode(), [b"n", sha256(b"%d" % n).digest()]] for n in range(1, 1001)]
    files = write_files(table.root, STREAM, iter([fields_decoder(STREAM)(large)]), "none")
    table.append(STREAM, Position(parse_id("1000-0"), 1000), files, STATE, {})
    for day in (1, 2, 3):
        append(table, f"{day * DAY_MS}-0")
    assert compact(table, [STREAM]).files_before == 0
    for day in range(4, 40):
        append(table, f"{day * DAY_MS}-0")
    assert compact(table, [STREAM]).files_before == 39
    assert [file.rows for file in table.files(STREAM)] == [1038, 1]


def test_months_expire_as_a_whole(table: ArchiveTable) -> None:
    table.set_period("month")
    append(table, f"{DAY_MS}-0", f"{20 * DAY_MS}-0", f"{40 * DAY_MS}-0", f"{50 * DAY_MS}-0")
    expire(table, [STREAM], date(1970, 2, 15))
    assert [file.date.month for file in table.files(STREAM)] == [2]
    expire(table, [STREAM], date(1970, 2, 21))
    assert table.files(STREAM) == []


def test_only_so_much_goes_into_one_file(days: ArchiveTable) -> None:
    size = days.files(STREAM)[0].size_bytes
    merged = mergeable(days, [STREAM], size * 5 // 2)
    assert [len(files) for files in merged] == [2, 2]


def test_replaced_files_stay_until_no_reader_needs_them(days: ArchiveTable) -> None:
    count = len(list(days.root.rglob("*.parquet")))
    compact(days, [STREAM])
    assert len(list(days.root.rglob("*.parquet"))) == count + 2
    compact(days, [STREAM], vacuum_after_hours=0)
    assert len(list(days.root.rglob("part-*.parquet"))) == 4


def test_a_file_that_is_being_written_is_not_vacuumed(days: ArchiveTable, tmp_path: Path) -> None:
    entries = [[f"{9 * DAY_MS}-0".encode(), [b"n", b"1"]]]
    [orphan] = write_files(days.root, STREAM, iter([fields_decoder(STREAM)(entries)]))
    compact(days, [STREAM])
    assert (days.root / orphan.path).is_file()


def test_two_compactions_at_once_double_nothing(days: ArchiveTable) -> None:
    other = ArchiveTable.open(days.root)
    before = archived_ids(days)
    compact(other, [STREAM])
    with pytest.raises(ArchiveError, match="another process"):
        compact(days, [STREAM])
    days.refresh()
    assert archived_ids(days) == before


def test_days_expire_as_a_whole(days: ArchiveTable) -> None:
    done = expire(days, [STREAM], date(1970, 1, 2))
    assert (done.files_before, done.rows) == (3, 6)
    assert [file.date.day for file in days.files(STREAM)] == [2, 2, 3, 3]
    assert days.expired_before_ms(STREAM) == DAY_MS
    assert days.end(STREAM) == Position(parse_id(f"{2 * DAY_MS + 1}-1"), 1)
    assert expire(days, [STREAM], date(1970, 1, 2)).rows == 0
