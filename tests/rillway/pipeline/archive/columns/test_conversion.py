"""Columns of other writers get the types of the archive."""

from __future__ import annotations

import pyarrow as pa
import pytest

from rillway.pipeline.archive.columns.conversion import converted, native
from rillway.pipeline.archive.files.parquet_files import FILE_SCHEMA
from rillway.pipeline.arrow.schema import PAIRS

VALUES = [[{"name": b"a", "value": b"\xff"}, {"name": b"b", "value": b""}], [], None]


@pytest.mark.parametrize(
    ("values", "written", "kind"),
    [
        (["a", None], pa.string_view(), pa.string()),
        (["a", None], pa.large_string(), pa.string()),
        (["a", None, "a"], pa.dictionary(pa.int32(), pa.string()), pa.string()),
        ([b"\xff", None], pa.binary_view(), pa.binary()),
        ([b"\xff", None], pa.large_binary(), pa.binary()),
        ([1, None], pa.int64(), pa.int32()),
        ([1, None], pa.timestamp("ns"), pa.timestamp("us", "UTC")),
        ([[1], [], None], pa.large_list(pa.int8()), pa.list_(pa.int32())),
        ([[1], [], None], pa.list_view(pa.int8()), pa.list_(pa.int32())),
    ],
    ids=str,
)
def test_a_type_of_another_writer_is_converted(
    values: list[object], written: pa.DataType, kind: pa.DataType
) -> None:
    if pa.types.is_timestamp(written):
        array = pa.array([1000, None], pa.int64()).cast(written)
    else:
        array = pa.array(values, written)
    found = converted(array, kind)
    assert found.type == kind
    assert (
        found.cast(pa.int64()).to_pylist() == [1, None]
        if pa.types.is_timestamp(kind)
        else (found.to_pylist() == values)
    )


@pytest.mark.parametrize("binary", [pa.binary(), pa.large_binary(), pa.binary_view()], ids=str)
@pytest.mark.parametrize("lists", [pa.list_, pa.large_list, pa.list_view])
def test_fields_are_converted_whatever_their_lists_and_bytes_are(
    binary: pa.DataType, lists: object
) -> None:
    pair = pa.struct([("value", binary), ("name", binary)])
    array = pa.array(VALUES, lists(pair))  # type: ignore[operator]
    assert converted(array, PAIRS).to_pylist() == VALUES
    assert converted(array.slice(1), PAIRS).to_pylist() == VALUES[1:]


def test_other_values_are_not_converted() -> None:
    with pytest.raises(pa.ArrowException):
        converted(pa.array([1 << 40]), pa.int32())
    with pytest.raises(pa.ArrowException):
        converted(pa.array([{"x": 1}]), pa.struct([("y", pa.int64())]))


def test_a_batch_keeps_columns_that_files_do_not_have() -> None:
    batch = pa.RecordBatch.from_pydict({"id": pa.array(["1-0"], pa.string_view()), "x": [1]})
    found = native(batch, FILE_SCHEMA)
    assert found.schema == pa.schema([("id", pa.string()), ("x", pa.int64())])
