"""Sorts rows that another program wrote, in bounded memory: runs, which are merged.

Rows are sorted in memory up to a limit. Beyond it each sorted run goes to a temporary file, from
which it is read again batch by batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from tempfile import TemporaryFile

import pyarrow as pa
import pyarrow.compute as pc

from rillway.pipeline.archive.files.store import ArchiveError, Store

# Of a run, in Arrow's representation; and of a batch that is read from it.
RUN_BYTES, BATCH_BYTES = 64 << 20, 2 << 20
BATCH_ROWS = 10_000


class RowsDiffer(Exception):
    """Two rows have the same key, but different content. The argument: which, in words."""


def sorted_runs(
    batches: Iterable[pa.RecordBatch],
    names: Sequence[str],
    stack: ExitStack,
    run_bytes: int = RUN_BYTES,
) -> list[Iterator[pa.RecordBatch]]:
    """Return the rows of batches as runs that are sorted by columns.

    `stack`: closes the temporary files.
    """
    runs: list[Iterator[pa.RecordBatch]] = []
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if held and size + batch.nbytes > run_bytes:
            runs.append(_spilled(_sorted(held, names), stack))
            held, size = [], 0
        if len(batch):
            held.append(batch)
            size += batch.nbytes
    if held:
        runs.append(_parts(_sorted(held, names)))
    return runs


def _sorted(batches: Sequence[pa.RecordBatch], names: Sequence[str]) -> pa.Table:
    order = [(name, "ascending") for name in names]
    return pa.Table.from_batches(batches).sort_by(order).combine_chunks()


def _parts(rows: pa.Table) -> Iterator[pa.RecordBatch]:
    size = max(min(BATCH_ROWS, BATCH_BYTES * len(rows) // max(rows.nbytes, 1)), 1)
    yield from rows.to_batches(size)


def _spilled(rows: pa.Table, stack: ExitStack) -> Iterator[pa.RecordBatch]:
    file = TemporaryFile(prefix="rillway-sort-")  # noqa: SIM115 - closed by the stack
    stack.callback(file.close)
    with pa.ipc.new_stream(file, rows.schema) as writer:
        for batch in _parts(rows):
            writer.write_batch(batch)
    file.seek(0)
    return iter(pa.ipc.open_stream(file))


@dataclass(slots=True)
class Repeats:
    """Removes repeated rows from sorted ones. `rows`: the number removed."""

    names: Sequence[str]
    rows: int = 0

    def removed(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield each row once. Raises RowsDiffer if a repeated key has another row."""
        last: pa.RecordBatch | None = None
        for batch in batches:
            rows = batch
            if last is not None:
                rows = pa.concat_batches([last, batch])
            is_new = self._is_new(rows)
            if last is not None:
                is_new = is_new.slice(1)
            if not pc.all(is_new).as_py():
                self.rows += len(batch) - pc.sum(is_new).as_py()
                batch = batch.filter(is_new)
            if len(batch):
                last = batch.slice(len(batch) - 1)
                yield batch

    def _is_new(self, rows: pa.RecordBatch) -> pa.Array:
        """Return a mask of rows whose keys differ from the one before."""
        if len(rows) < 2:
            return pa.array([True] * len(rows))
        size = len(rows) - 1
        is_same: pa.Array | None = None
        for name in self.names:
            column = rows.column(name)
            equal = pc.equal(column.slice(0, size), column.slice(1))
            is_same = equal if is_same is None else pc.and_(is_same, equal)
        for place in pc.indices_nonzero(is_same).to_pylist():
            one, other = rows.slice(place, 1), rows.slice(place + 1, 1)
            # Arrow takes NaN to differ from itself.
            if not one.equals(other) and repr(one.to_pylist()) != repr(other.to_pylist()):
                stream, entry_id = (other.column(name)[0] for name in ("stream", "id"))
                raise RowsDiffer(f"{entry_id} of {stream}")
        return pa.concat_arrays([pa.array([True]), pc.invert(is_same)])


def distinct(
    store: Store, batches: Iterable[pa.RecordBatch], repeats: Repeats
) -> Iterator[pa.RecordBatch]:
    """Yield merged rows without those that another program has written again.

    Raises ArchiveError if such a row has other content.
    """
    try:
        yield from repeats.removed(batches)
    except RowsDiffer as error:
        raise ArchiveError(
            f"{store}: {error} is there twice, with different content: another program has written "
            "it again; delete one of the two rows"
        ) from None
