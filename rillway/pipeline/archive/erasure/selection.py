"""The entries that a condition, a list of IDs or a range selects, in rows and in memory.

An entry that is in memory and archived is found twice, under the same epoch and ID: that of the
line on which it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from rillway.pipeline.archive.columns.batches import Run, aligned, with_columns
from rillway.pipeline.archive.columns.conversion import native
from rillway.pipeline.archive.columns.decoding import RowDamaged
from rillway.pipeline.archive.columns.encoding import names_of
from rillway.pipeline.archive.columns.entries import by_stream, entries_of
from rillway.pipeline.archive.columns.layouts import KnownLayouts
from rillway.pipeline.archive.erasure.journal import Entries, frozen
from rillway.pipeline.archive.erasure.targets import ids_of
from rillway.pipeline.archive.files.parquet_files import (
    EPOCH,
    FILE_SCHEMA,
    STREAM,
    ArchivedFile,
    file_batch,
    with_times,
)
from rillway.pipeline.archive.files.rows import INT64_MAX, KEYS, between, bounded_batches, open_file
from rillway.pipeline.archive.files.scanning import may_have_rows
from rillway.pipeline.archive.files.store import ArchiveError
from rillway.pipeline.archive.identity.epochs import StreamState, line_of
from rillway.pipeline.archive.identity.recognition import Recognised
from rillway.pipeline.archive.table import ArchiveTable
from rillway.pipeline.ranges.filters import Expression, NeedsSpark, UnknownColumn, make_filter
from rillway.pipeline.ranges.reader import read_batches
from rillway.pipeline.wire.connection import Connection
from rillway.pipeline.wire.ids import MAX_ID, MIN_ID, ms_of


@dataclass(frozen=True, slots=True)
class Selection:
    """What to erase: `ids`, or a condition (`where`), or all from `first` to `last`."""

    first: int = MIN_ID
    last: int = MAX_ID
    ids: frozenset[int] | None = None
    where: str | None = None

    @property
    def kind(self) -> str:
        """How entries are selected, without what may be content."""
        return "condition" if self.where is not None else "IDs" if self.ids is not None else "range"

    def filter(self, table: ArchiveTable) -> Expression | None:
        """Return the filter of the condition. Raises ArchiveError."""
        if self.where is None:
            return None
        try:
            return make_filter(self.where, table.columns.fields)
        except UnknownColumn as error:
            raise ArchiveError(str(error)) from None
        except NeedsSpark as error:
            raise ArchiveError(
                f"{error} needs Spark, and erase takes conditions that need none: comparisons of "
                "texts with texts, numbers with numbers and times with '2026-01-31T12:00:00Z', "
                "BETWEEN, IN, LIKE, AND, OR and NOT; or --ids with the IDs of a query"
            ) from None


@dataclass(slots=True)
class Selector:
    """Finds the selected entries of streams."""

    table: ArchiveTable
    selection: Selection
    _condition: Expression | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        """Raises ArchiveError for an unusable condition."""
        self._condition = self.selection.filter(self.table)

    # -- rows -------------------------------------------------------------------------------------

    def rows(self, streams: Collection[str]) -> Entries:
        """Return the selected entries that have rows. Raises ArchiveError."""
        bounds = ms_of(self.selection.first), min(ms_of(self.selection.last), INT64_MAX)
        found: dict[str, dict[int, set[int]]] = {}
        for file in self.table.files():
            if self._condition is not None and not may_have_rows(self._condition, file):
                continue
            if any(file.may_hold(stream, *bounds) for stream in streams):
                for part in self._parts(file):
                    stream = str(part.column(STREAM)[0])
                    if stream in streams:
                        self._add(found.setdefault(stream, {}), part)
        return frozen(found)

    def _parts(self, file: ArchivedFile) -> Iterator[pa.RecordBatch]:
        """Yield the rows of each stream in a file, with the columns that the selection needs."""
        columns = None if self.selection.where is not None else KEYS
        with open_file(self.table.store, file) as parquet:
            groups = range(parquet.metadata.num_row_groups)
            for batch in bounded_batches(parquet, groups, columns=columns):
                # Arrow cannot filter all types that other programs write.
                rows = native(batch, self.table.columns.fields)
                yield from by_stream(rows) if len(rows) else ()

    def _add(self, found: dict[int, set[int]], part: pa.RecordBatch) -> None:
        part = between(part, self.selection.first, self.selection.last)
        if self.selection.where is not None and len(part):
            part = part.filter(self._matching(self._whole(part)))
        chosen = self.selection.ids
        for epoch, entry_id in zip(part.column(EPOCH).to_pylist(), ids_of(part), strict=True):
            if chosen is None or entry_id in chosen:
                found.setdefault(epoch, set()).add(entry_id)

    def _whole(self, part: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows of one stream with all fields, and typed columns. Raises ArchiveError."""
        try:
            entries = entries_of(self.table, part)
        except RowDamaged as error:
            raise ArchiveError(f"{self.table.store}: {error}") from None
        typed = aligned(part, pa.schema(self.table.columns.fields))
        schema = pa.schema([*entries.schema, *typed.schema])
        return pa.RecordBatch.from_arrays([*entries.columns, *typed.columns], schema=schema)

    def _matching(self, batch: pa.RecordBatch) -> pa.Array:
        assert self._condition is not None
        return pc.fill_null(self._condition(batch), False)

    # -- memory -----------------------------------------------------------------------------------

    def live(self, connection: Connection, found: Mapping[str, Recognised]) -> Entries:
        """Return the selected entries in memory. Raises ArchiveError, DataLost, ServerError."""
        entries: dict[str, dict[int, set[int]]] = {}
        for stream, one in found.items():
            facts = one.seen.facts
            first, last = max(self.selection.first, facts.first_id), self.selection.last
            last = min(last, facts.last_id)
            if not facts.length or first > last:
                continue
            if ms_of(last) > INT64_MAX:
                raise ArchiveError(f"{stream}: has IDs of 2^63 ms or more, which are not archived")
            for batch in read_batches(connection, stream, first, last):
                for entry_id in self._chosen_ids(stream, one, batch):
                    epoch = epoch_at(one.state, entry_id)
                    entries.setdefault(stream, {}).setdefault(epoch, set()).add(entry_id)
        return frozen(entries)

    def _chosen_ids(self, stream: str, found: Recognised, batch: pa.RecordBatch) -> list[int]:
        if self.selection.ids is not None:
            return [entry_id for entry_id in ids_of(batch) if entry_id in self.selection.ids]
        if self.selection.where is None:
            return ids_of(batch)
        whole = self._with_columns(stream, found, batch)
        return ids_of(batch.filter(self._matching(whole)))

    def _with_columns(
        self, stream: str, found: Recognised, batch: pa.RecordBatch
    ) -> pa.RecordBatch:
        """Return live entries with typed columns like archived ones, and all their fields."""
        entries = with_times(file_batch(batch, found.state.present.number), self.table.unit(stream))
        if len(found.state.epochs) > 1:
            numbers = [epoch_at(found.state, entry_id) for entry_id in ids_of(batch)]
            place = entries.schema.get_field_index(EPOCH)
            epochs = pa.array(numbers, pa.int32())
            entries = entries.set_column(place, FILE_SCHEMA.field(EPOCH), epochs)
        columns = replace(self.table.columns, fails=False)
        if not columns:
            return entries
        run = Run(stream, KnownLayouts(), len(batch), names_of(batch.column("fields")))
        (typed,) = with_columns(entries, [run], columns)
        place = typed.schema.get_field_index("fields")
        return typed.set_column(place, FILE_SCHEMA.field("fields"), entries.column("fields"))


def epoch_at(state: StreamState, entry_id: int) -> int:
    """Return the epoch of the present line that has an ID."""
    line = line_of(state.epochs, state.present.number)
    return next(number for number, until in line if entry_id <= until)
