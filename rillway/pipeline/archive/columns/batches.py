"""Adds typed columns to batches with rows of several streams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

import pyarrow as pa

from rillway.pipeline.archive.columns.conversion import converted
from rillway.pipeline.archive.columns.encoding import Names, Unreadable, encode
from rillway.pipeline.archive.columns.layouts import KnownLayouts
from rillway.pipeline.archive.columns.schema import Columns
from rillway.pipeline.arrow.schema import FIELDS


class EntryUnreadable(Exception):
    """A value is not of its column's type, and `bad: fail`. The arguments: stream and text."""

    @property
    def stream(self) -> str:
        return str(self.args[0])

    def __str__(self) -> str:
        return str(self.args[1])


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive entries of one stream: their number, and the names of each."""

    stream: str
    known: KnownLayouts
    rows: int
    names: Names


def aligned(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch with the columns of a schema; missing ones are null."""
    columns = []
    for field in schema:
        if field.name not in batch.schema.names:
            columns.append(pa.nulls(len(batch), field.type))
        else:
            columns.append(converted(batch.column(field.name), field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def with_columns(
    batch: pa.RecordBatch, runs: Iterable[Run], columns: Columns
) -> Iterator[pa.RecordBatch]:
    """Add typed columns to entries; `runs` describes their streams. Raises EntryUnreadable.

    Streams whose columns come from the same pattern are converted together.
    """
    schema = pa.schema([*batch.schema, *columns.fields])
    begin = 0
    for fields, group in groupby(runs, key=lambda run: columns.of(run.stream)):
        held = list(group)
        part = batch.slice(begin, sum(run.rows for run in held))
        begin += len(part)
        found = {name: part.column(name) for name in part.schema.names}
        if fields is not None:
            known = [(run.known, run.names) for run in held]
            try:
                found |= encode(part.column(FIELDS), known, fields, fails=columns.fails)
            except Unreadable as error:
                stream, entry_id = (part.column(name)[error.place] for name in ("stream", "id"))
                raise EntryUnreadable(
                    str(stream),
                    f"{stream}: the entry {entry_id} cannot be read, and bad is fail: {error}",
                ) from None
        yield aligned(pa.RecordBatch.from_pydict(found), schema)
