"""What a mirror lacks, by the log and by all files."""

from __future__ import annotations

from datetime import date

import pytest

from rillway.pipeline.archive.iceberg.changes import (
    Change,
    NamedFile,
    compared_change,
    logged_change,
)
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.archive.upkeep.compaction import compact
from rillway.pipeline.archive.upkeep.expiry import expire
from rillway.pipeline.ranges.offsets import Position
from rillway.pipeline.wire.ids import parse_id
from tests.rillway.pipeline.archive.iceberg.conftest import append
from tests.rillway.pipeline.archive.scene import DAY_MS, commit


def named(table: ArchiveTable) -> dict[str, NamedFile]:
    return {f.path: NamedFile(f.path, f.first_ms, f.last_ms) for f in table.files()}


def applied(before: dict[str, NamedFile], change: Change | None) -> dict[str, NamedFile]:
    assert change is not None
    kept = {path: file for path, file in before.items() if path not in change.removed}
    assert len(kept) == len(before) - len(change.removed)
    return kept | {file.path: file for file in change.added}


def test_the_log_has_what_came_and_went(table: ArchiveTable) -> None:
    versions = {table.version: named(table)}
    for stream in ("a/b c%", "b", "c"):
        append(table, "1-0", "2-0", stream=stream)
        versions[table.version] = named(table)
    compact(table)
    versions[table.version] = named(table)
    append(table, f"{DAY_MS}-0")
    versions[table.version] = named(table)
    expire(table, None, date(1970, 1, 2))
    versions[table.version] = named(table)
    for version, before in versions.items():
        assert applied(before, logged_change(table, version)) == named(table)
        assert applied(before, compared_change(table, before)) == named(table)
    assert not logged_change(table, table.version)


def test_a_file_that_came_and_went_is_no_change(table: ArchiveTable) -> None:
    for n in (1, 2):
        append(table, f"{n}-0")
    compact(table)
    change = logged_change(table, 0)
    assert change is not None
    assert [file.path for file in change.added] == list(named(table)) and not change.removed


def test_a_commit_without_files_is_no_change(table: ArchiveTable) -> None:
    append(table, "1-0")
    version = table.version
    commit(table, Position(parse_id("9-0"), 4))
    assert table.version > version and not logged_change(table, version)


def test_a_log_that_was_cleaned_up_has_no_change(table: ArchiveTable) -> None:
    for n in (1, 2, 3):
        append(table, f"{n}-0")
    (table.root / "_delta_log" / f"{2:020d}.json").unlink()
    assert logged_change(table, 1) is None
    assert logged_change(table, 2) is not None


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (0, DAY_MS - 1, True),
        (DAY_MS - 1, DAY_MS, False),
        (253_402_214_399_999, 253_402_214_399_999, True),
        # From the last date on, one folder has all that comes.
        (253_402_214_400_000, 253_402_214_400_000, False),
        (1 << 62, 1 << 62, False),
    ],
)
def test_a_file_of_one_day_has_a_date(first: int, last: int, expected: bool) -> None:
    assert NamedFile("", first, last).is_of_one_day is expected
