"""An archive without a server, and its mirror in a catalogue of SQLite."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyiceberg.table import Table

from rillway.pipeline.archive.arguments import DEFAULT_ICEBERG_TABLE
from rillway.pipeline.archive.iceberg.catalogue import open_catalogue
from rillway.pipeline.archive.iceberg.mirror import Mirror
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.ranges.offsets import Position
from rillway.pipeline.wire.ids import parse_id
from tests.rillway.pipeline.archive.scene import STREAM, commit, written


@pytest.fixture
def uri(tmp_path: Path) -> str:
    # On a machine that is busy, one may hold it for more than the usual five seconds.
    return f"sqlite:///{tmp_path}/catalogue.db?timeout=60"


@pytest.fixture
def mirror(table: ArchiveTable, uri: str) -> Mirror:
    return Mirror(table.store, uri, DEFAULT_ICEBERG_TABLE)


class Mirrored:
    """What a reader finds in a catalogue."""

    def __init__(self, archive: ArchiveTable, uri: str) -> None:
        self._archive, self._uri = archive, uri

    @property
    def table(self) -> Table:
        catalogue = open_catalogue(self._uri, self._archive.store)
        return catalogue.load_table(DEFAULT_ICEBERG_TABLE)

    def ids(self, stream: str = STREAM) -> list[str]:
        found = self.table.scan(row_filter=f"stream = '{stream}'").to_arrow()
        rows = found.sort_by([("ms", "ascending"), ("seq", "ascending")])
        ids: list[str] = rows.column("id").to_pylist()
        return ids

    @property
    def summaries(self) -> list[dict[str, Any]]:
        """Of all snapshots, the first one first."""
        snapshots = [snapshot.summary for snapshot in self.table.snapshots()]
        return [
            {"operation": summary.operation.value, **summary.additional_properties}
            for summary in snapshots
            if summary is not None
        ]


@pytest.fixture
def mirrored(table: ArchiveTable, uri: str) -> Mirrored:
    return Mirrored(table, uri)


def append(table: ArchiveTable, *ids: str, stream: str = STREAM) -> None:
    """A commit with a file of entries."""
    entries = [[entry_id.encode(), [b"n", b"1"]] for entry_id in ids]
    commit(table, Position(parse_id(ids[-1]), 1), written(table, entries, stream), stream=stream)
