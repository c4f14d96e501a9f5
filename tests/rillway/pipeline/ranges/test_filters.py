"""Conditions without Spark. That they mean what Spark says: jvm/test_commands.py."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from rillway.pipeline.arrow.decoder import RawEntry, fields_decoder
from rillway.pipeline.query.history import history_batch
from rillway.pipeline.ranges.conditions import tokens
from rillway.pipeline.ranges.filters import (
    Bounds,
    NeedsSpark,
    UnknownColumn,
    make_filter,
    unknown_column,
)

ENTRIES: list[RawEntry] = [
    [b"1-0", [b"carrier", b"UA", b"delay", b"7"]],
    [b"2-0", [b"carrier", b"AA"]],
    [b"2-5", []],
    [b"3-0", [b"carrier", b"AA", b"carrier", b"UA"]],
    [b"4-0", [b"carrier", b"\xff\n\xfe", b"", b"it"]],
    [b"5-0", [b"Carrier", b"UA"]],
]
CONDITIONS = {
    "fields['carrier'] = 'UA'": "1-0 3-0",
    "'UA' == FIELDS['carrier']": "1-0 3-0",
    "fields['carrier'] <> 'UA'": "2-0 4-0",
    "NOT fields['carrier'] = 'UA'": "2-0 4-0",
    "not (fields['carrier'] = 'UA' or ms > 3)": "2-0",
    "fields['carrier'] > 'B'": "1-0 3-0 4-0",
    "fields['carrier'] = fields['delay'] or id = '2-5'": "2-5",
    "fields['carrier'] IN ('AA', 'B')": "2-0",
    "fields['carrier'] NOT IN ('AA')": "1-0 3-0 4-0",
    "fields['carrier'] IS NULL": "2-5 5-0",
    "fields['carrier'] IS NOT NULL AND ms >= 3": "3-0 4-0",
    "fields['carrier'] LIKE '%A'": "1-0 2-0 3-0",
    "fields['carrier'] NOT LIKE 'A%'": "1-0 3-0 4-0",
    "fields[''] = 'it'": "4-0",
    "ms = 2 AND id != '2-0'": "2-5",
    "(ms < 2 OR ms >= 5) AND stream = 's'": "1-0 5-0",
    "`ms` IN (1, 5, 9)": "1-0 5-0",
    "epoch = 1 AND ms <= 1": "1-0",
    "id IN ('1-0', '2-5')": "1-0 2-5",
    "ms < 2 OR fields['delay'] = '8'": "1-0",
    "NOT NOT NOT ms > 1": "1-0",
    'fields["carrier"] = "UA"': "1-0 3-0",
    "fields.carrier = 'UA'": "1-0 3-0",
    "ms BETWEEN 2 AND 3": "2-0 2-5 3-0",
    "fields['carrier'] NOT BETWEEN 'B' AND 'Z'": "2-0 4-0",
    "ts > '1970-01-01T00:00:00.002Z'": "3-0 4-0 5-0",
    "ts >= '1970-01-01 01:00:00.004+01:00'": "4-0 5-0",
    "TIMESTAMP '1970-01-01 00:00:00.001' = ts OR ts < '0001-01-01T00:00:00+10:00'": "1-0",
    "ts < '1970-01-01 00:00:00.0025'": "1-0 2-0 2-5",
    "ts > '1970-01-01' AND DATE '1970-01-02' > ts AND ms = 2": "2-0 2-5",
    "ts IS NULL OR ts <> ts": "",
}

CUSTOMER, AMOUNT = pa.field("customer", pa.string()), pa.field("amount", pa.decimal128(38, 19))
COUNT, AT = pa.field("Count", pa.int16()), pa.field("at", pa.timestamp("us", "UTC"))
DAY = pa.field("day", pa.date32())
TYPED = [CUSTOMER, AMOUNT, COUNT, AT, DAY]
TYPED_VALUES = {
    CUSTOMER: ["ann", None, "Ann", "é", "", "ann"],
    AMOUNT: [Decimal("12.5"), Decimal(7), None, Decimal("-3.01"), Decimal(9), Decimal("9.99")],
    COUNT: [1, 2, 3, -4, None, 6],
    AT: [None, 0, 1, 2, 3, 4],
    DAY: [0, 1, None, 20_000, -1, 2],
}
TYPED_CONDITIONS = {
    "customer = 'ann'": "1-0 5-0",
    "CUSTOMER > 'b'": "3-0",
    "customer LIKE 'A%' OR customer IS NULL": "2-0 2-5",
    "customer IN ('', 'é')": "3-0 4-0",
    "amount > 9": "1-0 5-0",
    "amount >= 9223372036854775807": "",
    "9 = Amount": "4-0",
    "amount = 12.50": "1-0",
    "amount > 9.98 AND 12.4999999999999999999 > amount": "5-0",
    "count < 2.5 AND ms <> 1.0": "2-0 3-0",
    "amount >= 7. AND amount < 100000000000000000.5": "1-0 2-0 4-0 5-0",
    "amount IS NULL": "2-5",
    "NOT amount < 9": "1-0 4-0 5-0",
    "amount > count": "1-0 2-0 3-0 5-0",
    "count IN (1, 3, 700000)": "1-0 2-5",
    "count = ms AND customer = 'ann'": "1-0",
    "at < '1970-01-01T00:00:00.000002Z'": "2-0 2-5",
    "at <= TIMESTAMP '1970-01-01 00:00:00.000001' OR AT > ts": "2-0 2-5",
    "NOT at > '1970-01-01'": "2-0",
    "day > '1970-01-01' AND DATE '2000-01-01' > day": "2-0 5-0",
    "'2024-10-04' = Day OR day < date '1970-01-01' OR day IS NULL": "2-5 3-0 4-0",
}


def batch(entries: list[RawEntry]) -> pa.RecordBatch:
    return history_batch(fields_decoder("s")(entries), 1)


@pytest.mark.parametrize(("condition", "ids"), CONDITIONS.items())
def test_entries_are_chosen(condition: str, ids: str) -> None:
    chosen = make_filter(condition)
    whole = batch(ENTRIES)
    assert whole.filter(chosen(whole)).column("id").to_pylist() == ids.split()
    part = whole.slice(1, 4)
    expected = [entry_id for entry_id in ids.split() if entry_id not in ("1-0", "5-0")]
    assert part.filter(chosen(part)).column("id").to_pylist() == expected
    empty = whole.slice(0, 0)
    assert len(empty.filter(chosen(empty))) == 0


def test_a_condition_may_have_thousands_of_parts() -> None:
    for word, ids in ("OR", "1-0 2-0 2-5 3-0 4-0 5-0"), ("AND", "1-0"):
        chosen = make_filter(f" {word} ".join(f"ms != {n}" for n in range(2, 3000)))
        assert batch(ENTRIES).filter(chosen(batch(ENTRIES))).column("id").to_pylist() == ids.split()


def test_an_argument_may_have_bytes_that_are_no_text() -> None:
    chosen = make_filter("fields['carrier'] = '\udcff\n\udcfe'")
    assert chosen(batch(ENTRIES)).to_pylist().index(True) == 4


@pytest.mark.parametrize(
    "condition",
    [
        "fields['delay'] > 5",
        "fields['carrier'] '=' 'UA'",
        f"{'(' * 3000}ms = 1{')' * 3000}",
        "ms > '5'",
        "ms > -5",
        "ms + 1 > 5",
        "length(id) > 3",
        "fields['carrier'] LIKE '_A'",
        "fields['carrier'] LIKE 'A%' ESCAPE '/'",
        "fields['carrier'] <=> 'UA'",
        "fields['a'] = 'it''s'",
        "ms BETWEEN 1 AND '5'",
        "ms IN (1, 'b')",
        "ms = 99999999999999999999",
        "ms NOT = 5",
        "seq = 0",
        "ts > '2020'",
        "ts > '2020-01-01T12'",
        "ts > '2020-13-01'",
        "ts > '2020-01-01T12:00:00+18:00'",
        "ts > fields['carrier']",
        "ts > 1700000000",
        "ts IN ('2020-01-01')",
        "ts LIKE '2020%'",
        "ts > `date` '2020-01-01'",
        "DATE '2020-01-01' > '2019-01-01T00:00:00'",
        "ms",
        "(ms = 1",
        "ms = 1)",
        "ms = 1 AND",
        "true",
        "",
        "ts > current_timestamp",
        "ts - INTERVAL 1 DAY > '2020-01-01'",
        "cast(ms AS INT) = 5",
        "timestampdiff(DAY, ts, ts) = 0",
        "exists(array(1), x -> x = 1)",
        "CASE WHEN ms = 1 THEN 2 END = 2",
    ],
)
def test_whatever_else_is_for_spark(condition: str) -> None:
    with pytest.raises(NeedsSpark):
        make_filter(condition)


@pytest.mark.parametrize(
    ("condition", "what"),
    [
        ("lenght(id) > 3", "lenght(...)"),
        ("fields['delay'] > 5", "a text beside a number"),
        ("ms + 1 > 5", "this condition"),
    ],
)
def test_what_needs_spark_is_named(condition: str, what: str) -> None:
    with pytest.raises(NeedsSpark) as raised:
        make_filter(condition)
    assert str(raised.value) == what


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        ("carrier = 'UA'", " carrier. For a field, write: fields['carrier'] = 'UA'"),
        ("'UA' = `carrier`", " carrier. For a field, write: 'UA' = fields['carrier']"),
        (
            "ms > 5 AND (carrier IN ('UA') OR delay > 9)",
            " carrier, delay. For a field, write: ms > 5 AND (fields['carrier'] IN ('UA') OR "
            "fields['delay'] > 9)",
        ),
        ("upper(carrier) = 'UA'", " carrier. For a field, write: upper(fields['carrier']) = 'UA'"),
        ("epcoh = 1", " epcoh. Did you mean epoch? For a field, write: fields['epcoh'] = 1"),
        (
            "custmer = 'a'",
            " custmer. Did you mean customer? For a field, write: fields['custmer'] = 'a'",
        ),
        ("feilds['carrier'] = 'UA'", " feilds. Did you mean fields?"),
        ("field.carrier = 'UA'", " field. Did you mean fields? For a field, write:"),
    ],
)
def test_a_name_that_is_no_column_is_answered_with_the_field(condition: str, text: str) -> None:
    with pytest.raises(UnknownColumn) as raised:
        make_filter(condition, TYPED)
    assert str(raised.value).startswith(f"there is no column{text}")


def typed_batch() -> pa.RecordBatch:
    whole = batch(ENTRIES)
    for column, values in TYPED_VALUES.items():
        whole = whole.append_column(column, pa.array(values, column.type))
    return whole


@pytest.mark.parametrize(("condition", "ids"), TYPED_CONDITIONS.items())
def test_typed_columns_are_compared(condition: str, ids: str) -> None:
    chosen = make_filter(condition, TYPED)
    whole = typed_batch()
    assert whole.filter(chosen(whole)).column("id").to_pylist() == ids.split()


@pytest.mark.parametrize(
    "condition",
    [
        "amount IN (7)",
        "amount = cents",
        "amount = '7'",
        "at > ms",
        "customer = 7",
        "Twice = 1",
        "amount < 1.12345678901234567890",
        "customer > 1.5",
        "day > '2020-01-01T00:00:00'",
        "day > ts",
        "day > 5",
        "amount > 1.5e0",
    ],
)
def test_other_comparisons_of_typed_columns_are_for_spark(condition: str) -> None:
    cents = pa.field("cents", pa.decimal128(38, 20))
    twice = [pa.field("twice", pa.int32()), pa.field("TWICE", pa.int32())]
    with pytest.raises(NeedsSpark):
        make_filter(condition, [*TYPED, cents, *twice])


COLUMNS = ("ms", "fields")


def said(condition: str) -> str:
    return unknown_column(condition, tokens(condition) or [], COLUMNS)


def test_each_name_is_replaced_by_its_field() -> None:
    assert said("a = 'x' AND `b c` = a") == (
        "there is no column a, b c. For a field, write: "
        "fields['a'] = 'x' AND fields['b c'] = fields['a']"
    )


@pytest.mark.parametrize(
    "condition", ["ms = 1", "true", "upper('a') = 'A'", "ms IN (SELECT a)", "x -> x = 1", "a b = 1"]
)
def test_nothing_is_said_of_what_is_not_certain(condition: str) -> None:
    assert said(condition) == ""


@pytest.mark.parametrize("condition", [*CONDITIONS, *TYPED_CONDITIONS])
def test_bounds_exclude_no_row_for_which_a_condition_holds(condition: str) -> None:
    """Neither those of all rows nor those of each row by itself."""
    batch = typed_batch()
    for chosen in (condition, f"NOT ({condition})"):
        holds = make_filter(chosen, TYPED)
        found = pc.fill_null(holds(batch), False).to_pylist()
        assert holds.may_hold(bounds_of(batch)) or not any(found)
        for place, is_true in enumerate(found):
            assert holds.may_hold(bounds_of(batch.slice(place, 1))) or not is_true


@pytest.mark.parametrize(
    "condition",
    [
        "count = 9999",
        "count > 6 AND customer = 'ann'",
        "customer > 'é' OR ms < 1",
        "customer LIKE 'ê%'",
        "customer IN ('b', 'zz') AND amount > 12.5",
        "NOT count < 9",
        "at > '2020-01-01'",
        "ts < '1970-01-01' OR id = '9'",
        "DATE '2100-01-01' <= day",
    ],
)
def test_bounds_exclude_a_condition(condition: str) -> None:
    assert not make_filter(condition, TYPED).may_hold(bounds_of(typed_batch()))


def bounds_of(batch: pa.RecordBatch) -> Bounds:
    def bounds(name: str) -> tuple[object, object] | None:
        found = pc.min_max(batch.column(name)).as_py()
        return None if found["min"] is None else (found["min"], found["max"])

    return bounds
