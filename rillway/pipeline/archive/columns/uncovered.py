"""Fields without a column, of streams that have columns: their names, and in how many rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

import pyarrow as pa
import pyarrow.compute as pc

from rillway.pipeline.archive.columns.entries import by_stream
from rillway.pipeline.archive.columns.schema import FieldMap
from rillway.pipeline.archive.files.parquet_files import STREAM, ArchivedFile
from rillway.pipeline.archive.files.rows import bounded_batches, open_file
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.arrow.schema import FIELDS

# Of `fields`: values are not read.
SHOWN_FIELDS = 20
NAMES = f"{FIELDS}.list.element.name"


def uncovered(
    table: ArchiveTable, streams: Collection[str], files: Iterable[ArchivedFile]
) -> dict[str, Counter[bytes]]:
    """By stream and name, how often a field is there. Raises ArchiveError.

    What has no column stays in `fields`, so that alone is read.
    """
    found: dict[str, Counter[bytes]] = {}
    if not table.columns:
        return found
    wanted = {stream: fields for stream in streams if (fields := table.columns.of(stream))}
    for file in files:
        if not any(file.may_hold(stream, file.first_ms, file.last_ms) for stream in wanted):
            continue
        with open_file(table.store, file) as parquet:
            groups = range(parquet.metadata.num_row_groups)
            for batch in bounded_batches(parquet, groups, columns=[STREAM, NAMES]):
                for part in by_stream(batch):
                    stream = str(part.column(STREAM)[0])
                    if stream in wanted:
                        counted = found.setdefault(stream, Counter())
                        counted.update(_counted(part, wanted[stream]))
    return found


def sentence(counted: Counter[bytes]) -> str:
    """The most frequent ones."""
    shown = counted.most_common(SHOWN_FIELDS)
    names = [f"{name.decode(errors='backslashreplace')} ({rows:,})" for name, rows in shown]
    more = f" and {len(counted) - len(shown):,} more" if len(counted) > len(shown) else ""
    return f"without a column: {', '.join(names)}{more}"


def _counted(batch: pa.RecordBatch, fields: FieldMap) -> dict[bytes, int]:
    counts = pc.value_counts(batch.column(FIELDS).flatten().field(0)).to_pylist()
    return {
        one["values"]: one["counts"] for one in counts if fields.column_of(one["values"]) is None
    }
