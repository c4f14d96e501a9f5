"""A stream as a relation of DuckDB: archive and memory as one.

DuckDB reads datasets of Arrow, and hands them the columns and the filter that a scan needs. So a
scan reads these columns only, of files and row groups that the filter does not exclude, and those
IDs in memory between which it may hold.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from rillway.pipeline.archive.files.parquet_files import EPOCH
from rillway.pipeline.archive.files.rows import Segment, StreamRows
from rillway.pipeline.arrow.schema import FIELDS, ORIGIN, PAIRS, TEXT_MAP
from rillway.pipeline.query.history import History
from rillway.pipeline.relations.pushdown import Pushed
from rillway.pipeline.wire.ids import MAX_SEQ, make_id, ms_of

RAW = "raw"


def relation_schema(history: History) -> pa.Schema:
    """Return the columns of a stream: of its entries, typed ones, and fields in two forms.

    `fields` are a map of texts, `raw` all names and values in order.
    """
    typed = {each.name: each.type for each in history.typed}
    kinds = {**ORIGIN, EPOCH: pa.int32(), **typed}
    # A typed column may have one of these names.
    kinds |= {n: kind for n, kind in ((FIELDS, TEXT_MAP), (RAW, PAIRS)) if n not in kinds}
    return pa.schema(list(kinds.items()))


@dataclass(slots=True)
class Reads:
    """What the scans of a statement do, in threads of DuckDB.

    `advanced`: called with the number of rows of each batch; `error`: the first error of a scan, of
    which DuckDB keeps the text only.
    """

    advanced: Callable[[int], None] = lambda rows: None
    error: BaseException | None = None


class StreamDataset(ds.Dataset):  # type: ignore[misc]
    """A dataset that DuckDB scans, maybe several times, each time for itself."""

    def __init__(self, history: History, reads: Reads) -> None:
        self._history, self._reads = history, reads
        self._schema = relation_schema(history)

    @property
    def schema(self) -> pa.Schema:
        return self._schema

    def scanner(
        self,
        columns: Sequence[str] | None = None,
        filter: ds.Expression | None = None,
        **_options: object,
    ) -> Scanner:
        names = list(self._schema.names if columns is None else columns)
        return Scanner(self._history, self._schema, names, filter, self._reads)


@dataclass(frozen=True, slots=True)
class Scanner:
    """One scan, in the form of Arrow's scanner."""

    history: History
    schema: pa.Schema
    names: Sequence[str]
    filter: ds.Expression | None
    reads: Reads

    @property
    def projected_schema(self) -> pa.Schema:
        return pa.schema([self.schema.field(name) for name in self.names])

    def to_reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.projected_schema, self._noted())

    def _noted(self) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._batches()
        except BaseException as error:
            self.reads.error = self.reads.error or error
            raise

    def _batches(self) -> Iterator[pa.RecordBatch]:
        pushed = Pushed(self.filter, self.schema)
        wanted = {*self.names, *(pushed.names if self.filter is not None else ())}
        kinds = pa.schema([self.schema.field(n) for n in self.schema.names if n in wanted])
        for batch in selected_batches(self.history, pushed, wanted):
            self.reads.advanced(len(batch))
            columns = [relation_column(batch, field) for field in kinds]
            found = pushed.filtered(pa.RecordBatch.from_arrays(columns, schema=kinds))
            if len(found):
                yield found.select(self.names)


def selected_batches(
    history: History, pushed: Pushed, wanted: Collection[str]
) -> Iterator[pa.RecordBatch]:
    """Yield entries for which a filter may hold, with the columns that are wanted, in order."""
    bounds = bounds_of(history, pushed)
    if bounds is None:
        return
    first, last = make_id(bounds[0]), make_id(bounds[1], MAX_SEQ)
    if history.archived is not None:
        yield from _archived(history.archived, history.typed, pushed, wanted, first, last)
    if history.live is not None:
        live = max(history.live[0], first), min(history.live[1], last)
        typed = tuple(each for each in history.typed if each.name in wanted)
        if live[0] <= live[1]:
            part = replace(history, archived=None, live=live, typed=typed)
            yield from part.batches()


