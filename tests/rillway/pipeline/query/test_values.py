"""Typed values as text."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from rillway.pipeline.arrow.schema import TIMESTAMP
from rillway.pipeline.query.values import cell_texts, json_texts


@pytest.mark.parametrize(
    ("kind", "value", "in_json", "cell"),
    [
        (pa.int32(), 5, "5", "5"),
        (pa.decimal128(10, 8), Decimal("0.00000001"), "0.00000001", "0.00000001"),
        (pa.float64(), 1.5, "1.5", "1.5"),
        (pa.float64(), float("nan"), '"nan"', "nan"),
        (pa.bool_(), True, "true", "true"),
        (pa.string(), 'größe "x"', '"größe \\"x\\""', 'größe "x"'),
        (pa.binary(), b"\xff", '{"base64": "/w=="}', '{"base64": "/w=="}'),
        (pa.date32(), date(2026, 1, 31), '"2026-01-31"', "2026-01-31"),
        (TIMESTAMP, datetime(2026, 1, 31, 12, tzinfo=UTC), '"2026-01-31T12:00:00Z"',
         "2026-01-31T12:00:00Z"),
        (TIMESTAMP, datetime(2026, 1, 31, 12, 0, 0, 500_000, UTC), '"2026-01-31T12:00:00.5Z"',
         "2026-01-31T12:00:00.5Z"),
        (pa.map_(pa.string(), pa.decimal128(5, 2)), [("a", Decimal("1.50"))], '{"a": 1.50}',
         '{"a": 1.50}'),
        (pa.struct([("a", pa.list_(pa.date32()))]), {"a": [date(2026, 1, 31), None]},
         '{"a": ["2026-01-31", null]}', '{"a": ["2026-01-31", null]}'),
    ],
)  # fmt: skip
def test_values_are_written_for_programs_and_people(
    kind: pa.DataType, value: Any, in_json: str, cell: str
) -> None:
    values = pa.array([value, None], kind)
    assert json_texts(values) == [in_json, "null"]
    assert cell_texts(values) == [cell, ""]
    json.loads(in_json)


def test_the_year_0_is_written_as_well() -> None:
    assert json_texts(pa.array(["0000-01-01"]).cast(pa.date32())) == ['"0000-01-01"']
