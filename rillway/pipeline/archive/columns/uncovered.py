"""Counts fields without a column, in streams that have columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rillway.pipeline.archive.columns.conversion import native
from rillway.pipeline.archive.columns.entries import by_stream
from rillway.pipeline.archive.columns.layouts import LAYOUT, Layout
from rillway.pipeline.archive.columns.schema import FieldMap
from rillway.pipeline.archive.files.parquet_files import FILE_SCHEMA, STREAM, ArchivedFile
from rillway.pipeline.archive.files.rows import bounded_batches, open_file
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.arrow.schema import FIELDS

SHOWN_FIELDS = 20
GROUPED_ROWS = 1_000_000
# The names in `fields`, without the values.
NAMES = f"{FIELDS}.list.element.name"


@dataclass(slots=True)
class Counts:
    """The number of rows by stream, and of rows with each field that has no column."""

    rows: Counter[str] = field(default_factory=Counter)
    uncovered: dict[str, Counter[bytes]] = field(default_factory=dict)

    def add(self, stream: str, fields: FieldMap, names: Mapping[bytes, int]) -> None:
        """Add names and the number of rows that have them."""
        counted = self.uncovered.setdefault(stream, Counter())
        counted.update({n: rows for n, rows in names.items() if fields.column_of(n) is None})


def count(table: ArchiveTable, streams: Collection[str], files: Iterable[ArchivedFile]) -> Counts:
    """Count the rows and uncovered fields of streams. Raises ArchiveError.

    The layout of a row shows which of its fields have no column. Only for rows without a layout,
    such as those archived before the stream had columns, the names are read; values never are.
    """
    counts = Counts()
    fields = {stream: table.columns.of(stream) for stream in streams}
    records = {stream: table.record(stream) for stream in streams}
    for (stream, number), rows in _rows_by_layout(table, streams, files, counts).items():
        counts.rows[stream] += rows
        record, columns = records[stream], fields[stream]
        layout = None if record is None or number is None else record.layouts.get(number)
        if columns is not None and layout is not None:
            counts.add(stream, columns, _without_column(layout, rows))
    return counts


def _rows_by_layout(
    table: ArchiveTable, streams: Collection[str], files: Iterable[ArchivedFile], counts: Counts
) -> Counter[tuple[str, int | None]]:
    """Count rows by stream and number of the layout, None for rows without a layout.

    The names in rows without a layout are added to `counts`.
    """
    found: Counter[tuple[str, int | None]] = Counter()
    held: list[pa.Table] = []
    for file in files:
        if not any(file.may_hold(stream, file.first_ms, file.last_ms) for stream in streams):
            continue
        with open_file(table.store, file) as parquet:
            names = [name for name in (STREAM, LAYOUT) if name in parquet.schema_arrow.names]
            rows = parquet.read(columns=names, use_threads=False)
            held.append(rows if file.is_own else _native(rows))
            if table.columns and (LAYOUT not in names or held[-1].column(LAYOUT).null_count):
                _count_names(table, streams, parquet, counts, NAMES if file.is_own else FIELDS)
        # Grouping the rows of each file separately would take as long as everything else.
        if sum(map(len, held)) > GROUPED_ROWS:
            found.update(_grouped(held))
            held = []
    found.update(_grouped(held))
    return Counter({key: rows for key, rows in found.items() if key[0] in streams})


def _native(rows: pa.Table) -> pa.Table:
    types = [FILE_SCHEMA.field(STREAM), pa.field(LAYOUT, pa.int32())]
    return pa.Table.from_batches([native(batch, types) for batch in rows.to_batches()])


def _grouped(tables: Sequence[pa.Table]) -> dict[tuple[str, int | None], int]:
    if not tables:
        return {}
    rows = pa.concat_tables(tables, promote_options="default")
    counted = rows.group_by(rows.column_names).aggregate([([], "count_all")])
    return {(one[STREAM], one.get(LAYOUT)): one["count_all"] for one in counted.to_pylist()}


def _without_column(layout: Layout, rows: int) -> dict[bytes, int]:
    names = Counter(n for n, c in zip(layout.names, layout.columns, strict=True) if c is None)
    return {name: rows * times for name, times in names.items()}


def _count_names(
    table: ArchiveTable,
    streams: Collection[str],
    parquet: pq.ParquetFile,
    counts: Counts,
    column: str,
) -> None:
    """Count the names in rows without a layout. `column`: the path of the names."""
    names = [name for name in (STREAM, LAYOUT) if name in parquet.schema_arrow.names]
    groups = range(parquet.num_row_groups)
    for batch in bounded_batches(parquet, groups, columns=[*names, column]):
        if LAYOUT in names:
            batch = batch.filter(pc.is_null(batch.column(LAYOUT)))
        for part in by_stream(batch) if len(batch) else ():
            stream = str(part.column(STREAM)[0])
            fields = table.columns.of(stream)
            if stream in streams and fields is not None:
                counted = pc.value_counts(part.column(FIELDS).flatten().field(0)).to_pylist()
                counts.add(stream, fields, {one["values"]: one["counts"] for one in counted})


def sentence(counted: Counter[bytes]) -> str:
    """Return a sentence with the most frequent fields."""
    shown = counted.most_common(SHOWN_FIELDS)
    names = [f"{name.decode(errors='backslashreplace')} ({rows:,})" for name, rows in shown]
    more = f" and {len(counted) - len(shown):,} more" if len(counted) > len(shown) else ""
    return f"without a column: {', '.join(names)}{more}"
