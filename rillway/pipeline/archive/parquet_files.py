"""The archive's Parquet files: written from a slice of a stream, read back by ranges of IDs.

A file holds entries of one epoch of a stream and one period (periods.py), in ID order. Before it
is named to anybody it is on the disk: file and folders are synced. A file that is never named,
because the task or the program ended, is invisible to readers of the table, and is removed by a
vacuum.

Folders are named as Hive does it, `stream=orders/date=2026-01-31`; other characters than letters,
digits and `-_.` are percent-encoded. The two are no columns of the files.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rillway.pipeline.archive.identity.epochs import FIRST
from rillway.pipeline.archive.identity.sources import read_source
from rillway.pipeline.archive.periods import DAY, period_end_ms, period_of
from rillway.pipeline.archive.store import Store, store_of
from rillway.pipeline.arrow.collector import paused_collector
from rillway.pipeline.arrow.decoder import RawEntry, fields_decoder
from rillway.pipeline.arrow.schema import arrow_schema
from rillway.pipeline.client.connection import Connection
from rillway.pipeline.client.ids import MAX_SEQ, make_id, ms_of, parse_id
from rillway.pipeline.ranges.anchors import DISTANCES, Anchor, entry_hash, extended
from rillway.pipeline.ranges.loss import DataLost, LossPolicy
from rillway.pipeline.ranges.plan import Slice
from rillway.pipeline.ranges.reader import BATCH_BYTES, SliceReader

PARTITIONED_BY = ("stream", "date")
EPOCH = "epoch"
# The epoch is the last one, as in archives of earlier releases, to which the column was added.
TABLE_SCHEMA = pa.schema(
    [("stream", pa.string()), ("date", pa.date32())]
    + [field for field in arrow_schema() if field.name != "stream"]
    + [(EPOCH, pa.int32())]
)
FILE_SCHEMA = pa.schema([field for field in TABLE_SCHEMA if field.name not in PARTITIONED_BY])

COMPRESSION = "zstd"
# Names repeat in every entry and values often; IDs and times are all different and grow.
DICTIONARIES = ["fields.list.element.name", "fields.list.element.value", "seq"]
ENCODINGS = {"id": "DELTA_BYTE_ARRAY", "ms": "DELTA_BINARY_PACKED", "ts": "DELTA_BINARY_PACKED"}
ROW_GROUP_ROWS = 250_000
# As Arrow has them: of small entries, about as many as the rows above.
ROW_GROUP_BYTES = 48 << 20
READ_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class ArchivedFile:
    """A file of the table. `path` is below the table's folder, `date` the first one of its period.

    `first_id` and `last_id` are bounds: in the table's log stand milliseconds, so for a file that
    was found there they may be wider than its entries. `anchors`: of a file that was just written.
    """

    path: str
    stream: str
    date: date
    size_bytes: int
    rows: int
    first_id: int
    last_id: int
    epoch: int = FIRST
    anchors: tuple[Anchor, ...] = ()


@dataclass(frozen=True, slots=True)
class WriteTask:
    """The work of one task of an engine; it can be pickled.

    `accepts_loss`: archive what is left if entries were trimmed meanwhile. `run_id`: that of the
    server that must be read, empty if servers do not report it.
    """

    url: str
    store: Store
    slice: Slice
    accepts_loss: bool = False
    period: str = DAY
    epoch: int = FIRST
    run_id: str = ""


class ServerChanged(Exception):
    """Another server answers at the address than before: what was read may be of two histories."""


def write_slice(task: WriteTask) -> list[ArchivedFile]:
    """Read a slice from the server into files, one for each period.

    Raises DataLost if entries were trimmed while they were read, ServerChanged if a failover came.
    """
    part = task.slice
    with paused_collector(), Connection(task.url) as connection:
        _check_server(connection, task)
        reader = SliceReader(connection, part, ArchiveLossPolicy(accepts=task.accepts_loss))
        decoded = reader.batches(fields_decoder(part.stream), READ_ROWS)
        files = write_files(task.store, part.stream, decoded, task.period, task.epoch)
        # Again: the reader opens another connection if a reply is too long.
        _check_server(connection, task)
        return files


def _check_server(connection: Connection, task: WriteTask) -> None:
    if task.run_id and read_source(connection).run_id != task.run_id:
        raise ServerChanged(f"{task.slice.stream}: another server answers at the address now")


class ArchiveLossPolicy(LossPolicy):
    """Raise for what is lost, or note it and archive what is left; `notes` is for the user."""

    def __init__(self, *, accepts: bool) -> None:
        super().__init__(fails=not accepts)
        self.notes: list[str] = []

    def lost(self, text: str) -> None:
        if self.fails:
            raise DataLost(f"{text} (--accept-loss archives what is left)")
        self.notes.append(text)

    def unclear(self, text: str) -> None:
        self.notes.append(text)


def write_files(
    place: Path | Store,
    stream: str,
    decoded: Iterator[pa.RecordBatch],
    period: str = DAY,
    epoch: int = FIRST,
) -> list[ArchivedFile]:
    """Batches of one stream, in order, into new files of an archive, one for each period."""
    store = store_of(place)
    written: list[ArchivedFile] = []
    current: _NewFile | None = None
    try:
        for batch in decoded:
            for day, part in by_period(batch, period):
                if current is None or current.day != day:
                    if current is not None:
                        written.append(current.finish())
                    current = _NewFile(store, stream, day, epoch)
                current.write(part)
        if current is not None:
            written.append(current.finish())
    except BaseException:
        for path in [file.path for file in written] + ([current.path] if current else []):
            store.remove(path)
        raise
    return written


def by_period(batch: pa.RecordBatch, period: str) -> Iterator[tuple[date, pa.RecordBatch]]:
    """The parts of a batch that lie in one period each; its IDs ascend."""
    milliseconds = batch.column("ms")
    start = 0
    while start < len(batch):
        first_ms = milliseconds[start].as_py()
        end_ms = period_end_ms(first_ms, period)
        if end_ms is None or milliseconds[-1].as_py() < end_ms:
            end = len(batch)
        else:
            end = pc.index(pc.greater_equal(milliseconds, end_ms), True).as_py()
        yield period_of(first_ms, period), batch.slice(start, end - start)
        start = end


def folder_of(stream: str, day: date) -> str:
    return f"stream={quote(stream, safe='')}/date={day.isoformat()}"


class _NewFile:
    """One file while it is written."""

    def __init__(self, store: Store, stream: str, day: date, epoch: int) -> None:
        self.day = day
        self._store, self._stream, self._epoch = store, stream, epoch
        self.path = f"{folder_of(stream, day)}/part-{uuid.uuid4()}.parquet"
        store.make_parent(self.path)
        self._writer = pq.ParquetWriter(
            self.path,
            FILE_SCHEMA,
            filesystem=store.filesystem,
            compression=COMPRESSION,
            use_dictionary=DICTIONARIES,
            column_encoding=ENCODINGS,
        )
        self._held: list[pa.RecordBatch] = []
        self._held_rows = self._held_bytes = 0
        self._rows = 0
        self._first_id = self._last_id = 0
        self._anchors: tuple[Anchor, ...] = ()

    def write(self, batch: pa.RecordBatch) -> None:
        if not self._rows:
            self._first_id = id_at(batch, 0)
        self._last_id = id_at(batch, len(batch) - 1)
        self._rows += len(batch)
        self._anchors = extended(self._anchors, len(batch), anchors_of(batch))
        self._held.append(with_epoch(batch, self._epoch))
        self._held_rows += len(batch)
        self._held_bytes += batch.nbytes
        if self._held_rows >= ROW_GROUP_ROWS or self._held_bytes >= ROW_GROUP_BYTES:
            self._write_held()

    def _write_held(self) -> None:
        if self._held:
            self._writer.write_table(pa.Table.from_batches(self._held, FILE_SCHEMA))
        self._held, self._held_rows, self._held_bytes = [], 0, 0

    def finish(self) -> ArchivedFile:
        self._write_held()
        self._writer.close()
        self._store.settle(self.path)
        return ArchivedFile(
            self.path,
            self._stream,
            self.day,
            self._store.size(self.path),
            self._rows,
            self._first_id,
            self._last_id,
            self._epoch,
            self._anchors,
        )


def with_epoch(batch: pa.RecordBatch, epoch: int) -> pa.RecordBatch:
    """Return the batch with its epoch, in the columns and the types of the files."""
    numbers = pa.repeat(pa.scalar(epoch, pa.int32()), len(batch))
    columns = [
        numbers if name == EPOCH else batch.column(name).cast(FILE_SCHEMA.field(name).type)
        for name in FILE_SCHEMA.names
    ]
    return pa.RecordBatch.from_arrays(columns, schema=FILE_SCHEMA)


def anchors_of(batch: pa.RecordBatch) -> tuple[Anchor, ...]:
    """Return the anchors of a batch of entries in order: the last entry and some before it."""
    found = []
    for back in DISTANCES:
        if back <= len(batch):
            [[entry_id, words]] = raw_entries(batch.slice(len(batch) - back, 1))
            found.append(Anchor(parse_id(entry_id), entry_hash(words), back))
    return tuple(found)


def raw_entries(batch: pa.RecordBatch) -> list[RawEntry]:
    """Entries as a server sends them."""
    ids = batch.column("id").to_pylist()
    return [
        [entry_id.encode(), [word for pair in fields for word in (pair["name"], pair["value"])]]
        for entry_id, fields in zip(ids, batch.column("fields").to_pylist(), strict=True)
    ]


def id_at(batch: pa.RecordBatch, row: int) -> int:
    return make_id(batch.column("ms")[row].as_py(), int(batch.column("seq")[row].as_py()))


# -- reading --------------------------------------------------------------------------------------


def read_file(
    place: Path | Store, file: ArchivedFile, first: int, last: int
) -> Iterator[pa.RecordBatch]:
    """The entries of a file from `first` to `last`, in its order, with the columns of a stream."""
    schema = arrow_schema()
    with pq.ParquetFile(file.path, filesystem=store_of(place).filesystem) as parquet:
        groups = _row_groups(parquet, ms_of(first), ms_of(last))
        for batch in _bounded_batches(parquet, groups):
            part = between(batch, first, last)
            if len(part):
                streams = pa.repeat(file.stream, len(part))
                columns = [
                    streams if field.name == "stream" else part.column(field.name).cast(field.type)
                    for field in schema
                ]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _bounded_batches(parquet: pq.ParquetFile, groups: Sequence[int]) -> Iterator[pa.RecordBatch]:
    """By bytes as well as by rows; one row group after the other, as each has its own measure."""
    for number in groups:
        group = parquet.metadata.row_group(number)
        row_bytes = max(group.total_byte_size // max(group.num_rows, 1), 1)
        rows = max(min(READ_ROWS, BATCH_BYTES // row_bytes), 1)
        yield from parquet.iter_batches(rows, row_groups=[number])


def _row_groups(parquet: pq.ParquetFile, first_ms: int, last_ms: int) -> list[int]:
    """Those that may hold entries between two times, by their statistics."""
    column = FILE_SCHEMA.get_field_index("ms")
    chosen = []
    for number in range(parquet.metadata.num_row_groups):
        statistics = parquet.metadata.row_group(number).column(column).statistics
        if (
            statistics is None
            or not statistics.has_min_max
            or (statistics.min <= last_ms and statistics.max >= first_ms)
        ):
            chosen.append(number)
    return chosen


def between(batch: pa.RecordBatch, first: int, last: int) -> pa.RecordBatch:
    """The rows with IDs from `first` to `last`, both included."""
    low, high = ms_of(first), ms_of(last)
    milliseconds, sequence = batch.column("ms"), batch.column("seq")
    found = pc.min_max(milliseconds).as_py()
    if not len(batch) or (found["min"] > low and found["max"] < high):
        return batch
    after = pc.or_(
        pc.greater(milliseconds, _int64(low)),
        pc.and_(
            pc.equal(milliseconds, _int64(low)),
            pc.greater_equal(sequence, _decimal(first & MAX_SEQ)),
        ),
    )
    before = pc.or_(
        pc.less(milliseconds, _int64(high)),
        pc.and_(
            pc.equal(milliseconds, _int64(high)),
            pc.less_equal(sequence, _decimal(last & MAX_SEQ)),
        ),
    )
    # An ID of 2^63 milliseconds or more is above all that a file can hold.
    if high > INT64_MAX:
        return batch.filter(after)
    return batch.filter(pc.and_(after, before))


INT64_MAX = (1 << 63) - 1


def _int64(value: int) -> pa.Scalar:
    return pa.scalar(min(value, INT64_MAX), pa.int64())


def _decimal(value: int) -> pa.Scalar:
    return pa.scalar(Decimal(value), pa.decimal128(20, 0))


def footer_facts(place: Path | Store, file: ArchivedFile) -> tuple[int, int, int]:
    """Return the number of rows and the first and last milliseconds from the file's footer."""
    metadata = pq.read_metadata(file.path, filesystem=store_of(place).filesystem)
    column = FILE_SCHEMA.get_field_index("ms")
    found = [
        metadata.row_group(n).column(column).statistics for n in range(metadata.num_row_groups)
    ]
    return (
        metadata.num_rows,
        min(statistics.min for statistics in found),
        max(statistics.max for statistics in found),
    )
