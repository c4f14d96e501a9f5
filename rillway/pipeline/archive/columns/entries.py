"""Converts rows of several streams back to entries."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from rillway.pipeline.archive.columns.batches import aligned
from rillway.pipeline.archive.columns.conversion import native
from rillway.pipeline.archive.columns.decoding import rebuilt
from rillway.pipeline.archive.files.parquet_files import EPOCH, FILE_SCHEMA, STREAM
from rillway.pipeline.archive.files.rows import added_rows
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.arrow.schema import FIELDS


def by_stream(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Divide a batch, which is sorted by stream, into the rows of each stream."""
    ends = pc.run_end_encode(batch.column(STREAM)).run_ends.to_pylist()
    for begin, end in pairwise([0, *ends]):
        yield batch.slice(begin, end - begin)


def entries_of(table: ArchiveTable, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows of one stream with all fields and no typed columns. Raises RowDamaged."""
    record = table.record(str(batch.column(STREAM)[0]))
    layouts = {} if record is None else record.layouts
    batch = native(batch, table.columns.fields)
    fields = rebuilt(batch, layouts, table.columns.by_name)
    place = batch.schema.get_field_index(FIELDS)
    return aligned(batch.set_column(place, FILE_SCHEMA.field(FIELDS), fields), FILE_SCHEMA)


def stray(table: ArchiveTable, part: pa.RecordBatch) -> str:
    """Return what is wrong if rows of one stream do not belong to its archive."""
    record = table.record(str(part.column(STREAM)[0]))
    ends = {} if record is None else record.ends
    for epoch in part.column(EPOCH).unique().to_pylist():
        if epoch not in ends:
            name, entry_id = part.column(STREAM)[0], part.column("id")[0]
            return f"it has {entry_id} of {name}, epoch {epoch}, not archived here: DELETE it there"
        rows = part.filter(pc.equal(part.column(EPOCH), pa.scalar(epoch, pa.int32())))
        if reason := added_rows(rows, ends[epoch]):
            return reason
    return ""
