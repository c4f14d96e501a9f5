"""The archive's Parquet files: sorted rows of many streams, in a file for each period.

A file holds rows of one period (periods.py), sorted by stream, epoch and ID; a stream with many
rows has files of its own. File and folders are synced before a commit names the file. A file that
is never named, because the task or the program ended, is invisible to readers of the table and is
removed by a vacuum.

Folders are named as in Hive, `date=2026-01-31`; the date is not a column of the files.

Other programs write files to the table, too, when they compact it or delete rows. Theirs are known
by their names, which other writers form in other ways, and are never taken to be sorted
(sorting.py).
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from inspect import signature
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rillway.pipeline.archive.columns.layouts import (
    LAYOUT,
    NO_LAYOUTS,
    Layouts,
    as_metadata,
    numbers_of,
)
from rillway.pipeline.archive.columns.schema import RESCUED, Columns
from rillway.pipeline.archive.columns.statistics import ColumnBounds, Statistics
from rillway.pipeline.archive.files.periods import (
    LATEST,
    MS_PER_DAY,
    Undated,
    day_number,
    end_of_period,
    period_end_ms,
    period_of,
)
from rillway.pipeline.archive.files.store import Store, store_of
from rillway.pipeline.archive.limits import DAY, TARGET_BYTES
from rillway.pipeline.arrow.decoder import timestamps
from rillway.pipeline.arrow.schema import arrow_schema
from rillway.pipeline.wire.ids import make_id

STREAM, EPOCH, DATE = "stream", "epoch", "date"
PARTITIONED_BY = (DATE,)
_ENTRY = [field for field in arrow_schema() if field.name not in (STREAM, "fields")]
_FIELDS = arrow_schema().field("fields")
FILE_SCHEMA = pa.schema([(STREAM, pa.string()), (EPOCH, pa.int32()), *_ENTRY, _FIELDS])
TABLE_SCHEMA = pa.schema(
    [(STREAM, pa.string()), (EPOCH, pa.int32()), *_ENTRY, (DATE, pa.date32()), _FIELDS]
)
UNTYPED = (LAYOUT, RESCUED)
SORTED_BY = (STREAM, EPOCH, "ms", "seq")

COMPRESSION = "zstd"
# Names repeat in every entry, values often; IDs and times are distinct and increase.
DICTIONARIES = [STREAM, EPOCH, "fields.list.element.name", "fields.list.element.value", "seq"]
ENCODINGS = {"id": "DELTA_BYTE_ARRAY", "ms": "DELTA_BINARY_PACKED", "ts": "DELTA_BINARY_PACKED"}
# Row groups let a reader of one stream skip the others.
ROW_GROUP_ROWS = 20_000
# In Arrow's representation; small entries reach the limit of rows first.
ROW_GROUP_BYTES = 48 << 20
# Of a column in a row group: 16 kB, so not for few rows.
BLOOM_FILTER_ROWS, BLOOM_FILTER_ERRORS = 5_000, 0.05
# IDs may be made up and belong to many periods; each open file has a descriptor and buffers.
MAX_OPEN_FILES = 32
# Of a file that this module wrote: a random UUID, and no number, codec or task beside it.
OWN_NAME = re.compile(
    r"part-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\.parquet"
)


@dataclass(frozen=True, slots=True)
class ArchivedFile:
    """A file of the table. `path`: relative to the table; `date`: the first one of its period.

    The other attributes are bounds. Those of streams may be wider than the rows, as the table's log
    truncates text; those of `ms` concern IDs of any unit. `columns`: bounds of typed columns, only
    known of a file that was just written; `first_time_ms`, `last_time_ms`: bounds of `ts`, None if
    they are unknown; `undated`: the number of rows without `ts`; `known`: what the log says of a
    file that was read from it, `min.amount` for one.
    """

    path: str
    date: date
    size_bytes: int
    rows: int
    first_stream: str
    last_stream: str
    first_ms: int
    last_ms: int
    first_epoch: int
    last_epoch: int
    columns: tuple[ColumnBounds, ...] = ()
    first_time_ms: int | None = None
    last_time_ms: int | None = None
    undated: int = 0
    known: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def is_own(self) -> bool:
        """True if this program wrote it: then its rows are sorted."""
        return OWN_NAME.fullmatch(self.path.rpartition("/")[2]) is not None

    def may_hold(self, stream: str | None, first_ms: int, last_ms: int) -> bool:
        """Return False if it has no rows of a stream between two times, both included."""
        is_in_time = self.first_ms <= last_ms and self.last_ms >= first_ms
        return is_in_time and (stream is None or self.first_stream <= stream <= self.last_stream)

    def is_before(self, ms: int, period: str) -> bool:
        """Return True if all rows precede a time; rows without `ts` count by the file's date.

        `period`: the archive's present one.
        """
        if not self.rows:
            return False  # the program that wrote it has left that out of the log
        if self.undated and (end_ms := end_of_period(self.date, period)) is not None:
            is_before = end_ms <= ms
        else:
            is_before = not self.undated
        if self.undated == self.rows:
            return is_before
        return is_before and self.last_time_ms is not None and self.last_time_ms < ms

    @property
    def undated_rows(self) -> Undated:
        """The dates of rows without a time in new files: they keep this file's date."""
        return Undated(otherwise=self.date)


