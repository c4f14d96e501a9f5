"""Bounds of columns, which are never narrower than their values."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rillway.pipeline.archive.columns.statistics import (
    ColumnBounds,
    Statistics,
    greatest_text,
    least_text,
    time_bounds,
)
from rillway.pipeline.arrow.schema import TIMESTAMP


def bounds(kind: pa.DataType, *batches: list[Any]) -> ColumnBounds:
    schema = pa.schema([("a", kind)])
    statistics = Statistics(list(schema))
    for values in batches:
        statistics.add(pa.record_batch([pa.array(values, kind)], schema=schema))
    (found,) = statistics.bounds()
    return found


@pytest.mark.parametrize(
    ("kind", "values", "least", "greatest"),
    [
        (pa.int32(), [5, None, -3], -3, 5),
        (pa.decimal128(10, 2), [Decimal("1.50"), Decimal(-2)], Decimal("-2.00"), Decimal("1.50")),
        (pa.float64(), [1.5, -0.0], -0.0, 1.5),
        (pa.float64(), [1.5, float("nan")], None, None),
        (pa.float64(), [1.5, float("inf")], None, None),
        (pa.string(), ["b", "a" * 40], "a" * 32, "b"),
        (pa.date32(), [date(2026, 1, 31), date(2025, 1, 1)], "2025-01-01", "2026-01-31"),
        (TIMESTAMP, [datetime(2026, 1, 31, 12, 0, 0, 1500, UTC)],
         "2026-01-31T12:00:00.001Z", "2026-01-31T12:00:00.002Z"),
        (pa.int64(), [None], None, None),
    ],
)  # fmt: skip
def test_bounds_are_as_delta_has_them(
    kind: pa.DataType, values: list[Any], least: Any, greatest: Any
) -> None:
    expected = ColumnBounds("a", values.count(None), least, greatest)
    assert bounds(kind, values) == expected
    assert bounds(kind, *([value] for value in values)) == expected


def test_dates_that_python_does_not_know_leave_a_column_without_bounds() -> None:
    year_0 = pa.array(["0000-01-01"]).cast(pa.date32())
    statistics = Statistics([pa.field("a", pa.date32())])
    statistics.add(pa.record_batch([year_0], names=["a"]))
    assert statistics.bounds() == (ColumnBounds("a", 0),)


def test_booleans_bytes_and_nested_values_have_none() -> None:
    kinds = {"a": pa.bool_(), "b": pa.binary(), "c": pa.list_(pa.int32())}
    assert Statistics([pa.field(*item) for item in kinds.items()]).bounds() == ()


def test_times_are_known_up_to_the_year_9999() -> None:
    first, last = "2023-11-14T22:13:20.001Z", "9999-12-31T23:59:59.999Z"
    found = time_bounds("ts", 3, 1_700_000_000_001, 253_402_300_799_999)
    assert found == ColumnBounds("ts", 3, first, last)
    for later in (253_402_300_800_000, (1 << 63) - 1, None):
        assert time_bounds("ts", 0, 1, later) == ColumnBounds("ts", 0)


@given(st.text())
def test_text_is_cut_outwards(text: str) -> None:
    assert least_text(text) <= text <= greatest_text(text)
    assert len(greatest_text(text)) <= 33
