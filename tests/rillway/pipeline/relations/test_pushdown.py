"""What filters exclude: never a row for which one holds."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rillway.pipeline.relations.pushdown import Pushed
from rillway.pipeline.wire.ids import MS, NONE

SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("ms", pa.int64()),
        ("ts", pa.timestamp("us", tz="UTC")),
        ("price", pa.decimal128(10, 2)),
        ("weight", pa.float64()),
        ("a 'b'", pa.int32()),
    ]
)
F = ds.field
BEGIN, END = 1_770_000_000_000, 1_770_000_100_000


def pushed(expression: ds.Expression | None) -> Pushed:
    return Pushed(expression, SCHEMA)


@pytest.mark.parametrize(
    ("expression", "bounds", "may_hold"),
    [
        (F("ms") == 5, {"ms": (1, 4)}, False),
        (F("ms") == 5, {"ms": (1, 5)}, True),
        (F("ms") == 5, {}, True),
        (F("ms").is_null(), {"ms": (1, 4)}, True),
        ((F("ms") == 5) | (F("id") == "x"), {"ms": (1, 4)}, True),
        ((F("ms") == 5) & (F("id") == "x"), {"ms": (1, 4)}, False),
        (F("ms").isin([7, 9]), {"ms": (1, 4)}, False),
        (F("price") > Decimal("5.00"), {"price": (Decimal("1.00"), Decimal("4.99"))}, False),
        (F("price") > Decimal("5.00"), {"price": ("no", "number")}, True),
        # NaN is not within bounds, and greater than 5 to DuckDB.
        (F("weight") > 5.0, {"weight": (1.0, 2.0)}, True),
        (F("a 'b'") > 5, {"a 'b'": (1, 2)}, False),
        (None, {"ms": (1, 4)}, True),
    ],
)
def test_bounds_exclude_what_cannot_hold(
    expression: ds.Expression | None, bounds: dict[str, Any], may_hold: bool
) -> None:
    assert pushed(expression).may_hold(bounds.get) is may_hold


@pytest.mark.parametrize(
    ("expression", "between"),
    [
        (F("ms") >= BEGIN + 10, (BEGIN + 10, END)),
        ((F("ms") >= BEGIN + 10) & (F("ms") < BEGIN + 20), (BEGIN + 10, BEGIN + 19)),
        (F("ms").isin([BEGIN + 5, BEGIN + 50]), (BEGIN + 5, BEGIN + 50)),
        (F("ts") == datetime.fromtimestamp((BEGIN + 7) / 1000, UTC), (BEGIN + 7, BEGIN + 7)),
        (F("id") == f"{BEGIN + 3}-17", (BEGIN + 3, BEGIN + 3)),
        (F("ms") < 0, None),
        (F("price") > 5, (BEGIN, END)),
    ],
)
def test_a_filter_bounds_ids(expression: ds.Expression, between: tuple[int, int] | None) -> None:
    assert pushed(expression).between(BEGIN, END, MS) == between


def test_ids_that_are_no_times_have_no_bounds_by_time() -> None:
    later = F("ts") == datetime(2026, 1, 31, tzinfo=UTC)
    assert pushed(later).between(5, 500, NONE) == (5, 500)


@given(
    values=st.lists(st.none() | st.integers(-5, 5), min_size=1, max_size=8),
    bound=st.integers(-6, 6),
    sign=st.sampled_from(["<", "<=", ">", ">=", "==", "!=", "in", "null"]),
    negated=st.booleans(),
)
def test_no_row_is_lost_by_bounds(
    values: list[int | None], bound: int, sign: str, negated: bool
) -> None:
    column = F("ms")
    expression = {
        "<": column < bound,
        "<=": column <= bound,
        ">": column > bound,
        ">=": column >= bound,
        "==": column == bound,
        "!=": column != bound,
        "in": column.isin([bound, bound + 1]),
        "null": column.is_null(),
    }[sign]
    chosen = pushed(~expression if negated else expression)
    batch = pa.record_batch([pa.array(values, pa.int64())], names=["ms"])
    kept = chosen.filtered(batch)
    assert batch.filter(chosen(batch)).equals(kept)
    there = [value for value in values if value is not None]
    if len(kept) and there:
        assert chosen.may_hold({"ms": (min(there), max(there))}.get)
