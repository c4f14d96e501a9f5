"""Columns in the words of Spark's DDL."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

from rillway.pipeline.archive.columns.ddl import Declared, parse_columns, parse_type, type_text
from rillway.pipeline.arrow.schema import TIMESTAMP


def test_columns_have_fields_names_and_types() -> None:
    assert parse_columns(
        "customer STRING, amount AS price decimal(10, 2),`a b` AS c Timestamp"
    ) == [
        Declared("customer", "customer", pa.string()),
        Declared("amount", "price", pa.decimal128(10, 2)),
        Declared("a b", "c", TIMESTAMP),
    ]


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("integer", "INT"),
        ("LONG", "BIGINT"),
        ("byte", "TINYINT"),
        ("numeric", "DECIMAL(10,0)"),
        ("DEC(5)", "DECIMAL(5,0)"),
        ("array<map<string,double>>", "ARRAY<MAP<STRING, DOUBLE>>"),
        ("STRUCT<a INT, `b c`: ARRAY<DATE>>", "STRUCT<a: INT, `b c`: ARRAY<DATE>>"),
        ("BINARY", "BINARY"),
    ],
)
def test_a_type_has_one_form(text: str, form: str) -> None:
    assert type_text(parse_type(text)) == form
    assert parse_type(form) == parse_type(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "expected a name"),
        ("a", "expected a type at the end"),
        ("a TEXT", "there is no type TEXT; there are STRING"),
        ("a INT b INT", "expected a comma or the end, not 'b INT'"),
        ("a DECIMAL(39,2)", "expected 1 to 38 digits"),
        ("a DECIMAL(2,3)", "expected 1 to 38 digits"),
        ("a DECIMAL(x)", "expected a number of digits, not 'x'"),
        ("a ARRAY<INT", "expected '>' at the end"),
        ("a MAP<INT, INT>", "the keys of a MAP are STRING"),
        ("a-b INT", "expected a type, not '-b INT'"),
        ("a INT,", "expected a name"),
        ("a INT NOT NULL", "expected a comma or the end"),
    ],
)
def test_what_cannot_be_read_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=re.escape(reason)):
        parse_columns(text)
