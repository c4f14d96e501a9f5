"""Rows of files as the entries that they were."""

from __future__ import annotations

import pyarrow as pa
import pytest

from rillway.pipeline.archive.archiver import Archiver, ArchiverSettings
from rillway.pipeline.archive.columns.decoding import RowDamaged
from rillway.pipeline.archive.columns.entries import by_stream, entries_of
from rillway.pipeline.archive.columns.requests import from_options, set_columns
from rillway.pipeline.archive.engine import LocalEngine
from rillway.pipeline.archive.files.merge import merged
from rillway.pipeline.archive.files.parquet_files import FILE_SCHEMA
from rillway.pipeline.archive.files.rows import raw_entries
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.wire.connection import Connection


def test_the_rows_of_each_stream_are_cut_out() -> None:
    batch = pa.record_batch({"stream": ["a", "a", "b", "c"], "n": [1, 2, 3, 4]})
    assert [part.column("n").to_pylist() for part in by_stream(batch)] == [[1, 2], [3], [4]]
    assert [part.column("n").to_pylist() for part in by_stream(batch.slice(1, 2))] == [[2], [3]]


def test_rows_have_all_their_fields_again(rillway_link: Connection, table: ArchiveTable) -> None:
    link = rillway_link
    set_columns(table, from_options(["o*=n INT"]))
    streams = ["o1", "o2", "x"]
    for stream in streams:
        link.call("XADD", stream, "1-0", "n", "7", "m", "8")
    Archiver(table, LocalEngine(), ArchiverSettings(link.url, trims=False)).round(streams)
    [batch] = merged(table.store, table.files(), table.file_schema)
    for stream, part in zip(streams, by_stream(batch), strict=True):
        entries = entries_of(table, part)
        assert entries.schema.equals(FILE_SCHEMA)
        assert raw_entries(entries) == link.call("XRANGE", stream, "-", "+")
    damaged = batch.slice(0, 1).set_column(
        batch.schema.get_field_index("n"), "n", pa.nulls(1, pa.int32())
    )
    with pytest.raises(RowDamaged):
        entries_of(table, damaged)