def as_json(file: ArchivedFile) -> dict[str, Any]:
    """Return a file as plain values, without the bounds of typed columns, which only save time."""
    content = asdict(replace(file, known={}))
    del content["columns"], content["known"]
    return content | {"date": file.date.isoformat()}


def from_json(content: Mapping[str, Any]) -> ArchivedFile:
    """Return a file from as_json. Raises ValueError, KeyError or TypeError for anything else."""
    return ArchivedFile(**{**content, "date": date.fromisoformat(content["date"])})


def file_schema(columns: Columns) -> pa.Schema:
    """Return the schema of files with typed columns."""
    return pa.schema([*FILE_SCHEMA, *columns.fields])


def file_batch(batch: pa.RecordBatch, epoch: int) -> pa.RecordBatch:
    """Return entries of one epoch with the columns and types of files."""
    numbers = pa.repeat(pa.scalar(epoch, pa.int32()), len(batch))
    columns = [
        numbers if field.name == EPOCH else batch.column(field.name).cast(field.type)
        for field in FILE_SCHEMA
    ]
    return pa.RecordBatch.from_arrays(columns, schema=FILE_SCHEMA)


def with_times(batch: pa.RecordBatch, unit: str) -> pa.RecordBatch:
    """Return entries of one stream with `ts` computed by the unit of their IDs."""
    place = batch.schema.get_field_index("ts")
    times = timestamps(batch.column("ms"), unit)
    return batch.set_column(place, batch.schema.field(place), times)


# -- writing --------------------------------------------------------------------------------------


def write_files(
    place: Path | Store,
    batches: Iterable[pa.RecordBatch],
    period: str = DAY,
    max_bytes: int = TARGET_BYTES,
    schema: pa.Schema = FILE_SCHEMA,
    layouts: Layouts = NO_LAYOUTS,
    undated: Undated = LATEST,
) -> list[ArchivedFile]:
    """Write sorted batches to new files of an archive, one for each period.

    `schema`: FILE_SCHEMA with typed columns; `layouts`: all layouts that rows may have; it may grow
    while batches are produced; `undated`: the dates of rows without a time.
    """
    with FilesWriter(store_of(place), period, max_bytes, schema, layouts, undated) as writer:
        for batch in batches:
            writer.write(batch)
        return writer.finish()


class FilesWriter:
    """Writes sorted rows. A context manager: removes its files unless they were finished."""

    def __init__(
        self,
        store: Store,
        period: str,
        max_bytes: int = TARGET_BYTES,
        schema: pa.Schema = FILE_SCHEMA,
        layouts: Layouts = NO_LAYOUTS,
        undated: Undated = LATEST,
    ) -> None:
        self._store, self._period, self._max_bytes = store, period, max_bytes
        self._schema, self._layouts, self._undated = schema, layouts, undated
        self._open: dict[date, _NewFile] = {}
        self._closed: list[ArchivedFile] = []
        self._begun: list[str] = []
        self._is_finished = False

    def write(self, batch: pa.RecordBatch) -> None:
        """Write rows; each batch must follow the previous one in the order of files."""
        for day, part in by_period(batch, self._period, self._undated):
            file = self._open.pop(day, None)
            if file is not None and file.size_bytes >= self._max_bytes:
                self._closed.append(file.finish())
                file = None
            if file is None:
                if len(self._open) >= MAX_OPEN_FILES:
                    # The least recently used one.
                    oldest = next(iter(self._open))
                    self._closed.append(self._open.pop(oldest).finish())
                path = f"{DATE}={day.isoformat()}/part-{uuid.uuid4()}.parquet"
                self._begun.append(path)
                file = _NewFile(self._store, path, day, self._schema, self._layouts)
            self._open[day] = file
            file.write(part)

    def cut(self) -> None:
        """Start new files for the rows that follow."""
        self._closed += [file.finish() for file in self._open.values()]
        self._open.clear()

    def finish(self) -> list[ArchivedFile]:
        """Close and sync all files; return them."""
        self.cut()
        self._store.settle(*(file.path for file in self._closed))
        self._is_finished = True
        return self._closed

    def __enter__(self) -> FilesWriter:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_finished:
            return
        for file in self._open.values():
            with suppress(OSError, pa.ArrowException):  # the disk may be full
                file.close()
        with suppress(OSError, pa.ArrowException):
            self._store.remove(*self._begun)


