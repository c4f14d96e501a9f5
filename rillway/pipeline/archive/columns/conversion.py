"""Converts columns that another program has written to the types of the archive.

A type of Delta has several physical ones: a text may be a string, a large string, a view of one, or
a dictionary; a time may count nanoseconds, with or without a zone. Which one a file has depends on
the program that wrote it, and Arrow compares only equal types.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc


def converted(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return an array with another type. Raises ArrowException if it has other values."""
    if array.type == kind:
        return array
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_list(kind):
        return _list(array, kind)
    if pa.types.is_struct(kind) and pa.types.is_struct(array.type):
        return _struct(array, kind)
    return array.cast(kind)


def native(batch: pa.RecordBatch, fields: Iterable[pa.Field]) -> pa.RecordBatch:
    """Return a batch whose columns have the types of `fields`, as far as it has them."""
    for field in fields:
        place = batch.schema.get_field_index(field.name)
        if place >= 0 and batch.schema.field(place).type != field.type:
            column = converted(batch.column(place), field.type)
            batch = batch.set_column(place, field.name, column)
    return batch


def _list(array: pa.Array, kind: pa.ListType) -> pa.Array:
    lengths = pc.fill_null(pc.list_value_length(array), 0).cast(pa.int32())
    ends = pc.cumulative_sum(lengths)
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    if array.null_count:
        # A null offset is a null list.
        starts = offsets.slice(0, len(array))
        starts = pc.if_else(array.is_valid(), starts, pa.scalar(None, pa.int32()))
        offsets = pa.concat_arrays([starts, offsets.slice(len(array))])
    values = converted(array.flatten(), kind.value_type)
    return pa.ListArray.from_arrays(offsets, values, type=kind)


def _struct(array: pa.StructArray, kind: pa.StructType) -> pa.Array:
    found = dict(zip((field.name for field in array.type), array.flatten(), strict=True))
    if found.keys() != {field.name for field in kind}:
        raise pa.ArrowInvalid(f"{array.type} where {kind} is expected")
    columns = [converted(found[field.name], field.type) for field in kind]
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(columns, fields=list(kind), mask=mask)
