"""Several sorted files as one: their rows in the order of the files, by stream, epoch and ID.

A part of each file is in memory at once. All rows up to the least of the last rows of these parts
can be sorted and handed out: whatever the files still have comes after them.
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
from rillway.pipeline.archive.files.store import Store

# Files that are open at once.
MAX_FILES = 200
# Of all files together.
HELD_ROWS = 200_000
# So many files may each hold as many bytes as a reader of one file does.
FULL_BATCHES = 8
ORDER = [(name, "ascending") for name in SORTED_BY]

Key: TypeAlias = tuple[Any, ...]


def merged(
    store: Store, files: Sequence[ArchivedFile], schema: pa.Schema = FILE_SCHEMA
) -> Iterator[pa.RecordBatch]:
    """The rows of sorted files in one order. Raises ArchiveError."""
    with ExitStack() as stack:
        inputs = []
        rows = max(min(READ_ROWS, HELD_ROWS // max(len(files), 1)), 100)
        for file in files:
            parquet = stack.enter_context(open_file(store, file))
            groups = range(parquet.metadata.num_row_groups)
            batches = bounded_batches(parquet, groups, rows, share=ceil(len(files) / FULL_BATCHES))
            inputs.append(_Input(batches, schema))
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
    """A file that is read. `held`: rows that were not handed out yet; `last`: where they end."""

    def __init__(self, batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> None:
        self._batches, self._schema = batches, schema
        self.held: pa.RecordBatch = pa.RecordBatch.from_pylist([], schema)
        self.last: Key = ()

    def advance(self) -> bool:
        """The next rows; False if there are none."""
        for batch in self._batches:
            if len(batch):
                self.held = aligned(batch, self._schema)
                self.last = key_at(self.held, len(self.held) - 1)
                return True
        return False

    def take(self, bound: Key) -> pa.RecordBatch:
        """The rows up to a bound, which are not held any more."""
        end = len(self.held) if self.last <= bound else first_after(self.held, bound)
        taken, self.held = self.held.slice(0, end), self.held.slice(end)
        return taken


def key_at(batch: pa.RecordBatch, row: int) -> Key:
    return tuple(batch.column(name)[row].as_py() for name in SORTED_BY)


def first_after(batch: pa.RecordBatch, bound: Key) -> int:
    """The first row of a sorted batch that comes after a bound."""
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