def by_period(
    batch: pa.RecordBatch, period: str, undated: Undated = LATEST
) -> Iterator[tuple[date, pa.RecordBatch]]:
    """Divide a batch into the rows of each period, keeping their order."""
    if not len(batch):
        return
    days = _days(batch, undated)
    found = pc.min_max(days).as_py()
    first_ms, last_ms = found["min"] * MS_PER_DAY, found["max"] * MS_PER_DAY
    end_ms = period_end_ms(first_ms, period)
    if end_ms is None or last_ms < end_ms:
        yield period_of(first_ms, period), batch
        return
    by_date: dict[date, list[int]] = {}
    for day in sorted(days.unique().to_pylist()):
        by_date.setdefault(period_of(day * MS_PER_DAY, period), []).append(day)
    for first_date, numbers in by_date.items():
        yield first_date, batch.filter(pc.is_in(days, pa.array(numbers, pa.int64())))


def _days(batch: pa.RecordBatch, undated: Undated) -> pa.Array:
    """Return the days since 1970 of each row."""
    days = pc.divide(batch.column("ts").cast(pa.int64()), MS_PER_DAY * 1000)
    if not days.null_count:
        return days
    names = batch.column(STREAM).dictionary_encode()
    others = [
        day_number(undated.by_stream.get(name, undated.otherwise))
        for name in names.dictionary.to_pylist()
    ]
    return pc.coalesce(days, pa.array(others, pa.int64()).take(names.indices))


class _NewFile:
    """A file that is being written."""

    def __init__(
        self, store: Store, path: str, day: date, schema: pa.Schema, layouts: Layouts
    ) -> None:
        self.path, self._day, self._store = path, day, store
        self._schema, self._layouts = schema, layouts
        self._numbers: set[int] = set()
        typed = [field for field in schema if field.name not in FILE_SCHEMA.names]
        bounded = [FILE_SCHEMA.field(name) for name in ("id", "seq")]
        bounded += [field for field in typed if field.name not in UNTYPED]
        self._statistics = Statistics(bounded)
        self._times = Statistics([FILE_SCHEMA.field("ts")])
        store.make_parent(self.path)
        self._writer: pq.ParquetWriter | None = None
        self._held: list[pa.RecordBatch] = []
        self._held_rows = self._held_bytes = 0
        self._rows = 0
        self._bounds: dict[str, tuple[int, int]] = {}
        self._first_stream = self._last_stream = ""

    @property
    def size_bytes(self) -> int:
        """The number of bytes written so far."""
        return 0 if self._writer is None else int(self._writer.file_handle.tell())

    def write(self, batch: pa.RecordBatch) -> None:
        if not self._rows:
            self._first_stream = batch.column(STREAM)[0].as_py()
        self._last_stream = batch.column(STREAM)[-1].as_py()
        self._rows += len(batch)
        for name in ("ms", EPOCH):
            found = pc.min_max(batch.column(name)).as_py()
            low, high = self._bounds.get(name, (found["min"], found["max"]))
            self._bounds[name] = min(low, found["min"]), max(high, found["max"])
        self._statistics.add(batch)
        self._times.add(batch)
        self._numbers |= numbers_of(batch)
        self._held.append(batch)
        self._held_rows += len(batch)
        self._held_bytes += batch.nbytes
        if self._held_rows >= ROW_GROUP_ROWS or self._held_bytes >= ROW_GROUP_BYTES:
            self._write_held()

    def _write_held(self) -> None:
        if self._held:
            rows = pa.Table.from_batches(self._held, self._schema)
            if self._writer is None:
                self._writer = self._opened(rows)
            self._writer.write_table(rows, ROW_GROUP_ROWS)
        self._held, self._held_rows, self._held_bytes = [], 0, 0

    def _opened(self, rows: pa.Table) -> pq.ParquetWriter:
        """Begin the file. `rows`: its first ones."""
        typed = [name for name in self._schema.names if name not in FILE_SCHEMA.names]
        return pq.ParquetWriter(
            self.path,
            self._schema,
            filesystem=self._store.filesystem,
            compression=COMPRESSION,
            use_dictionary=[*DICTIONARIES, *typed],
            column_encoding=ENCODINGS,
            write_page_index=True,
            # Three bytes a page. Without them most flipped bits would go unnoticed.
            write_page_checksum=True,
            **_bloom_filters(rows),
        )

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()

    def finish(self) -> ArchivedFile:
        self._write_held()
        assert self._writer is not None, "a file has rows"
        known = {number: self._layouts[number] for number in self._numbers & self._layouts.keys()}
        if metadata := as_metadata(known):
            self._writer.add_key_value_metadata(metadata)
        self.close()
        first_time_ms, last_time_ms, undated = self._times.times_ms("ts")
        return ArchivedFile(
            self.path,
            self._day,
            self._store.size(self.path),
            self._rows,
            self._first_stream,
            self._last_stream,
            *self._bounds["ms"],
            *self._bounds[EPOCH],
            self._statistics.bounds(),
            first_time_ms,
            last_time_ms,
            undated,
        )


