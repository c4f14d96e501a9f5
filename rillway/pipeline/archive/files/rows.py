"""Reads the rows of one stream from files that hold many, in the order of its entries.

Files overlap in time. In one epoch of a stream, rows of later commits have higher IDs, but a
compaction that skips a large file may put rows from before and after it into one file. So files
that may hold rows of the same range are merged. Each is opened when its first ID is reached, which
is mostly when the previous file ends. The rows of a file that another program wrote are sorted
first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import chain
from typing import Protocol, TypeAlias, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rillway.pipeline.archive.columns.batches import aligned
from rillway.pipeline.archive.columns.conversion import native
from rillway.pipeline.archive.columns.decoding import RowDamaged, columns_of, rebuilt
from rillway.pipeline.archive.columns.layouts import LAYOUT, Layouts
from rillway.pipeline.archive.columns.schema import NO_COLUMNS, Columns
from rillway.pipeline.archive.files.parquet_files import (
    EPOCH,
    FILE_SCHEMA,
    STREAM,
    ArchivedFile,
    id_at,
    statistics,
)
from rillway.pipeline.archive.files.scanning import Condition, Scan, may_have_rows
from rillway.pipeline.archive.files.sorting import Repeats, distinct, sorted_runs
from rillway.pipeline.archive.files.store import (
    ArchiveError,
    Store,
    check_answered,
    reason_of,
)
from rillway.pipeline.arrow.decoder import RawEntry
from rillway.pipeline.arrow.schema import FIELDS, arrow_schema
from rillway.pipeline.ranges.reader import BATCH_BYTES
from rillway.pipeline.wire.ids import MAX_ID, MAX_SEQ, MIN_ID, ms_of

READ_ROWS = 10_000
# Batches that are joined at most, so that the first rows do not wait for the last ones.
GATHERED = 16
# The limit of names and values in a batch: if names repeat, a row may have thousands in few bytes.
READ_FIELDS = 200_000
INT64_MAX = (1 << 63) - 1
KEYS = [STREAM, EPOCH, "ms", "seq"]
# Of the rows of one stream and epoch.
ORDER = ["ms", "seq"]


@dataclass(frozen=True, slots=True)
class Segment:
    """The rows of an epoch in a range of IDs, both ends included."""

    epoch: int
    first: int = MIN_ID
    last: int = MAX_ID

    @property
    def is_empty(self) -> bool:
        return self.first > self.last


@dataclass(frozen=True, slots=True)
class StreamRows:
    """The rows of a stream in one snapshot of the archive: segments in sequence.

    `columns`, `layouts`: needed to rebuild entries; `typed`: additional columns of batches; `ends`:
    the archived end by epoch, after which another program may not have added rows; `condition`:
    rows for which it does not hold may be missing; `only`: batches need just these columns, which
    are none of fields, and have those of the key.
    """

    store: Store
    stream: str
    files: Sequence[ArchivedFile]
    segments: Sequence[Segment]
    columns: Columns = NO_COLUMNS
    layouts: Layouts = field(default_factory=dict)
    typed: tuple[pa.Field, ...] = ()
    ends: Mapping[int, int] = field(default_factory=dict)
    condition: Condition | None = None
    only: frozenset[str] | None = None

    def batches(self) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield epochs and rows, with all fields of the entries. Raises ArchiveError."""
        for segment in self.segments:
            for batch in self.segment_batches(segment):
                yield segment.epoch, batch

    def segment_batches(self, segment: Segment) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a segment in order. Raises ArchiveError."""
        groups = list(overlapping(self.named_files(segment)))
        if self.condition is not None and all(len(f) == 1 and f[0].is_own for f in groups):
            parts = (self._scanned(files[0], segment, self.condition) for files in groups)
            for batch in gathered(chain.from_iterable(parts)):
                part = self._chosen(batch, segment)
                if len(part):
                    yield self._rebuilt(part)
            return
        for files in groups:
            own = [file for file in files if file.is_own]
            if len(own) < len(files):
                yield from self._sorted(own, [file for file in files if not file.is_own], segment)
            elif len(own) == 1:
                yield from self._file_batches(own[0], segment)
            else:
                yield from _merged(self._inputs(own, segment))

    def _sorted(
        self, own: Sequence[ArchivedFile], others: Sequence[ArchivedFile], segment: Segment
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of files of which others were written by another program."""
        with ExitStack() as stack:
            inputs = self._inputs(own, segment)
            for file in others:
                for run in sorted_runs(self._file_batches(file, segment), ORDER, stack):
                    batch = next(run)
                    inputs.append((id_at(batch, 0), chain([batch], run)))
            yield from distinct(self.store, _merged(inputs), Repeats(ORDER))

    def _inputs(self, files: Sequence[ArchivedFile], segment: Segment) -> list[_Input]:
        firsts = [(self._first_id(file, segment), file) for file in files]
        return [
            (first, self._file_batches(file, segment))
            for first, file in firsts
            if first is not None
        ]

    def named_files(self, segment: Segment) -> list[ArchivedFile]:
        """Return the files that may hold rows of a segment, the earliest first."""
        bounds = ms_of(segment.first), ms_of(segment.last)
        chosen = [
            file
            for file in self.files
            if not segment.is_empty
            and file.may_hold(self.stream, *bounds)
            and file.first_epoch <= segment.epoch <= file.last_epoch
        ]
        if self.condition is not None and all(file.is_own for file in chosen):
            chosen = [file for file in chosen if may_have_rows(self.condition, file)]
        return sorted(chosen, key=lambda file: (file.first_ms, file.last_ms))

    def estimate(self) -> int:
        """Return an upper estimate of the number of rows, from the footers of files."""
        found = 0
        for segment in self.segments:
            for file in self.named_files(segment):
                with open_file(self.store, file) as parquet:
                    metadata = parquet.metadata
                    groups = self._row_groups(metadata, segment)
                    found += sum(metadata.row_group(group).num_rows for group in groups)
        return found

    def _first_id(self, file: ArchivedFile, segment: Segment) -> int | None:
        with open_file(self.store, file) as parquet:
            groups = self._row_groups(parquet.metadata, segment)
            for batch in parquet.iter_batches(READ_ROWS, row_groups=groups, columns=KEYS):
                part = self._chosen(batch, segment)
                if len(part):
                    return id_at(part, 0)
        return None

    def _file_batches(self, file: ArchivedFile, segment: Segment) -> Iterator[pa.RecordBatch]:
        with open_file(self.store, file) as parquet:
            groups = self._row_groups(parquet.metadata, segment)
            wanted = self._schema.names
            names = [name for name in parquet.schema_arrow.names if name in wanted]
            for found in bounded_batches(parquet, groups, columns=names):
                batch = native(found, self.columns.fields) if self.columns else found
                if not file.is_own:
                    self._check_row_keys(file, batch)
                part = self._chosen(batch, segment)
                if len(part):
                    if not file.is_own:
                        self._check_end(file, part, segment)
                    yield self._rebuilt(part, file.path)

    @property
    def _schema(self) -> pa.Schema:
        """The columns of files that batches need."""
        if self._is_partial:
            wanted = {*KEYS, *(self.only or ())}
        else:
            wanted = {*arrow_schema().names, EPOCH, LAYOUT, *columns_of(self.layouts)}
            wanted.update(column.name for column in self.typed)
        every = (*FILE_SCHEMA, *self.columns.fields)
        return pa.schema([each for each in every if each.name in wanted])

    @property
    def _is_partial(self) -> bool:
        """True if rows are read with a part of their columns. Others' rows are checked first."""
        return self.only is not None and all(file.is_own for file in self.files)

    def _rebuilt(self, rows: pa.RecordBatch, path: str = "") -> pa.RecordBatch:
        """Return rows as entries, with all fields. Raises ArchiveError."""
        if self._is_partial:
            return aligned(rows, self._schema)
        entry = arrow_schema()
        try:
            fields = rebuilt(rows, self.layouts, self.columns.by_name)
        except RowDamaged as error:
            raise ArchiveError(f"{self.store}: {path or self.stream}: {error}") from None
        place = rows.schema.get_field_index(FIELDS)
        whole = rows.set_column(place, entry.field(FIELDS), fields)
        return aligned(whole, pa.schema([*entry, *self.typed]))

    def _scanned(
        self, file: ArchivedFile, segment: Segment, condition: Condition
    ) -> Iterator[pa.RecordBatch]:
        """Yield rows for which the condition may hold, not rebuilt yet.

        With others of their row groups, which are filtered when batches are joined.
        """
        schema = self._schema
        texts = [each.name for each in self.typed if pa.types.is_string(each.type)]
        with open_file(self.store, file, texts) as parquet:
            scan = Scan(condition, parquet, schema)
            for groups, fits in scan.runs(self._row_groups(parquet.metadata, segment)):
                found = scan.rows(groups)
                if not fits:
                    found = bounded_batches(parquet, groups, columns=scan.names)
                for batch in found:
                    yield aligned(native(batch, schema), schema)

    def _check_row_keys(self, file: ArchivedFile, batch: pa.RecordBatch) -> None:
        """Check that rows of another program have the columns that belong together."""
        if reason := wrong_keys(batch):
            raise ArchiveError(f"{self.store}: {file.path}, of another program: {reason}")

    def _check_end(self, file: ArchivedFile, part: pa.RecordBatch, segment: Segment) -> None:
        """Check that another program has added no rows where the stream goes on."""
        if reason := added_rows(part, self.ends.get(segment.epoch, MAX_ID)):
            raise ArchiveError(f"{self.store}: {file.path}, of another program: {reason}")

    def _row_groups(self, metadata: pq.FileMetaData, segment: Segment) -> list[int]:
        """Return the row groups that may hold rows of a segment, by their statistics."""
        wanted = (
            (self.stream, self.stream),
            (segment.epoch, segment.epoch),
            (ms_of(segment.first), ms_of(segment.last)),
        )
        chosen = []
        for group in range(metadata.num_row_groups):
            known = statistics(metadata, group, (STREAM, EPOCH, "ms"))
            if all(
                bounds is None or (bounds[0] <= high and bounds[1] >= low)  # type: ignore[operator]
                for bounds, (low, high) in zip(known, wanted, strict=True)
            ):
                chosen.append(group)
        return chosen

    def _chosen(self, batch: pa.RecordBatch, segment: Segment) -> pa.RecordBatch:
        is_wanted = pc.and_(
            pc.equal(batch.column(STREAM), self.stream),
            pc.equal(batch.column(EPOCH), segment.epoch),
        )
        return between(batch.filter(is_wanted), segment.first, segment.last)


