"""Reads the rows for which a condition holds, and little else of a file.

A file or a row group is skipped if its least and greatest values exclude the condition. Of any
other row group the columns of the condition are read first, and the rest only if it holds for a
row. Columns with one value, or none, are not read at all.

Only for files that this program wrote: the bounds of others may be missing, or wrong for times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rillway.pipeline.archive.columns.layouts import LAYOUT
from rillway.pipeline.archive.columns.schema import RESCUED
from rillway.pipeline.archive.files.parquet_files import EPOCH, STREAM, ArchivedFile
from rillway.pipeline.arrow.schema import FIELDS
from rillway.pipeline.ranges.filters import Bounds

ID, HALVES = "id", ("ms", "seq")
# Columns that mostly have one value in a row group, or none, with the leaf that shows it.
UNVARIED = {name: name for name in (STREAM, EPOCH, "seq", LAYOUT, RESCUED)}
UNVARIED[FIELDS] = f"{FIELDS}.list.element.name"
# What is read at once. A row group with more names and values is read in parts, and as a whole.
MAX_ROWS, MAX_VALUES = 100_000, 1_000_000
VARIED = object()


class Condition(Protocol):
    """A condition of rows, which needs the columns `names`."""

    @property
    def names(self) -> frozenset[str]: ...

    def __call__(self, batch: pa.RecordBatch) -> pa.Array:
        """Return whether it holds, for each row."""
        ...

    def may_hold(self, bounds: Bounds) -> bool:
        """Return False if it holds for no row within bounds."""
        ...


def may_have_rows(condition: Condition, file: ArchivedFile) -> bool:
    """Return False if the condition holds for no row of a file, by the bounds in the log."""
    known = file.known

    def bounds(name: str) -> tuple[Any, Any] | None:
        least, greatest = known.get(f"min.{name}"), known.get(f"max.{name}")
        return None if least is None or greatest is None else (least, greatest)

    return not file.is_own or condition.may_hold(bounds)


@dataclass(frozen=True, slots=True)
class Scan:
    """A scan of the row groups of a file. `schema`: the wanted columns; some may be missing."""

    condition: Condition
    parquet: pq.ParquetFile
    schema: pa.Schema
    places: dict[str, int] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        schema = self.parquet.metadata.schema
        self.places.update((schema.column(n).path, n) for n in range(len(schema)))
        # Names of columns may have dots.
        there = set(self.parquet.schema_arrow.names)
        self.names.extend(name for name in self.schema.names if name in there)

    def runs(self, numbers: Sequence[int]) -> Iterator[tuple[list[int], bool]]:
        """Divide the row groups that may have rows into runs that are read at once, each with
        whether it can be scanned.
        """
        held: list[int] = []
        rows = values = 0
        for number in numbers:
            if not self._may_have_rows(number):
                continue
            group = self.parquet.metadata.row_group(number)
            most = max(group.column(place).num_values for place in range(group.num_columns))
            if FIELDS in self.condition.names or most > MAX_VALUES:
                if held:
                    yield held, True
                    held, rows, values = [], 0, 0
                yield [number], False
                continue
            if held and (rows + group.num_rows > MAX_ROWS or values + most > MAX_VALUES):
                yield held, True
                held, rows, values = [], 0, 0
            held, rows, values = [*held, number], rows + group.num_rows, values + most
        if held:
            yield held, True

    def _may_have_rows(self, number: int) -> bool:
        """Return False if the condition holds for no row of a row group."""
        group = self.parquet.metadata.row_group(number)

        def bounds(name: str) -> tuple[Any, Any] | None:
            known = group.column(self.places[name]).statistics if name in self.places else None
            try:
                return (known.min, known.max) if known is not None and known.has_min_max else None
            except (OverflowError, ValueError):  # a time after the year 9999
                return None

        return self.condition.may_hold(bounds)

    def rows(self, numbers: Sequence[int]) -> Iterator[pa.RecordBatch]:
        """Yield the rows for which the condition holds, as one batch with `schema`, or none."""
        metadata = self.parquet.metadata
        length = sum(metadata.row_group(number).num_rows for number in numbers)
        constants = self._constants(numbers)
        needed = [name for name in self.condition.names if name in self.schema.names]
        there = [name for name in needed if name in self.names and name not in constants]
        first = {name: decoded(column) for name, column in self._read(numbers, there).items()}
        lacking = [name for name in needed if name not in first]
        first |= {name: self._repeated(name, constants, length) for name in lacking}
        mask = self.condition(pa.RecordBatch.from_pydict(first))
        at = pc.indices_nonzero(pc.fill_null(mask, False))
        if not len(at):
            return
        found = {name: column.take(at) for name, column in first.items()}
        rest = [name for name in self.names if name not in found and name not in constants]
        varied = self._read(numbers, [name for name in rest if name != ID])
        found |= {name: decoded(column.take(at)) for name, column in varied.items()}
        for name in self.schema.names:
            if name not in found and name != ID:
                found[name] = self._repeated(name, constants, len(at))
        if ID in self.schema.names and ID not in found:
            texts = [found[name].cast(pa.string()) for name in HALVES]
            found[ID] = pc.binary_join_element_wise(*texts, "-")
        columns = [found[name] for name in self.schema.names]
        yield pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _read(self, numbers: Sequence[int], names: Sequence[str]) -> dict[str, pa.Array]:
        if not names:
            return {}
        rows = self.parquet.read_row_groups(numbers, columns=list(names), use_threads=False)
        return {name: rows.column(name).combine_chunks() for name in names}

    def _repeated(self, name: str, constants: Mapping[str, Any], length: int) -> pa.Array:
        """Return a column of one value, or of none."""
        kind, value = self.schema.field(name).type, constants.get(name)
        if value is None:
            return pa.nulls(length, kind)
        if name == FIELDS:
            offsets = pa.repeat(pa.scalar(0, pa.int32()), length + 1)
            return pa.ListArray.from_arrays(offsets, pa.nulls(0, kind.value_type), type=kind)
        return pa.repeat(pa.scalar(value, kind), length)

    def _constants(self, numbers: Sequence[int]) -> dict[str, Any]:
        """Return the columns with a single value in all of some row groups, by their statistics."""
        found: dict[str, Any] = {}
        for name, leaf in UNVARIED.items():
            if name in self.names and leaf in self.places:
                place = self.places[leaf]
                values = {self._constant(number, name, place) for number in numbers}
                if len(values) == 1 and (value := values.pop()) is not VARIED:
                    found[name] = value
        return found

    def _constant(self, number: int, name: str, place: int) -> Any:
        """Return the value of a column in a row group: None without any, or VARIED."""
        group = self.parquet.metadata.row_group(number)
        column = group.column(place)
        known = column.statistics
        if known is None:
            return VARIED
        if known.null_count == column.num_values == group.num_rows:
            return () if name == FIELDS else None
        if name == FIELDS or not known.has_min_max or known.null_count:
            return VARIED
        least = known.min
        return least if least == known.max else VARIED


def decoded(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
