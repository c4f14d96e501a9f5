"""Which commits of a log other programs have made."""

from __future__ import annotations

from pathlib import Path

from deltalake import DeltaTable

from rillway.pipeline.archive.foreign.commits import (
    OPERATION,
    REPAIR,
    Commit,
    commits_since,
    listed,
)
from rillway.pipeline.archive.table import ArchiveTable
from tests.rillway.pipeline.archive.repair.damages import append, log
from tests.rillway.pipeline.archive.scene import DAY_MS, STREAM


def test_they_are_those_without_a_mark_back_to_the_last_own_one_that_is_looked_for(
    root: Path,
) -> None:
    table = ArchiveTable.open(root)
    found = commits_since(table, {OPERATION: REPAIR})
    assert [one.operation for one in found.commits] == ["CREATE TABLE"] and found.is_whole
    DeltaTable(str(root)).delete("ms = 2")
    table.refresh()
    table.append(table.write_state({}), [], {OPERATION: REPAIR})
    DeltaTable(str(root)).optimize.compact()
    table.refresh()
    append(table, STREAM, f"{3 * DAY_MS}-0")
    [compacted] = commits_since(table, {OPERATION: REPAIR}).commits
    assert (compacted.version, compacted.operation) == (table.version - 1, "OPTIMIZE")
    assert compacted.removed == [] and len(list(compacted.added)) == 2
    deleted = commits_since(table, {OPERATION: "none"}).commits[1]
    assert (deleted.operation, len(deleted.removed)) == ("DELETE", 2)


def test_a_log_that_was_cleaned_up_does_not_have_them_all(root: Path) -> None:
    for version in range(3):
        log(root, version).unlink()
    assert not commits_since(ArchiveTable.open(root), {OPERATION: REPAIR}).is_whole


def test_a_sentence_has_the_first_ones() -> None:
    commits = [Commit(version, "DELETE", []) for version in range(1, 8)]
    assert listed(commits[:2]) == "1 (DELETE), 2 (DELETE)"
    assert listed(commits).endswith("5 (DELETE) and 2 more")
