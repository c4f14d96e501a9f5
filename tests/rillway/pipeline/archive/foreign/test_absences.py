"""Rows that were deleted or lost are known absences."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable

from rillway.pipeline.archive.files.store import store_of
from rillway.pipeline.archive.foreign import absences
from rillway.pipeline.archive.foreign.absences import lost_with, removed_by
from rillway.pipeline.archive.foreign.commits import OPERATION, commits_since
from rillway.pipeline.archive.identity.epochs import Absence
from rillway.pipeline.archive.identity.walk import walk
from rillway.pipeline.archive.repair.repairs import repair
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.ids import MAX_SEQ, make_id, parse_id
from tests.rillway.pipeline.archive.foreign.scene import IDS, delta, make
from tests.rillway.pipeline.archive.repair.damages import OTHER, log
from tests.rillway.pipeline.archive.scene import DAY_MS, STREAM, archive, archived_ids


def absent(root: Path, stream: str = STREAM) -> tuple[Absence, ...]:
    record = ArchiveTable.open(root).record(stream)
    assert record is not None
    return record.absent


def day(number: int, n: int) -> int:
    return make_id(number * DAY_MS + n)


def test_deleted_rows_are_spans_between_the_rows_that_are_left(root: Path) -> None:
    ids = (2, 3, DAY_MS + 1, DAY_MS + 3)
    DeltaTable(str(root)).delete(f"stream = '{STREAM}' AND ms IN ({', '.join(map(str, ids))})")
    assert repair(store_of(root)).left == []
    assert absent(root) == (
        Absence(1, day(0, 2), day(1, 1), 3),
        Absence(1, day(1, 3), day(1, 3), 1),
    )
    assert absent(root, OTHER) == ()
    assert repair(store_of(root)).done == []


@pytest.mark.parametrize("is_logged", [True, False])
def test_of_deleted_files_is_known_what_the_log_has(root: Path, *, is_logged: bool) -> None:
    table = DeltaTable(str(root))
    table.delete("ms = 2")
    table.vacuum(0, dry_run=False, enforce_retention_duration=False)
    if not is_logged:
        for version in range(1, 5):  # there is a checkpoint of version 4
            log(root, version).unlink()
    done = repair(store_of(root)).done
    assert ("not known: the rows of 2 deleted files" in done) is not is_logged
    span = Absence(1, make_id(1), make_id(3, MAX_SEQ), 1)
    assert absent(root) == absent(root, OTHER) == ((span,) if is_logged else ())


def test_many_spans_become_fewer_and_are_recorded_once(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(absences, "MAX_SPANS", 2)
    deleted = [(day, 2) for day in range(3)]
    ms = ", ".join(str(number * DAY_MS + n) for number, n in deleted)
    DeltaTable(str(root)).delete(f"ms IN ({ms})")
    for _ in range(2):
        assert repair(store_of(root)).left == []
        assert absent(root) == (
            Absence(1, day(0, 2), day(1, 2), 2),
            Absence(1, day(2, 2), day(2, 2), 1),
        )
    table = ArchiveTable.open(root)
    commits = commits_since(table, {OPERATION: "none"}).commits
    assert (
        removed_by(table, [one for one in commits if one.removed])[0][STREAM]
        == table.records[STREAM]
    )
    record = table.records[STREAM]
    assert record.spans(1) == [(day(0, 2), day(1, 2)), (day(2, 2), day(2, 2))]
    assert record.spans(2) == []


def test_a_restore_has_lost_rows(root: Path) -> None:
    DeltaTable(str(root)).restore(4)
    assert repair(store_of(root)).left == []
    assert absent(root) == (Absence(1, day(2, 1), day(2, 3), 3, is_lost=True),)


def test_a_lost_file_of_one_stream_has_its_rows_and_one_of_many_has_none_that_are_known(
    root: Path,
) -> None:
    table = ArchiveTable.open(root)
    [file] = table.files(STREAM, 1, 3)
    span = Absence(1, make_id(1), make_id(3, MAX_SEQ), 3, is_lost=True)
    assert lost_with(table, [file])[STREAM].absent == (span,)
    DeltaTable(str(root)).optimize.compact()
    table.refresh()
    [both] = table.files(STREAM, 1, 3)
    found = lost_with(table, [both])
    assert {one.absent[0].entries for one in found.values()} == {None} and len(found) == 2


def test_a_walk_counts_absent_entries_as_equal(redis_link: Connection, table: ArchiveTable) -> None:
    make(redis_link, table, is_typed=False)
    delta(table.root).delete(f"id = '{IDS[4]}'")
    table.refresh()
    end = parse_id(IDS[-1])
    assert walk(redis_link, table, STREAM, 1, end).lacking == parse_id(IDS[4])
    repair(table.store)
    table.refresh()
    found = walk(redis_link, table, STREAM, 1, end)
    assert (found.lacking, found.agreed and found.agreed.id) == (None, end)


@pytest.mark.parametrize("is_marked", [True, False])
@pytest.mark.parametrize("is_repaired", [True, False])
def test_no_epoch_begins_after_a_deletion(
    redis_link: Connection, table: ArchiveTable, *, is_marked: bool, is_repaired: bool
) -> None:
    make(redis_link, table, is_typed=False)
    delta(table.root).delete(f"id = '{IDS[4]}'")
    if is_repaired:
        repair(table.store)
    table.refresh()
    if not is_marked:
        for group in redis_link.call("XINFO", "GROUPS", STREAM):
            redis_link.call("XGROUP", "DESTROY", STREAM, group[1])
    assert archive(redis_link, table).epoch == 1
    assert archived_ids(table) == [one for one in IDS if one != IDS[4]]
