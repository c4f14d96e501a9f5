"""A K-way merge of files: their rows by stream, epoch and ID.

A part of each file is in memory. The rows up to the least of the last rows of these parts can be
sorted and yielded: all rows that are still unread follow them. A file that another program wrote
is sorted first, so it may be several inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from math import ceil
from typing import Any, TypeAlias

import pyarrow as pa

from rillway.pipeline.archive.columns.batches import aligned
from rillway.pipeline.archive.files.parquet_files import FILE_SCHEMA, SORTED_BY, ArchivedFile
from rillway.pipeline.archive.files.rows import READ_ROWS, bounded_batches, open_file
from rillway.pipeline.archive.files.sorting import sorted_runs
from rillway.pipeline.archive.files.store import Store

# Files that are open at once.
MAX_FILES = 200
# The rows in memory, of all files together.
HELD_ROWS = 200_000
# Up to this number of files, each may hold as many bytes as the reader of a single file.
FULL_BATCHES = 8
ORDER = [(name, "ascending") for name in SORTED_BY]

Key: TypeAlias = tuple[Any, ...]


def merged(
    store: Store, files: Sequence[ArchivedFile], schema: pa.Schema = FILE_SCHEMA
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of files in one order. Raises ArchiveError."""
    with ExitStack() as stack:
        inputs: list[_Input] = []
        rows = max(min(READ_ROWS, HELD_ROWS // max(len(files), 1)), 100)
        share = ceil(len(files) / FULL_BATCHES)
        for file in files:
            parquet = stack.enter_context(open_file(store, file))
            groups = range(parquet.metadata.num_row_groups)
            names = [name for name in schema.names if name in parquet.schema_arrow.names]
            found = bounded_batches(parquet, groups, rows, names, share)
            batches = (aligned(batch, schema) for batch in found)
            runs = [batches] if file.is_own else sorted_runs(batches, SORTED_BY, stack)
            inputs += map(_Input, runs)
        inputs = [one for one in inputs if one.advance()]
        while inputs:
            bound = min(one.last for one in inputs)
            parts = [one.take(bound) for one in inputs]
            inputs = [one for one in inputs if len(one.held) or one.advance()]
            yield from _sorted([part for part in parts if len(part)])


def _sorted(parts: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    if len(parts) == 1:
        yield parts[0]
        return
    rows = pa.Table.from_batches(parts)
    yield from rows.sort_by(ORDER).combine_chunks().to_batches()


class _Input:
    """A file that is being read. `held`: rows not yielded yet; `last`: the key of the last one."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self.held: pa.RecordBatch
        self.last: Key = ()

    def advance(self) -> bool:
        """Read the next rows; return False at the end."""
        for batch in self._batches:
            if len(batch):
                self.held = batch
                self.last = key_at(self.held, len(self.held) - 1)
                return True
        return False

    def take(self, bound: Key) -> pa.RecordBatch:
        """Remove and return the rows up to a bound."""
        end = len(self.held) if self.last <= bound else first_after(self.held, bound)
        taken, self.held = self.held.slice(0, end), self.held.slice(end)
        return taken


def key_at(batch: pa.RecordBatch, row: int) -> Key:
    return tuple(batch.column(name)[row].as_py() for name in SORTED_BY)


def first_after(batch: pa.RecordBatch, bound: Key) -> int:
    """Return the first row of a sorted batch after a bound."""
    return _partition(len(batch), lambda row: key_at(batch, row) > bound)


def _partition(length: int, is_after: Callable[[int], bool]) -> int:
    low, high = 0, length
    while low < high:
        middle = (low + high) // 2
        if is_after(middle):
            high = middle
        else:
            low = middle + 1
    return low
