"""Erased entries by stream, epoch and ID, and the rows of files that have them."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rillway.pipeline.archive.erasure.journal import Entries
from rillway.pipeline.archive.files.parquet_files import EPOCH, STREAM, ArchivedFile
from rillway.pipeline.archive.files.rows import INT64_MAX, KEYS, bounded_batches, open_file
from rillway.pipeline.archive.files.store import Store
from rillway.pipeline.wire.ids import make_id, ms_of


def ids_of(batch: pa.RecordBatch) -> list[int]:
    """Return the IDs of rows."""
    columns = (batch.column(name).to_pylist() for name in ("ms", "seq"))
    return [make_id(ms, int(seq)) for ms, seq in zip(*columns, strict=True)]


@dataclass(slots=True)
class Targets:
    """Entries to remove. `ms`: the first halves of their IDs, sorted, by stream."""

    entries: Entries
    _ms: dict[str, list[int]] = field(default_factory=dict)
    _values: dict[tuple[str, int], pa.Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for stream, epochs in self.entries.items():
            found = {ms_of(entry_id) for ids in epochs.values() for entry_id in ids}
            # Files hold no greater ones.
            self._ms[stream] = sorted(ms for ms in found if ms <= INT64_MAX)

    def may_be_in(self, file: ArchivedFile) -> bool:
        """Return False if the file has none of the entries, by its bounds in the log."""
        return any(
            file.may_hold(stream, 0, INT64_MAX) and self._has_ms(ms, file.first_ms, file.last_ms)
            for stream, ms in self._ms.items()
        )

    @staticmethod
    def _has_ms(sorted_ms: list[int], first: int, last: int) -> bool:
        place = bisect_left(sorted_ms, first)
        return place < len(sorted_ms) and sorted_ms[place] <= last

    def mask(self, batch: pa.RecordBatch) -> pa.Array:
        """Return for each row whether it is one of the entries."""
        is_erased = pa.repeat(False, len(batch))
        for stream in pc.unique(batch.column(STREAM)).to_pylist():
            for epoch, ids in self.entries.get(stream, {}).items():
                key = stream, epoch
                if key not in self._values:
                    ms = {ms_of(entry_id) for entry_id in ids}
                    self._values[key] = pa.array([m for m in ms if m <= INT64_MAX], pa.int64())
                may_be = pc.and_(
                    pc.and_(pc.equal(batch.column(STREAM), stream), _equal(batch, epoch)),
                    pc.is_in(batch.column("ms"), self._values[key]),
                )
                at = pc.indices_nonzero(may_be)
                if len(at):
                    chosen = [entry_id in ids for entry_id in ids_of(batch.take(at))]
                    rows = at.filter(pa.array(chosen, pa.bool_()))
                    every = pa.array(range(len(batch)), at.type)
                    is_erased = pc.or_(is_erased, pc.is_in(every, rows))
        return is_erased

    def has_rows_in(self, store: Store, file: ArchivedFile) -> bool:
        """Return True if a file has one of the entries. Raises ArchiveError."""
        if not self.may_be_in(file):
            return False
        with open_file(store, file) as parquet:
            return self.has_rows(parquet)

    def has_rows(self, parquet: pq.ParquetFile) -> bool:
        """Return True if an open file has one of the entries."""
        groups = range(parquet.metadata.num_row_groups)
        batches = bounded_batches(parquet, groups, columns=KEYS)
        return any(pc.any(self.mask(batch)).as_py() for batch in batches)


def _equal(batch: pa.RecordBatch, epoch: int) -> pa.Array:
    return pc.equal(batch.column(EPOCH), pa.scalar(epoch, pa.int32()))
