"""Backfill: gives older rows the columns of the present schema.

A file is rewritten if it has rows of a stream with columns whose layout would be different now. The
entries do not change, so readers see the same before and after. Each file is a commit of its own,
with new layouts: a backfill can be stopped and continued, and archivers may run meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import pyarrow as pa

from rillway.pipeline.archive.columns.batches import Run, with_columns
from rillway.pipeline.archive.columns.decoding import RowDamaged
from rillway.pipeline.archive.columns.encoding import names_of
from rillway.pipeline.archive.columns.entries import by_stream, entries_of
from rillway.pipeline.archive.columns.layouts import (
    LAYOUT,
    KnownLayouts,
    Layout,
    LayoutClash,
    Layouts,
    united,
)
from rillway.pipeline.archive.columns.schema import FieldMap
from rillway.pipeline.archive.files.parquet_files import STREAM, ArchivedFile, write_files
from rillway.pipeline.archive.files.periods import Undated
from rillway.pipeline.archive.files.rows import bounded_batches, open_file
from rillway.pipeline.archive.identity.epochs import StreamRecord
from rillway.pipeline.archive.table import (
    ArchiveError,
    ArchiveTable,
)
from rillway.pipeline.arrow.collector import paused_collector
from rillway.pipeline.arrow.schema import FIELDS


@dataclass(slots=True)
class Backfilled:
    """The outcome. `files`, `rows`: the numbers that were rewritten."""

    files: int = 0
    rows: int = 0


def backfill(
    table: ArchiveTable,
    *,
    advanced: Callable[[int], None] = lambda rows: None,
    is_interrupted: Callable[[], bool] = lambda: False,
) -> Backfilled:
    """Rewrite files whose rows lack columns. Raises ArchiveError."""
    done = Backfilled()
    if not table.columns:
        raise ArchiveError(f"{table.store}: has no columns; archive with --schema adds some")
    for file in table.files():
        if is_interrupted():
            break
        if _is_due(table, file):
            _File(table, file).write_again()
            done.files += 1
            done.rows += file.rows
        advanced(file.rows)
    return done


def _is_due(table: ArchiveTable, file: ArchivedFile) -> bool:
    """Return True if a row of the file would have another layout now."""
    with open_file(table.store, file) as parquet:
        names = [name for name in (STREAM, LAYOUT) if name in parquet.schema_arrow.names]
        rows = parquet.read(columns=names)
    if not file.is_own:
        return False  # an upkeep writes it again first
    if LAYOUT not in names:
        return any(table.columns.of(stream) for stream in rows.column(STREAM).unique().to_pylist())
    for stream, numbers in _layouts_of(rows).items():
        fields, record = table.columns.of(stream), table.record(stream)
        if (
            fields is not None
            and record is not None
            and any(not _is_current(fields, record.layouts, number) for number in numbers)
        ):
            return True
    return False


def _layouts_of(rows: pa.Table) -> dict[str, list[int | None]]:
    found: dict[str, list[int | None]] = {}
    for row in rows.group_by([STREAM, LAYOUT]).aggregate([]).to_pylist():
        found.setdefault(row[STREAM], []).append(row[LAYOUT])
    return found


def _is_current(fields: FieldMap, layouts: Layouts, number: int | None) -> bool:
    if number is None or number not in layouts:
        return False
    return fields.layout(layouts[number].names) == layouts[number]


@dataclass(slots=True)
class RowEncoder:
    """Gives rows the present columns of an archive. `layouts`: those of all rows, for files."""

    table: ArchiveTable
    layouts: dict[int, Layout] = field(default_factory=dict)
    _known: dict[str, KnownLayouts] = field(default_factory=dict)

    def write(self, rows: Iterable[pa.RecordBatch], undated: Undated) -> list[ArchivedFile]:
        """Encode rows and write them to new files. `rows`: the output of `encoded`.

        `undated`: the dates of rows without a time.
        """
        table = self.table
        with paused_collector():
            return write_files(
                table.store,
                rows,
                table.period,
                schema=table.file_schema,
                layouts=self.layouts,
                undated=undated,
            )

    def encoded(self, parts: Sequence[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield rows with typed columns. `parts`: whole entries, one stream in each."""
        columns = replace(self.table.columns, fails=False)
        if not columns:
            yield from parts
            return
        runs = [self._run(part) for part in parts]
        rows = pa.Table.from_batches(parts).combine_chunks().to_batches()
        for part in chain.from_iterable(with_columns(whole, runs, columns) for whole in rows):
            for run in runs:
                self.layouts.update(run.known.new)
            yield part

    def _run(self, batch: pa.RecordBatch) -> Run:
        stream = str(batch.column(STREAM)[0])
        if stream not in self._known:
            record = self.table.record(stream)
            self._known[stream] = KnownLayouts({} if record is None else record.layouts)
            self.layouts.update(self._known[stream].before)
        return Run(stream, self._known[stream], len(batch), names_of(batch.column(FIELDS)))

    def records(self) -> dict[str, StreamRecord]:
        """Return the present records of streams with new layouts. Raises ArchiveError."""
        changed = {}
        for stream, known in self._known.items():
            record = self.table.record(stream)
            if record is not None and known.new:
                try:
                    layouts = united(record.layouts, known.new)
                except LayoutClash as clash:
                    raise ArchiveError(f"{stream}: {clash}: run it again") from None
                changed[stream] = replace(record, layouts=layouts)
        return changed


@dataclass(slots=True)
class _File:
    """A file that is rewritten."""

    table: ArchiveTable
    file: ArchivedFile

    def write_again(self) -> None:
        table, encoder = self.table, RowEncoder(self.table)
        new = encoder.write(self._rows(encoder), self.file.undated_rows)
        if sum(file.rows for file in new) != self.file.rows:
            raise ArchiveError(f"{self.file.path}: the new file lacks rows")

        def attempt() -> bool:
            if not table.names_all([self.file]):
                return False
            table.replace([self.file], new, table.write_state(encoder.records(), None))
            return True

        if not table.commit_files(new, attempt):
            raise ArchiveError(
                f"{table.store}: {self.file.path} was compacted or expired meanwhile: run it again"
            )

    def _rows(self, encoder: RowEncoder) -> Iterator[pa.RecordBatch]:
        """Yield the rows for the new file. Raises ArchiveError, EntryUnreadable."""
        with open_file(self.table.store, self.file) as parquet:
            groups = range(parquet.metadata.num_row_groups)
            for batch in bounded_batches(parquet, groups):
                yield from encoder.encoded([self._entries(part) for part in by_stream(batch)])

    def _entries(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows of one stream as entries. Raises ArchiveError."""
        try:
            return entries_of(self.table, batch)
        except RowDamaged as error:
            raise ArchiveError(f"{self.table.store}: {self.file.path}: {error}") from None
