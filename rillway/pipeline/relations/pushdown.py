"""Filters that DuckDB hands to a scan, and what they exclude.

DuckDB leaves it to the scan to apply them. They are expressions of Arrow, which says whether one
can hold within bounds: so files and row groups are skipped, and IDs found between which entries
can match.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.fs as pafs

from rillway.pipeline.ranges.filters import Bounds
from rillway.pipeline.wire.ids import MAX_SEQ, make_id, time_ms

ROW = "__row"
# Greater than all digits: the end of all IDs that begin with a number.
AFTER_DIGITS = "~"
MAX_TIME_MS = 253_402_300_799_999  # the end of the year 9999


@dataclass(frozen=True, slots=True)
class Pushed:
    """A filter, None for one that always holds. `schema`: the columns that it may use."""

    expression: ds.Expression | None
    schema: pa.Schema

    @property
    def names(self) -> frozenset[str]:
        """The columns that it uses, and maybe others."""
        if self.expression is None:
            return frozenset(["ms"])
        text = str(self.expression)
        # Other names may be printed in another form.
        return frozenset(n for n in self.schema.names if n in text or not n.isidentifier())

    def __call__(self, batch: pa.RecordBatch) -> pa.Array:
        if self.expression is None:
            return pa.repeat(True, len(batch))
        numbered = pa.Table.from_batches([batch])
        numbered = numbered.append_column(ROW, pa.array(range(len(batch)), pa.int64()))
        found = numbered.filter(self.expression).column(ROW)
        return pa.compute.is_in(numbered.column(ROW).combine_chunks(), found.combine_chunks())

    def filtered(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch if self.expression is None else batch.filter(self.expression)

    def may_hold(self, bounds: Bounds) -> bool:
        """Return False if it holds for no row within bounds."""
        if self.expression is None:
            return True
        known: ds.Expression | None = None
        for name in self.names:
            within = self._within(name, bounds(name))
            if within is not None:
                known = within if known is None else known & within
        return known is None or _may_hold(self.expression, known, self.schema)

    def _within(self, name: str, bounds: tuple[Any, Any] | None) -> ds.Expression | None:
        """Return what bounds say of a column; null is always possible."""
        kind = self.schema.field(name).type
        # Bounds leave out NaN, which DuckDB takes for the greatest number.
        if bounds is None or pa.types.is_floating(kind):
            return None
        try:
            least, greatest = (pa.scalar(value, kind) for value in bounds)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            return None
        column = ds.field(name)
        is_null = column.is_null()
        return ((column >= least) | is_null) & ((column <= greatest) | is_null)

    def between(self, first_ms: int, last_ms: int, unit: str) -> tuple[int, int] | None:
        """Narrow a range of milliseconds to where it may hold; None if it holds nowhere."""

        def may_be_within(low: int, high: int) -> bool:
            return self.may_hold(_of_ids(low, high, unit).get)

        if not may_be_within(first_ms, last_ms):
            return None
        low = _least(first_ms, last_ms, lambda end: may_be_within(first_ms, end))
        begin = _least(0, last_ms - low, lambda back: may_be_within(last_ms - back, last_ms))
        return low, last_ms - begin


def _of_ids(first_ms: int, last_ms: int, unit: str) -> dict[str, tuple[Any, Any]]:
    """Return the bounds of columns between two numbers of milliseconds."""
    found: dict[str, tuple[Any, Any]] = {"ms": (first_ms, last_ms)}
    if len(str(first_ms)) == len(str(last_ms)):  # else texts have another order than numbers
        found["id"] = f"{first_ms}-", f"{last_ms}-{AFTER_DIGITS}"
    begin, end = time_ms(make_id(first_ms), unit), time_ms(make_id(last_ms, MAX_SEQ), unit)
    if begin is not None and end is not None and end < MAX_TIME_MS:
        # In microseconds, as a unit may be finer than milliseconds.
        found["ts"] = begin * 1000, end * 1000 + 999
    return found


def _least(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """Return the least number up to `high`, for which it holds, of those for which it does."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


@cache
def _format() -> tuple[ds.ParquetFileFormat, pafs.FileSystem]:
    return ds.ParquetFileFormat(), pafs.LocalFileSystem()


def _may_hold(expression: ds.Expression, known: ds.Expression, schema: pa.Schema) -> bool:
    """Ask Arrow, as a dataset does before it reads a file. No file is opened."""
    kind, system = _format()
    fragment = kind.make_fragment("none", system, partition_expression=known)
    files = ds.FileSystemDataset([fragment], schema, kind, system)
    try:
        return any(True for _ in files.get_fragments(filter=expression))
    except pa.ArrowException:  # it cannot compare such values
        return True
