"""The check of state and files, by sizes and footers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rillway.pipeline.archive.repair import findings
from rillway.pipeline.archive.repair.findings import check_state, check_table, file_damage
from rillway.pipeline.archive.table import ArchiveTable
from tests.rillway.pipeline.archive.repair.damages import (
    Harm,
    cut,
    first_file,
    flip,
    make_archive,
    state_file,
)
from tests.rillway.pipeline.archive.scene import STREAM


def test_nothing_is_wrong_with_a_whole_archive(root: Path) -> None:
    table = ArchiveTable.open(root)
    assert check_table(table) == ([], table.files())


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (lambda path: path.unlink(), "is missing"),
        (cut, "the log says"),
        (lambda path: flip(path, -30), "cannot be used"),
        (lambda path: flip(path, -6), "it is cut off or overwritten"),
    ],
)
def test_a_file_is_compared_with_the_log(root: Path, harm: Harm, reason: str) -> None:
    path = first_file(root)
    harm(path)
    table = ArchiveTable.open(root)
    [finding], sound = check_table(table)
    assert finding.kind == findings.FILE and len(sound) == 5
    assert str(finding).startswith(f"date=1970-01-01/{path.name}: ") and reason in finding.text
    assert finding.text.endswith(": 3 rows of orders, IDs from 1-* to 3-*")


def test_another_file_of_the_same_size_is_not_the_one(root: Path) -> None:
    table = ArchiveTable.open(root)
    one, *_, other = table.files(STREAM)
    (root / one.path).write_bytes((root / other.path).read_bytes())
    reason = file_damage(table.store, replace(one, size_bytes=other.size_bytes))
    assert reason == "has ms from 172800001 to 172800003, but the log says 1 to 3"


def test_a_missing_damaged_or_foreign_state_is_found(root: Path) -> None:
    table = ArchiveTable.open(root)
    newest = state_file(root)
    later = root / "_rillway" / f"state-{table.write_state({}):016x}.parquet"
    content = newest.read_bytes()
    newest.unlink()
    [gone] = check_state(ArchiveTable.open(root))
    assert gone.text == "is missing, but the log names it"
    newest.write_bytes(content[:100])
    [torn] = check_state(ArchiveTable.open(root))
    assert torn.text == "cannot be read, but the log names it"
    newest.write_bytes(later.read_bytes())
    [strange] = check_state(ArchiveTable.open(root))
    assert strange.text == "was written for version 7, but the log ends at 6"
    other = make_archive(root.parent / "other")
    newest.write_bytes(state_file(other.root).read_bytes())
    [foreign] = check_state(ArchiveTable.open(root))
    assert foreign.text.startswith("was written for another table")
