"""Which fields of which streams have columns."""

from __future__ import annotations

import pickle

import pytest

from rillway.pipeline.archive.columns.schema import (
    BadColumns,
    Column,
    Columns,
    FieldMap,
    StreamColumns,
    check_name,
    from_text,
    to_text,
)

COLUMNS = Columns(
    (Column("customer", "STRING"), Column("at", "TIMESTAMP", epoch_unit="ms")),
    (
        StreamColumns("orders:[e-g]?", (("customer", "customer"),)),
        StreamColumns("*", (("t", "at"),)),
    ),
    fails=True,
)


def test_a_schema_is_kept_as_text_and_sent_to_tasks() -> None:
    assert from_text(to_text(COLUMNS)) == COLUMNS
    assert COLUMNS.of("x") is not None
    assert pickle.loads(pickle.dumps(COLUMNS)) == COLUMNS
    assert [field.name for field in COLUMNS.fields] == ["customer", "at", "layout", "_rescued"]
    assert not Columns().fields


@pytest.mark.parametrize(
    ("pattern", "fitting", "other"),
    [
        ("a*", ["a", "ab", "a\n"], ["b", "ba"]),
        ("a?c", ["abc"], ["ac", "abbc"]),
        ("[a-c]x", ["ax", "cx"], ["dx"]),
        ("[^a]x", ["bx"], ["ax"]),
        ("a\\*", ["a*"], ["ab"]),
        ("a.b", ["a.b"], ["axb"]),
        ("a[", ["a["], ["a"]),
    ],
)
def test_patterns_are_those_of_the_server(
    pattern: str, fitting: list[str], other: list[str]
) -> None:
    columns = Columns((Column("a", "INT"),), (StreamColumns(pattern, (("a", "a"),)),))
    assert all(columns.of(stream) is not None for stream in fitting)
    assert not any(columns.of(stream) for stream in other)


def test_a_stream_takes_the_first_pattern_that_fits() -> None:
    found = COLUMNS.of("orders:eu")
    assert found is not None and found.column_of(b"customer") == "customer"
    assert found.column_of(b"t") is None
    assert COLUMNS.of("orders:eu") is COLUMNS.of("orders:fr")


def test_names_are_matched_without_case_unless_asked_to() -> None:
    fields = [("Amount", Column("amount", "INT"))]
    assert FieldMap(fields, is_case_sensitive=False).column_of(b"aMOUNT") == "amount"
    assert FieldMap(fields, is_case_sensitive=True).column_of(b"amount") is None
    assert FieldMap(fields, is_case_sensitive=False).column_of(b"\xff") is None


@pytest.mark.parametrize("name", ["ID", "layout", "_rescued", "raw", "a b", "a=b", ""])
def test_some_names_are_refused_with_a_way_out(name: str) -> None:
    with pytest.raises(BadColumns, match="AS"):
        check_name(name)
