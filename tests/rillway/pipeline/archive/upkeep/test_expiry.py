"""Expiry, without a server."""

from __future__ import annotations

from datetime import date

import polars as pl
import pytest

from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.archive.upkeep.compaction import compact
from rillway.pipeline.archive.upkeep.expiry import expire
from rillway.pipeline.ranges.offsets import Position
from rillway.pipeline.wire.ids import parse_id
from tests.rillway.pipeline.archive.scene import DAY_MS, STREAM, archived_ids
from tests.rillway.pipeline.archive.upkeep.test_compaction import append

SECOND_DAY = date(1970, 1, 2)


@pytest.fixture
def days(table: ArchiveTable) -> ArchiveTable:
    """Two streams with an entry on each of three days, in a file for each day."""
    for day in range(3):
        for name in (STREAM, "other"):
            append(table, f"{day * DAY_MS + 1}-0", stream=name)
    compact(table)
    assert len(table.files()) == 3
    return table


def test_days_expire_as_a_whole(days: ArchiveTable) -> None:
    done = expire(days, None, SECOND_DAY)
    assert (done.files_before, done.files_after, done.rows) == (1, 0, 2)
    assert [file.date.day for file in days.files()] == [2, 3]
    for name in (STREAM, "other"):
        assert days.expired_before_ms(name) == DAY_MS
        assert days.expired_ms(name, 1) == 1
        assert days.end(name) == Position(parse_id(f"{2 * DAY_MS + 1}-0"), 1)
    assert expire(days, None, SECOND_DAY).rows == 0


def test_one_of_the_streams_in_a_file_expires(days: ArchiveTable) -> None:
    done = expire(days, [STREAM], date(1970, 1, 3))
    assert (done.files_before, done.files_after, done.rows) == (2, 2, 2)
    assert archived_ids(days) == [f"{2 * DAY_MS + 1}-0"]
    assert len(archived_ids(days, "other")) == 3
    assert days.expired_before_ms(STREAM) == 2 * DAY_MS
    assert days.expired_before_ms("other") is None
    again = ArchiveTable.open(days.root)
    assert again.expired_ms(STREAM, 1) == DAY_MS + 1


def test_rows_that_another_program_repeats_are_there_once(days: ArchiveTable) -> None:
    pl.read_delta(str(days.root)).write_delta(str(days.root), mode="append")
    days.refresh()
    expire(days, [STREAM], date(1970, 1, 3))
    assert len(archived_ids(days, "other")) == 3
    assert all(file.is_own for file in days.files())


def test_months_expire_as_a_whole(table: ArchiveTable) -> None:
    table.set_period("month")
    append(table, f"{DAY_MS}-0", f"{20 * DAY_MS}-0", f"{40 * DAY_MS}-0", f"{50 * DAY_MS}-0")
    expire(table, None, date(1970, 2, 15))
    assert [file.date.month for file in table.files()] == [2]
    expire(table, None, date(1970, 2, 21))
    assert table.files() == []
