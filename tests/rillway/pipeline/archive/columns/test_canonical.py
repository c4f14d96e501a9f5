"""The text that a value stands for; which texts leave `fields` is in test_encoding.py."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rillway.pipeline.archive.columns.canonical import canonical
from rillway.pipeline.archive.columns.schema import Column
from rillway.pipeline.arrow.json_columns import parse
from rillway.pipeline.arrow.schema import TIMESTAMP

NOON = datetime(2026, 1, 2, 12, 5, 9, 120_000, tzinfo=UTC)


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ({}, "2026-01-02 12:05:09.12"),
        ({"epoch_unit": "us"}, "1767355509120000"),
        ({"epoch_unit": "ms"}, "1767355509120"),
        ({"epoch_unit": "s"}, "1767355509"),
        ({"time_format": "yyyy-MM-dd'T'HH:mm:ss.SSSX"}, "2026-01-02T12:05:09.120Z"),
        ({"time_format": "d.M.y H:m:s.SSSSSSSSS xx"}, "2.1.2026 12:5:9.120000000 +0000"),
    ],
)
def test_times_are_written_as_the_schema_says(how: dict[str, str], text: str) -> None:
    column = Column("at", "TIMESTAMP", **how)
    values = pa.array([NOON, None], TIMESTAMP)
    assert canonical(values, column).to_pylist() == [text.encode(), None]


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        ("ARRAY<INT>", ["[]", "[1,null,-3]"]),
        ("ARRAY<STRING>", ['["a b","\N{SNOWMAN}\\n\\"\\u0001/"]', '["12"]']),
        ("ARRAY<ARRAY<BOOLEAN>>", ["[[true,false],null,[]]"]),
        ("MAP<STRING, DECIMAL(10,2)>", ["{}", '{"b":12.50,"a":null}']),
        ("MAP<STRING, ARRAY<DATE>>", ['{"":["2026-01-31"]}']),
        ("STRUCT<a: INT, b: STRING>", ["{}", '{"a":1,"b":"x"}', '{"b":""}']),
        ("STRUCT<a: STRUCT<b: DOUBLE>>", ['{"a":{"b":0.1}}', '{"a":{}}']),
        ("ARRAY<TIMESTAMP>", ['["2026-01-31 12:00:00.5"]']),
    ],
)
def test_lists_maps_and_structs_are_json_without_spaces(kind: str, texts: list[str]) -> None:
    column = Column("c", kind)
    written = [text.encode() for text in texts]
    values, bad = parse(pa.array([None, *written], pa.binary()), column.kind)
    assert bad == []
    assert canonical(values, column).to_pylist() == [None, *written]
    assert canonical(values.slice(1), column).to_pylist() == written
    assert canonical(values.slice(2), column).to_pylist() == written[1:]


def test_times_in_lists_are_numbers_if_the_schema_has_an_epoch_unit() -> None:
    column = Column("c", "ARRAY<TIMESTAMP>", epoch_unit="ms")
    values = pa.array([[NOON, None]], pa.list_(TIMESTAMP))
    assert canonical(values, column).to_pylist() == [b"[1767355509120,null]"]


@given(st.floats(width=32))
def test_a_float_of_32_bits_has_the_shortest_text(number: float) -> None:
    (text,) = canonical(pa.array([number], pa.float32()), Column("a", "FLOAT")).to_pylist()
    read = pa.array([float(text)], pa.float64()).cast(pa.float32(), safe=False)[0].as_py()
    assert repr(read) == repr(number)
    assert len(text) <= len(repr(number))