def _bloom_filters(rows: pa.Table) -> dict[str, Any]:
    """Return the option for Bloom filters of typed texts that mostly differ, such as numbers of
    customers: least and greatest values say little about these.
    """
    chosen = {
        field.name: {"ndv": ROW_GROUP_ROWS, "fpp": BLOOM_FILTER_ERRORS}
        for field in rows.schema
        if field.name not in (*FILE_SCHEMA.names, *UNTYPED)
        and len(rows) >= BLOOM_FILTER_ROWS
        and pa.types.is_string(field.type)
        and pc.count_distinct(rows.column(field.name)).as_py() > len(rows) // 2
    }
    # Older versions of pyarrow do not have the option.
    has_option = "bloom_filter_options" in signature(pq.ParquetWriter.__init__).parameters
    return {"bloom_filter_options": chosen} if chosen and has_option else {}


# -- reading --------------------------------------------------------------------------------------


def id_at(batch: pa.RecordBatch, row: int) -> int:
    return make_id(batch.column("ms")[row].as_py(), int(batch.column("seq")[row].as_py()))


def statistics(
    metadata: pq.FileMetaData, group: int, names: Sequence[str]
) -> list[tuple[object, object] | None]:
    """Return the least and greatest values of columns in a row group; None if unknown."""
    found: list[tuple[object, object] | None] = []
    row_group = metadata.row_group(group)
    for name in names:
        place = _place(metadata, name)
        known = None if place < 0 else row_group.column(place).statistics
        if known is None or not known.has_min_max:
            found.append(None)
        else:
            found.append((known.min, known.max))
    return found


def _place(metadata: pq.FileMetaData, name: str) -> int:
    """Return the index of a column, -1 if there is none: other writers have another order."""
    place: int = FILE_SCHEMA.get_field_index(name)
    if 0 <= place < metadata.num_columns and metadata.schema.column(place).path == name:
        return place
    paths = [metadata.schema.column(place).path for place in range(metadata.num_columns)]
    return paths.index(name) if name in paths else -1


def footer_facts(place: Path | Store, file: ArchivedFile) -> tuple[int, int, int]:
    """Return the number of rows and the first and last milliseconds from the file's footer."""
    metadata = pq.read_metadata(file.path, filesystem=store_of(place).filesystem)
    column = FILE_SCHEMA.get_field_index("ms")
    found = [
        metadata.row_group(n).column(column).statistics for n in range(metadata.num_row_groups)
    ]
    return (
        metadata.num_rows,
        min(known.min for known in found),
        max(known.max for known in found),
    )
