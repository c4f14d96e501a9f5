"""The extent of each stream and epoch in files: number of rows, first and last ID."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from rillway.pipeline.archive.files.merge import merged
from rillway.pipeline.archive.files.parquet_files import EPOCH, FILE_SCHEMA, STREAM, ArchivedFile
from rillway.pipeline.archive.files.rows import KEYS
from rillway.pipeline.archive.files.store import Store
from rillway.pipeline.wire.ids import make_id

KEY_SCHEMA = pa.schema([FILE_SCHEMA.field(name) for name in KEYS])


@dataclass(frozen=True, slots=True)
class Extent:
    """The rows of one stream and epoch. `first`, `last`: IDs."""

    rows: int
    first: int
    last: int

    def with_others(self, other: Extent | None) -> Extent:
        if other is None:
            return self
        first, last = min(self.first, other.first), max(self.last, other.last)
        return Extent(self.rows + other.rows, first, last)


def extents(store: Store, files: Sequence[ArchivedFile]) -> dict[tuple[str, int], Extent]:
    """Return the extents by stream and epoch, reading only the key columns. Raises ArchiveError."""
    found: dict[tuple[str, int], Extent] = {}
    for file in files:
        for batch in merged(store, [file], KEY_SCHEMA):
            for stream, epoch, extent in _extents_of(batch):
                found[stream, epoch] = extent.with_others(found.get((stream, epoch)))
    return found


def _extents_of(batch: pa.RecordBatch) -> Iterator[tuple[str, int, Extent]]:
    runs = list(runs_of(batch))
    first_ids = _ids_at(batch, [first for _, _, first, _ in runs])
    last_ids = _ids_at(batch, [last for _, _, _, last in runs])
    for run, first_id, last_id in zip(runs, first_ids, last_ids, strict=True):
        stream, epoch, first, last = run
        yield stream, epoch, Extent(last - first + 1, first_id, last_id)


def _ids_at(batch: pa.RecordBatch, rows: list[int]) -> list[int]:
    places = pa.array(rows, pa.int64())
    ms, seq = (batch.column(name).take(places).to_pylist() for name in ("ms", "seq"))
    return [make_id(one, int(other)) for one, other in zip(ms, seq, strict=True)]


def runs_of(batch: pa.RecordBatch) -> Iterator[tuple[str, int, int, int]]:
    """Yield the stream, epoch, first and last row of each run in sorted rows."""
    if not len(batch):
        return
    changes = [0]
    if len(batch) > 1:
        size = len(batch) - 1
        pairs = [(c.slice(0, size), c.slice(1)) for c in map(batch.column, (STREAM, EPOCH))]
        is_other = pc.or_(*(pc.not_equal(one, other) for one, other in pairs))
        changes += [index + 1 for index in pc.indices_nonzero(is_other).to_pylist()]
    places = pa.array(changes, pa.int64())
    names, epochs = (batch.column(key).take(places).to_pylist() for key in (STREAM, EPOCH))
    ends = [change - 1 for change in [*changes[1:], len(batch)]]
    yield from zip(names, epochs, changes, ends, strict=True)
