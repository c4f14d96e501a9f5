"""How far the rows of streams reach in files."""

from __future__ import annotations

import pyarrow as pa

from rillway.pipeline.archive.files.extents import Extent, extents, runs_of
from rillway.pipeline.archive.files.parquet_files import ArchivedFile
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.wire.ids import parse_id
from tests.rillway.pipeline.archive.scene import written


def test_rows_are_counted_from_the_first_to_the_last(table: ArchiveTable) -> None:
    files: list[ArchivedFile] = []
    for stream, *ids in [("a", "1-5", "2-0"), ("b", "2-1"), ("a", "1-18446744073709551615", "9-0")]:
        files += written(table, [[one.encode(), [b"n", b"1"]] for one in ids], stream)
    assert extents(table.store, files) == {
        ("a", 1): Extent(4, parse_id("1-5"), parse_id("9-0")),
        ("b", 1): Extent(1, parse_id("2-1"), parse_id("2-1")),
    }
    assert extents(table.store, []) == {}


def test_the_runs_of_sorted_rows() -> None:
    batch = pa.RecordBatch.from_pydict({"stream": list("aabbb"), "epoch": [1, 2, 2, 2, 3]})
    assert list(runs_of(batch)) == [("a", 1, 0, 0), ("a", 2, 1, 1), ("b", 2, 2, 3), ("b", 3, 4, 4)]
    assert list(runs_of(batch.slice(0, 0))) == []
