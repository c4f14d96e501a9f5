"""Converts rows back to entries, byte for byte: values that have left `fields` return.

The layout of a row lists the fields in order. A field without a column is in `fields`. One with a
column is there as well, unless its value is the column's canonical text: then `fields` has one
value fewer of that name than the layout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from rillway.pipeline.archive.columns.canonical import canonical
from rillway.pipeline.archive.columns.layouts import LAYOUT, Layout, Layouts
from rillway.pipeline.archive.columns.schema import Column
from rillway.pipeline.arrow.schema import FIELDS, PAIR, PAIRS

ONE = pa.scalar(1, pa.int32())


class RowDamaged(ValueError):
    """A row does not match its layout; the text says which."""


def columns_of(layouts: Layouts) -> list[str]:
    """Return the columns that are needed to rebuild rows with these layouts."""
    names = (name for layout in layouts.values() for name in layout.columns if name is not None)
    return list(dict.fromkeys(names))


def rebuilt(batch: pa.RecordBatch, layouts: Layouts, columns: Mapping[str, Column]) -> pa.ListArray:
    """Return the fields of rows of one stream. Raises RowDamaged."""
    pairs = batch.column(FIELDS).cast(PAIRS)
    if LAYOUT not in batch.schema.names or batch.column(LAYOUT).null_count == len(batch):
        return pairs
    numbers = batch.column(LAYOUT)
    found = pc.unique(numbers).to_pylist()
    if len(found) == 1:
        return _alike(batch, pairs, _named(layouts, found[0]), columns)
    parts, places = [], []
    for number in found:
        mask = numbers.is_null() if number is None else pc.equal(numbers, number)
        at = pc.indices_nonzero(pc.fill_null(mask, False))
        part = pairs.take(at)
        if number is not None:
            part = _alike(batch.take(at), part, _named(layouts, number), columns)
        parts.append(part)
        places.append(at)
    order = pc.sort_indices(pa.concat_arrays(places))
    return pa.concat_arrays(parts).take(order)


def _named(layouts: Layouts, number: int) -> Layout:
    if number not in layouts:
        raise RowDamaged(f"a row has the layout {number}, which the archive's state does not have")
    return layouts[number]


def _alike(
    batch: pa.RecordBatch, pairs: pa.ListArray, layout: Layout, columns: Mapping[str, Column]
) -> pa.ListArray:
    """Return the fields of rows of one layout.

    Passes through the `pairs` of all rows at once, from left to right; `at` is the position.
    """
    rows, width = len(batch), len(layout.names)
    if not width:
        return pairs
    rest = _Rest(pairs)
    found: list[pa.Array] = []
    at = rest.starts
    for name, column in zip(layout.names, layout.columns, strict=True):
        if column is None:
            found.append(rest.values.take(at))
            at = pc.add(at, ONE)
            continue
        if column not in columns or column not in batch.schema.names:
            raise RowDamaged(f"a row has the column {column}, which the table no longer has")
        is_there = rest.has_all(name, layout.names.count(name), at)
        texts = canonical(batch.column(column), columns[column])
        found.append(pc.if_else(is_there, rest.values_at(at, is_there), texts))
        at = pc.add(at, is_there.cast(pa.int32()))
    if not at.equals(rest.ends) or any(part.null_count for part in found):
        raise RowDamaged(f"a row does not have the values that its layout {layout.number} names")
    return _lists(layout, found, rows)


class _Rest:
    """The values that rows have in `fields`."""

    def __init__(self, pairs: pa.ListArray) -> None:
        flat = pairs.flatten()
        self.names, self.values = flat.field(0), flat.field(1)
        offsets = pc.subtract(pairs.offsets, pairs.offsets[0])
        self.starts, self.ends = offsets.slice(0, len(pairs)), offsets.slice(1)

    def has_all(self, name: bytes, number: int, at: pa.Array) -> pa.Array:
        """Return a mask of rows whose `fields` hold every value of the name, so none is in its
        column.
        """
        if number == 1:
            is_within = pc.less(at, self.ends)
            names = self.names.take(pc.if_else(is_within, at, pa.scalar(None, pa.int32())))
            return pc.fill_null(pc.equal(names, name), False)
        marks = pc.equal(self.names, name).cast(pa.int32())
        sums = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(marks)])
        return pc.equal(pc.subtract(sums.take(self.ends), sums.take(self.starts)), number)

    def values_at(self, at: pa.Array, is_there: pa.Array) -> pa.Array:
        return self.values.take(pc.if_else(is_there, at, pa.scalar(None, pa.int32())))


def _lists(layout: Layout, found: Sequence[pa.Array], rows: int) -> pa.ListArray:
    """Turn a column of values for each field into a list of names and values for each row."""
    width = len(found)
    places = counted(rows * width)
    row = pc.divide(places, width)
    field = pc.subtract(places, pc.multiply(row, width))
    values = pa.concat_arrays(found).take(pc.add(pc.multiply(field, rows), row))
    names = pa.array(layout.names, pa.binary()).take(field)
    flat = pa.StructArray.from_arrays([names, values], fields=list(PAIR))
    offsets = pc.multiply(counted(rows + 1), pa.scalar(width, pa.int32()))
    return pa.ListArray.from_arrays(offsets, flat, type=PAIRS)


def counted(number: int) -> pa.Array:
    """Return the numbers from 0 on; from a range, Arrow takes them one at a time."""
    return pc.subtract(pc.cumulative_sum(pa.repeat(ONE, number)), ONE)