# The first ID of rows, and the rows.
_Input: TypeAlias = tuple[int, Iterator[pa.RecordBatch]]


def _merged(waiting: list[_Input]) -> Iterator[pa.RecordBatch]:
    waiting = sorted(waiting, key=lambda pair: pair[0], reverse=True)
    opened: list[_Rows] = []
    while opened or waiting:
        if not opened:
            opened.append(_Rows(waiting.pop()[1]))
        last = min(rows.last for rows in opened)
        while waiting and waiting[-1][0] <= last:
            opened.append(_Rows(waiting.pop()[1]))
            last = min(last, opened[-1].last)
        yield from _in_order([part for rows in opened if len(part := rows.take(last))])
        opened = [rows for rows in opened if rows.has_more]


class _Rows:
    """The rows of a segment in one file. `last`: the last ID of those in memory."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self._held: pa.RecordBatch = next(batches)

    @property
    def last(self) -> int:
        return id_at(self._held, len(self._held) - 1)

    @property
    def has_more(self) -> bool:
        if not len(self._held):
            self._held = next(self._batches, self._held)
        return len(self._held) > 0

    def take(self, last: int) -> pa.RecordBatch:
        """Remove and return the rows up to an ID."""
        if id_at(self._held, 0) > last:
            return self._held.slice(0, 0)
        taken = self._held if self.last <= last else between(self._held, MIN_ID, last)
        self._held = self._held.slice(len(taken))
        return taken


def _in_order(parts: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    if len(parts) == 1:
        yield parts[0]
    else:
        rows = pa.Table.from_batches(parts).sort_by([("ms", "ascending"), ("seq", "ascending")])
        yield from rows.combine_chunks().to_batches()


class Spanning(Protocol):
    """Something that spans a range of milliseconds, both ends included."""

    @property
    def first_ms(self) -> int: ...

    @property
    def last_ms(self) -> int: ...


F = TypeVar("F", bound=Spanning)


def overlapping(files: Iterable[F]) -> Iterator[list[F]]:
    """Group files, ordered by their beginnings, that may share a millisecond."""
    held: list[F] = []
    reached_ms = -1
    for file in files:
        if held and file.first_ms > reached_ms:
            yield held
            held = []
        held.append(file)
        reached_ms = max(reached_ms, file.last_ms)
    if held:
        yield held


@contextmanager
def open_file(
    store: Store, file: ArchivedFile, as_dictionaries: Sequence[str] = ()
) -> Iterator[pq.ParquetFile]:
    """Open a file. Raises ArchiveError if it is missing or damaged, also within the context.

    `as_dictionaries`: columns of texts that are read as dictionaries, if the file has them all.
    """
    try:
        with _opened(store, file, as_dictionaries) as parquet:
            yield parquet
    except (OSError, pa.ArrowException) as error:
        check_answered(store, file.path, error)
        raise ArchiveError(
            f"{store}: {file.path}, which the log names: {reason_of(error)} (`rillway archive "
            f"verify --to {store}` lists what is damaged)"
        ) from None


def _opened(store: Store, file: ArchivedFile, as_dictionaries: Sequence[str]) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(
            file.path,
            filesystem=store.filesystem,
            page_checksum_verification=True,
            coerce_int96_timestamp_unit="us",
            read_dictionary=list(as_dictionaries) or None,
        )
    except KeyError:  # it was written before the table had such a column
        return _opened(store, file, ())


def bounded_batches(
    parquet: pq.ParquetFile,
    groups: Sequence[int],
    most_rows: int = READ_ROWS,
    columns: Sequence[str] | None = None,
    share: int = 1,
) -> Iterator[pa.RecordBatch]:
    """Yield batches that are limited in rows, bytes and fields, a row group at a time.

    Columns that all files have get the types of the archive, whichever program wrote them.
    `share`: divides the limits of bytes and fields, for a reader of several files.
    """
    fields_read = [field for field in FILE_SCHEMA if columns is None or field.name in columns]
    for number in groups:
        group = parquet.metadata.row_group(number)
        fields = max(group.column(place).num_values for place in range(group.num_columns))
        by_bytes = BATCH_BYTES * group.num_rows // max(group.total_byte_size * share, 1)
        by_fields = READ_FIELDS * group.num_rows // max(fields * share, 1)
        rows = max(min(most_rows, by_bytes, by_fields), 1)
        for batch in parquet.iter_batches(rows, row_groups=[number], columns=columns):
            yield native(batch, fields_read)


def added_rows(part: pa.RecordBatch, end: int) -> str:
    """Return what is wrong if rows of a stream are after its archived end; empty if none is."""
    if end >= MAX_ID or not len(after := between(part, end + 1, MAX_ID)):
        return ""
    name, entry_id = after.column(STREAM)[0], after.column("id")[0]
    return f"it has {entry_id} of {name}, after the archived end: DELETE it there"


def gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Join small batches, so that what is done once for each batch costs little."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if len(held) == GATHERED or sum(map(len, held)) >= READ_ROWS:
            yield from pa.Table.from_batches(held).combine_chunks().to_batches()
            held = []
    if held:
        yield from pa.Table.from_batches(held).combine_chunks().to_batches()


def wrong_keys(batch: pa.RecordBatch) -> str:
    """Return what is wrong with the keys of rows; empty if nothing is."""
    for name in (STREAM, EPOCH, "id", "ms", "seq", FIELDS):
        if name not in batch.schema.names:
            return f"it has no column {name}"
        if batch.column(name).null_count:
            return f"it has rows without {name}"
    texts = [batch.column(name).cast(pa.string()) for name in ORDER]
    is_same = pc.equal(pc.binary_join_element_wise(*texts, "-"), batch.column("id"))
    place = pc.index(is_same, False).as_py()
    if place < 0:
        return ""
    return f"{batch.column('id')[place]}: its columns ms and seq do not match"


def between(batch: pa.RecordBatch, first: int, last: int) -> pa.RecordBatch:
    """Return the rows with IDs from `first` to `last`, both included."""
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
    # Files hold no IDs of 2^63 milliseconds or more.
    if high > INT64_MAX:
        return batch.filter(after)
    return batch.filter(pc.and_(after, before))


def _int64(value: int) -> pa.Scalar:
    return pa.scalar(min(value, INT64_MAX), pa.int64())


def _decimal(value: int) -> pa.Scalar:
    return pa.scalar(Decimal(value), pa.decimal128(20, 0))


def raw_entries(batch: pa.RecordBatch) -> list[RawEntry]:
    """Return entries in the form in which a server sends them."""
    ids = batch.column("id").to_pylist()
    return [
        [entry_id.encode(), [word for pair in fields for word in (pair["name"], pair["value"])]]
        for entry_id, fields in zip(ids, batch.column("fields").to_pylist(), strict=True)
    ]
