"""Text as values of a column's type, whether all of them are plain or not."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rillway.pipeline.arrow import column_parser
from rillway.pipeline.arrow.column_parser import TimeText, parse
from rillway.pipeline.arrow.schema import TIMESTAMP

NOON = datetime(2026, 1, 2, 12, 0, 0, tzinfo=UTC)


def values(texts: list[str | None], kind: pa.DataType, unit: str | None = None) -> list[Any]:
    """What becomes of them; what is no value is `...`."""
    binary = pa.array([text and text.encode() for text in texts], pa.binary())
    found, bad = parse(binary, kind, TimeText(unit))
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


# -- columns and single values --------------------------------------------------------------------

SIGNS = "0123456789+-.eE:TZ /xnaif_"
TEXTS = st.one_of(
    st.text(SIGNS, max_size=12),
    st.integers(-(2**70), 2**70).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, places=3).map(str),
    st.floats().map(repr),
    st.dates().map(str),
    st.datetimes(timezones=st.sampled_from([None, UTC])).map(str),
    st.datetimes().map(lambda moment: moment.strftime("%Y-%m-%dT%H:%M%z")),
    st.sampled_from(
        ["true", "FALSE", "1", " 0", "yes", "NaN", "inf", "1e400", "-0.0", "2026-02-30"]
    ),
)
KINDS = [
    *(pa.int8(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.bool_(), pa.date32()),
    *(pa.decimal128(5, 2), pa.decimal128(20, 0), pa.decimal128(38, 18), TIMESTAMP),
    *(pa.timestamp("us"), pa.string()),
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@given(st.lists(st.one_of(st.none(), TEXTS), max_size=6), st.sampled_from([None, "s", "ms", "us"]))
def test_a_column_is_read_as_its_values_one_by_one(
    kind: pa.DataType, texts: list[str | None], unit: str | None
) -> None:
    unit = unit if pa.types.is_timestamp(kind) else None
    read = str if pa.types.is_string(kind) else column_parser.reader(kind, unit)

    def one(text: str | None) -> Any:
        try:
            return None if text is None else pa.scalar(read(text), kind).as_py()
        except (ValueError, ArithmeticError, TypeError):
            return ...

    assert repr(values(texts, kind, unit)) == repr([one(text) for text in texts])
