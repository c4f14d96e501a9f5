"""Values of JSON as columns: as one by one, whatever they are nested in."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rillway.pipeline.arrow.column_parser import reader
from rillway.pipeline.arrow.json_columns import column, loads, parse, to_json
from rillway.pipeline.arrow.schema import TIMESTAMP

POINT = pa.struct([("x", pa.int32()), ("tags", pa.list_(pa.string()))])
NUMBERS = pa.map_(pa.string(), pa.decimal128(4, 2))


def values(found: pa.Array, bad: list[int]) -> list[Any]:
    """What became of them; what is no value is `...`."""
    assert all(found[place].as_py() is None for place in bad)
    return [... if place in bad else value for place, value in enumerate(found.to_pylist())]


def texts(*written: str | None) -> pa.Array:
    return pa.array([text and text.encode() for text in written], pa.binary())


def test_nested_types_are_read_from_json() -> None:
    points = texts('{"x": "7", "tags": ["a", 1]}', '{"y": 1}', "[]", "{", None)
    assert values(*parse(points, POINT)) == [
        {"x": 7, "tags": ["a", "1"]},
        {"x": None, "tags": None},
        ...,
        ...,
        None,
    ]
    maps = texts('{"a": 0.1, "b": null}', '{"a": 1000}', "{}")
    assert values(*parse(maps, NUMBERS)) == [[("a", Decimal("0.10")), ("b", None)], ..., []]
    lists = texts("[1, 2.0, null]", '"x"', "[{}]")
    assert values(*parse(lists, pa.list_(pa.int64()))) == [[1, 2, None], ..., ...]


def test_a_variant_holds_whatever_json_says() -> None:
    from pyspark.sql.types import StructType, VariantType, VariantVal

    from rillway.pipeline.arrow.schema import to_arrow

    kind = to_arrow(StructType().add("v", VariantType())).field("v").type
    found, bad = parse(texts('{"a": [1, "x"]}', "{", None), kind)
    assert bad == [1]
    first = found[0].as_py()
    assert VariantVal(first["value"], first["metadata"]).toJson() == '{"a":[1,"x"]}'


def test_json_of_another_shape_than_text_stays_json() -> None:
    held = [{"a": [1, Decimal("0.10"), True]}, True, "x", "\ud800"]
    assert values(*column(held, pa.string())) == ['{"a":[1,0.10,true]}', "true", "x", ...]
    assert values(*column([True], pa.bool_())) == [True]
    assert values(*column(["x"], pa.binary())) == [b"x"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32-le"])
def test_json_is_found_in_each_encoding(encoding: str) -> None:
    assert loads(' {"a": 1.5} '.encode(encoding)) == {"a": Decimal("1.5")}
    with pytest.raises(ValueError, match="Extra data"):
        loads("1 2".encode(encoding))


# -- columns and single values --------------------------------------------------------------------


def conform(value: Any, kind: pa.DataType) -> Any:
    """One value. Raises ValueError, ArithmeticError or TypeError."""
    if value is None:
        return None
    if pa.types.is_nested(kind):
        return conform_nested(value, kind)
    text = value if isinstance(value, str) else to_json(value)
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        encoded = text.encode()
        return encoded if pa.types.is_binary(kind) else text
    if isinstance(value, (dict, list)):
        raise ValueError(text)
    return pa.scalar(reader(kind)(text), kind).as_py()


def conform_nested(value: Any, kind: pa.DataType) -> Any:
    if pa.types.is_list(kind) and isinstance(value, list):
        return [conform(item, kind.value_type) for item in value]
    if pa.types.is_list(kind) or not isinstance(value, dict):
        raise ValueError(f"expected {kind}")
    if pa.types.is_map(kind):
        return [
            (conform(name, pa.string()), conform(item, kind.item_type))
            for name, item in value.items()
        ]
    fields = [kind.field(place) for place in range(kind.num_fields)]
    return {field.name: conform(value.get(field.name), field.type) for field in fields}


def expected(value: Any, kind: pa.DataType) -> Any:
    try:
        return conform(value, kind)
    except (ValueError, ArithmeticError, TypeError):
        return ...


SCALARS = [pa.int32(), pa.float64(), pa.bool_(), pa.decimal128(6, 2), pa.date32(), TIMESTAMP]
SCALARS += [pa.string(), pa.binary()]
KINDS = st.recursive(
    st.sampled_from(SCALARS),
    lambda inner: st.one_of(
        inner.map(pa.list_),
        inner.map(lambda kind: pa.map_(pa.string(), kind)),
        st.tuples(inner, inner).map(lambda two: pa.struct([("a", two[0]), ("b", two[1])])),
    ),
    max_leaves=4,
)
WORDS = st.sampled_from(["a", "b", "", "12", "1.5", "true", "2026-01-02", "2026-01-02T03:04:05Z"])
JSON = st.recursive(
    st.one_of(
        *(st.none(), st.booleans(), st.integers(-(2**40), 2**40), WORDS, st.text(max_size=3)),
        st.decimals(allow_nan=False, allow_infinity=False, places=2),
        st.just(float("nan")),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(WORDS, inner, max_size=3)),
    max_leaves=6,
)


@given(KINDS, st.lists(JSON, max_size=5))
def test_a_column_is_made_as_its_values_one_by_one(kind: pa.DataType, held: list[Any]) -> None:
    found, bad = column(held, kind)
    assert found.type == kind
    assert repr(values(found, bad)) == repr([expected(value, kind) for value in held])


@given(st.lists(JSON, max_size=5))
def test_json_as_text_is_found_again(held: list[Any]) -> None:
    for value in held:
        text = to_json(value)
        assert repr(loads(text.encode())) == repr(json.loads(text, parse_float=Decimal))
