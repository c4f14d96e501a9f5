"""What is asked of an archive's columns, and what becomes of it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from rillway.pipeline.archive.columns.requests import evolved, from_file, from_options, set_columns
from rillway.pipeline.archive.columns.schema import (
    BadColumns,
    Column,
    Columns,
    StreamColumns,
    to_text,
)
from rillway.pipeline.archive.table import COLUMNS_PROPERTY, ArchiveTable

TABLE = pa.schema([("stream", pa.string())])
ORDERS = "orders:*=customer STRING, amount DECIMAL(10,2)"


def after(*requests: str) -> Columns:
    columns = Columns()
    for text in requests:
        columns = evolved(columns, TABLE, from_options([text]))
    return columns


def test_columns_are_added_and_no_longer_written_but_stay() -> None:
    columns = after(ORDERS, "orders:*=amount DECIMAL(10,2), Note STRING")
    assert [column.name for column in columns.columns] == ["customer", "amount", "Note"]
    assert columns.streams == (StreamColumns("orders:*", (("amount", "amount"), ("Note", "Note"))),)
    assert after(ORDERS, "x=CUSTOMER string").streams[0].fields == (("CUSTOMER", "customer"),)


@pytest.mark.parametrize(
    ("request_text", "reason"),
    [
        (
            "orders:*=amount INT",
            r"amount is DECIMAL\(10,2\) in the table.*amount AS another_name INT",
        ),
        ("x=a INT, b AS A INT", "two fields cannot have the column a"),
        ("x=a INT, a AS b INT", "the field a cannot have two columns"),
        ("x=id INT", "`id AS id_field TYPE` gives it another name"),
        ("x=stream_ INT, x TEXT", "x: there is no type TEXT"),
        ("x", "expected PATTERN=COLUMN TYPE"),
    ],
)
def test_what_cannot_be_is_refused(request_text: str, reason: str) -> None:
    with pytest.raises(BadColumns, match=reason):
        after(ORDERS, request_text)


def test_a_name_has_one_type_for_all_streams() -> None:
    with pytest.raises(BadColumns, match=r"b: amount is INT of a, .*amount AS another_name STRING"):
        evolved(Columns(), TABLE, from_options(["a=amount INT", "b=amount STRING"]))


def test_a_column_that_others_have_made_is_not_taken_over() -> None:
    table = pa.schema([("amount", pa.string())])
    with pytest.raises(BadColumns, match="the table has a column amount already, STRING"):
        evolved(Columns(), table, from_options(["a=amount INT"]))
    assert evolved(Columns(), table, from_options(["a=amount STRING"])).columns


def test_a_file_has_times_and_what_to_do_with_bad_values(tmp_path: Path) -> None:
    path = tmp_path / "archive.yaml"
    path.write_text(
        "timestampFormat: \"yyyy-MM-dd'T'HH:mm:ssX\"\n"
        'columns:\n  "orders:*": "at TIMESTAMP, n INT"\nbad: fail\ncaseSensitive: true\n'
    )
    columns = evolved(Columns(), TABLE, from_file(path))
    assert columns == Columns(
        (Column("at", "TIMESTAMP", time_format="yyyy-MM-dd'T'HH:mm:ssX"), Column("n", "INT")),
        (StreamColumns("orders:*", (("at", "at"), ("n", "n"))),),
        is_case_sensitive=True,
        fails=True,
    )
    assert (
        evolved(columns, TABLE, from_options(["orders:*=at TIMESTAMP"])).columns == columns.columns
    )
    path.write_text('epochUnit: ms\ncolumns: {"orders:*": "at TIMESTAMP"}\n')
    with pytest.raises(BadColumns, match=r"written as .* and cannot become numbers in ms"):
        evolved(columns, TABLE, from_file(path))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("columns: [a]", "expected columns:"),
        ("columns: {a: b INT}\ntimestampformat: x", "Did you mean 'timestampFormat'"),
        ("columns: {a: b INT}\nbad: ignore", "bad is rescue or fail"),
        ("columns: {a: b INT}\ncaseSensitive: 3", "caseSensitive is true or false"),
        ("columns: {a: b INT}\nepochUnit: h", "epochUnit is one of s, ms, us"),
        ("columns: {a: b INT}\ntimestampFormat: QQ", "timestampFormat: 'QQ' cannot be read"),
        ("columns: {a: b INT}\ntimestampFormat: yyyy\nepochUnit: s", "do not go together"),
        ("columns: {a: 5}", "a: "),
        ("{", "archive.yaml: "),
    ],
)
def test_a_file_that_is_wrong_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "archive.yaml"
    path.write_text(text)
    with pytest.raises(BadColumns, match=reason):
        evolved(Columns(), TABLE, from_file(path))


def test_the_table_keeps_the_columns(table: ArchiveTable) -> None:
    version = table.version
    set_columns(table, from_options([ORDERS]))
    assert table.version == version + 2
    set_columns(table, from_options([ORDERS]))
    assert table.version == version + 2
    opened = ArchiveTable.open(table.root)
    assert opened.columns == after(ORDERS)
    assert opened.schema.names[-4:] == ["customer", "amount", "layout", "_rescued"]
    # As if the program had ended between the two commits.
    opened._set_properties({COLUMNS_PROPERTY: to_text(Columns())})
    set_columns(opened, from_options([ORDERS]))
    assert opened.columns == after(ORDERS)
