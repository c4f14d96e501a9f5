"""Text as values of a column's type, whether all of them are plain or not."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from rillway.pipeline.arrow import column_parser
from rillway.pipeline.arrow.column_parser import conform, parse
from rillway.pipeline.arrow.schema import TIMESTAMP

NOON = datetime(2026, 1, 2, 12, 0, 0, tzinfo=UTC)


def values(texts: list[str | None], kind: pa.DataType, unit: str | None = None) -> list[Any]:
    """What becomes of them; what is no value is `...`."""
    binary = pa.array([text and text.encode() for text in texts], pa.binary())
    found, bad = parse(binary, kind, unit)
    assert found.type == kind
    assert all(found[place].as_py() is None for place in bad)
    return [... if place in bad else value for place, value in enumerate(found.to_pylist())]


@pytest.mark.parametrize(
    ("kind", "texts", "expected"),
    [
        (pa.int32(), ["12", " 12", "+5", "3.0", "1e3", "-0"], [12, 12, 5, 3, 1000, 0]),
        (pa.int32(), ["3.5", "x", "", "1e10", "0x1f", "1_0"], [...] * 6),
        (pa.int8(), ["127", "-128", "128", "1e2"], [127, -128, ..., 100]),
        (pa.int64(), [str(2**63 - 1), str(-(2**63)), str(2**63)], [2**63 - 1, -(2**63), ...]),
        (pa.int64(), ["1" + "0" * 30, "1e400"], [..., ...]),
        (pa.float64(), ["1.5", "+1.5", " .5", "5.", "1e3", "x"], [1.5, 1.5, 0.5, 5.0, 1000.0, ...]),
        (pa.float32(), ["0.5", "1_0", "Infinity"], [0.5, ..., float("inf")]),
        (pa.bool_(), ["true", "FALSE", "1", "0", " true", "yes"], [True, False] * 2 + [True, ...]),
        (pa.decimal128(5, 2), ["1.5", "1.555", "+2", "1e2", "1000", "999.995"],
         [Decimal("1.50"), Decimal("1.56"), Decimal(2), Decimal(100), ..., ...]),
        (pa.decimal128(2, 2), ["0.25", ".5", "1"], [Decimal("0.25"), Decimal("0.50"), ...]),
        (pa.date32(), ["2026-01-02", " 2026-01-02", "2026-02-30"],
         [date(2026, 1, 2), date(2026, 1, 2), ...]),
        (TIMESTAMP, ["2026-01-02T12:00:00Z", "2026-01-02 12:00:00", "2026-01-02T13:00+01:00",
                     "2026-01-02T12:00:00.000000", "noon"], [NOON] * 4 + [...]),
        (pa.timestamp("us"), ["2026-01-02T14:00:00+02:00", "2026-01-02 12:00"],
         [NOON.replace(tzinfo=None)] * 2),
        (pa.string(), ["x", "\N{SNOWMAN}"], ["x", "\N{SNOWMAN}"]),
    ],
)  # fmt: skip
def test_values_are_read_alike_alone_and_among_others(
    kind: pa.DataType, texts: list[str], expected: list[Any]
) -> None:
    assert values([None, *texts], kind) == [None, *expected]
    assert [values([text], kind)[0] for text in texts] == expected


@pytest.mark.parametrize(
    ("unit", "text"), [("s", "1767355200"), ("s", "1767355200.0"), ("ms", "1767355200000"),
                       ("us", "1767355200000000"), ("ms", "2026-01-02T12:00:00Z")]
)  # fmt: skip
def test_times_may_be_numbers_since_1970(unit: str, text: str) -> None:
    assert values([text, "later"], TIMESTAMP, unit) == [NOON, ...]


def test_a_number_is_no_time_unless_its_unit_is_known() -> None:
    assert values(["1767355200"], TIMESTAMP) == [...]


def test_text_that_is_no_utf8_is_no_value() -> None:
    binary = pa.array([b"12", b"\xff", None, b"13"], pa.binary())
    assert parse(binary, pa.int64())[0].to_pylist() == [12, None, None, 13]
    assert parse(binary, pa.int64())[1] == parse(binary, pa.string())[1] == [1]


def test_only_what_is_not_plain_is_looked_at_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a column with one bad value in a thousand, and for each kind that has a plain way."""
    looked_at: list[str] = []
    make = column_parser.reader

    def counting(kind: pa.DataType, unit: str | None = None) -> Any:
        read = make(kind, unit)

        def one(text: str) -> Any:
            looked_at.append(text)
            return read(text)

        return one

    monkeypatch.setattr(column_parser, "reader", counting)
    for kind, text in [
        (pa.int16(), "12"),
        (pa.int64(), "-12"),
        (pa.float64(), "1.5e3"),
        (pa.decimal128(8, 2), "12.5"),
        (pa.bool_(), "true"),
        (pa.date32(), "2026-01-02"),
        (TIMESTAMP, "2026-01-02T12:00:00.5Z"),
        (TIMESTAMP, "2026-01-02 12:00:00"),
    ]:
        looked_at.clear()
        found = values([*[text] * 500, "bad", *[text] * 500], kind)
        assert looked_at == ["bad"]
        assert found.count(...) == 1 and found[0] == found[-1] is not None


# -- JSON ----------------------------------------------------------------------------------------

POINT = pa.struct([("x", pa.int32()), ("tags", pa.list_(pa.string()))])


def test_nested_types_are_read_from_json() -> None:
    texts: list[str | None] = ['{"x": "7", "tags": ["a", 1]}', '{"y": 1}', "[]", "{", None]
    assert values(texts, POINT) == [
        {"x": 7, "tags": ["a", "1"]},
        {"x": None, "tags": None},
        ...,
        ...,
        None,
    ]
    numbers = pa.map_(pa.string(), pa.decimal128(4, 2))
    assert values(['{"a": 0.1, "b": null}', '{"a": 1000}'], numbers) == [
        [("a", Decimal("0.10")), ("b", None)],
        ...,
    ]
    lists: list[str | None] = ["[1, 2.0, null]", '"x"', "[{}]"]
    assert values(lists, pa.list_(pa.int64())) == [[1, 2, None], ..., ...]


def test_a_variant_holds_whatever_json_says() -> None:
    from pyspark.sql.types import StructType, VariantType, VariantVal

    from rillway.pipeline.arrow.schema import to_arrow

    kind = to_arrow(StructType().add("v", VariantType())).field("v").type
    found, bad = parse(pa.array([b'{"a": [1, "x"]}', b"{", None]), kind)
    assert bad == [1]
    first = found[0].as_py()
    assert VariantVal(first["value"], first["metadata"]).toJson() == '{"a":[1,"x"]}'
    assert conform({"a": [1]}, kind)["metadata"]


def test_json_of_another_shape_than_text_stays_json() -> None:
    assert conform({"a": [1, Decimal("0.10")]}, pa.string()) == '{"a":[1,0.10]}'
    assert conform(True, pa.bool_()) is True
    assert conform("x", pa.binary()) == b"x"