def bounds_of(history: History, pushed: Pushed) -> tuple[int, int] | None:
    """Return the milliseconds of IDs between which a filter may hold; None if nowhere."""
    spans = [] if history.live is None else [(ms_of(history.live[0]), ms_of(history.live[1]))]
    if (rows := history.archived) is not None:
        for segment in rows.segments:
            ends = ms_of(segment.first), ms_of(segment.last)
            spans += [
                (max(file.first_ms, ends[0]), min(file.last_ms, ends[1]))
                for file in rows.named_files(segment)
            ]
    if not spans:
        return None
    whole = min(low for low, _ in spans), max(high for _, high in spans)
    return whole if pushed.expression is None else pushed.between(*whole, history.unit)


def _archived(
    rows: StreamRows,
    typed: Sequence[pa.Field],
    pushed: Pushed,
    wanted: Collection[str],
    first: int,
    last: int,
) -> Iterator[pa.RecordBatch]:
    segments = [
        Segment(one.epoch, max(one.first, first), min(one.last, last)) for one in rows.segments
    ]
    only = None if {FIELDS, RAW} & set(wanted) else frozenset(wanted)
    chosen = replace(rows, segments=segments, condition=pushed, only=only)
    for epoch, batch in chosen.batches():
        if EPOCH not in batch.schema.names:
            numbers = pa.repeat(pa.scalar(epoch, pa.int32()), len(batch))
            batch = batch.append_column(pa.field(EPOCH, pa.int32()), numbers)
        yield batch


def relation_column(batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
    """Return a column of a relation from entries."""
    if field.name == RAW and field.type == PAIRS:
        return batch.column(FIELDS)
    if field.name == FIELDS and field.type == TEXT_MAP:
        return text_map(batch.column(FIELDS))
    return batch.column(field.name)


def text_map(fields: pa.ListArray) -> pa.MapArray:
    """Return fields by name, as texts. The last value of a repeated name counts."""
    pairs, lengths = fields.flatten(), pc.fill_null(pc.list_value_length(fields), 0)
    names = texts(pairs.field("name"))
    values = texts(pairs.field("value"))
    if not _are_alike(names, lengths):
        parents = pc.list_parent_indices(fields)
        numbered = pa.table([parents, names, pa.array(range(len(pairs)))], names=["p", "n", "i"])
        last = numbered.group_by(["p", "n"]).aggregate([("i", "max")]).sort_by("i_max")
        if len(last) < len(pairs):
            at = last.column("i_max").combine_chunks()
            names, values = names.take(at), values.take(at)
            counted = pc.value_counts(last.column("p").combine_chunks()).to_pylist()
            found = {one["values"]: one["counts"] for one in counted}
            lengths = pa.array([found.get(row, 0) for row in range(len(fields))], pa.int32())
    ends = pc.cumulative_sum(lengths).cast(pa.int32())
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    return pa.MapArray.from_arrays(offsets, names, values)


def _are_alike(names: pa.Array, lengths: pa.Array) -> bool:
    """Return True if all entries have the same names, each once."""
    if not len(lengths) or not len(names):
        return True
    number = lengths[0].as_py()
    first = names.slice(0, number)
    return bool(
        number * len(lengths) == len(names)
        and pc.all(pc.equal(lengths, number)).as_py()
        and len(first.unique()) == number
        and names.slice(number).equals(names.slice(0, len(names) - number))
    )


def texts(values: pa.Array) -> pa.Array:
    """Return bytes as text; what is not UTF-8 as DuckDB writes a BLOB: `\\xFF`."""
    try:
        return values.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array(map(_text, values.to_pylist()), pa.string())


def _text(value: bytes | None) -> str | None:
    if value is None:
        return None
    try:
        return value.decode()
    except UnicodeDecodeError:
        return "".join(
            chr(b) if 32 <= b < 127 and b not in b"\\'\"" else f"\\x{b:02X}" for b in value
        )
