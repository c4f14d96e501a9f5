"""A mirror does not grow with the number of its commits."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rillway.pipeline.archive.iceberg import tidying
from rillway.pipeline.archive.iceberg.mirror import Mirror
from rillway.pipeline.archive.table import ArchiveTable
from tests.rillway.pipeline.archive.iceberg.conftest import Mirrored, append


def names(table: ArchiveTable) -> set[str]:
    return {path.name for path in (table.root / "_iceberg/metadata").iterdir()}


def test_snapshots_and_files_that_nothing_needs_are_removed(
    table: ArchiveTable, mirror: Mirror, mirrored: Mirrored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tidying, "KEPT_SNAPSHOTS", 2)
    monkeypatch.setattr(tidying, "MAX_SNAPSHOTS", 4)
    for n in range(1, 5):
        append(table, f"{n}-0")
        mirror.follow()
    assert len(mirrored.summaries) == 4
    old = names(table)
    # A day later.
    for path in (table.root / "_iceberg/metadata").iterdir():
        os.utime(path, (0, 0))
    (table.root / "_iceberg/metadata/young.avro").touch()
    append(table, "5-0")
    mirror.follow()
    assert [summary["rillway.delta-version"] for summary in mirrored.summaries] == ["4", "5"]
    assert mirrored.ids() == [f"{n}-0" for n in range(1, 6)]
    assert {name.partition("-")[0] for name in old - names(table)} == {"snap"}
    assert (table.root / "_iceberg/metadata/young.avro").exists()
    earlier = mirrored.table.snapshots()[0]
    assert mirrored.table.scan(snapshot_id=earlier.snapshot_id).to_arrow().num_rows == 4
    assert Path(mirrored.table.metadata_location).exists()
