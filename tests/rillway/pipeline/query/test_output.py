"""Entries as tables, JSON, CSV and Parquet."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rillway.pipeline.archive.columns.schema import Column, FieldMap
from rillway.pipeline.arrow.decoder import fields_decoder
from rillway.pipeline.arrow.schema import TIMESTAMP
from rillway.pipeline.query.history import HISTORY_SCHEMA, history_batch
from rillway.pipeline.query.output import cell_texts, json_texts, open_output


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


ENTRIES = [
    [b"1357035300000-0", [b"carrier", b"UA", b"note", 'größe, "x"'.encode()]],
    [b"1357035300001-12", [b"carrier", b"B6", b"raw", b"\xff\x00"]],
    [b"1357035300002-0", [b"tag", b"a", b"tag", b"b"]],
]


def batch() -> pa.RecordBatch:
    return history_batch(fields_decoder("orders")(ENTRIES), 2)


def written(name: str, *columns: str) -> str:
    file = io.StringIO()
    output = open_output(name, file, None, columns)
    output.write(batch())
    output.write(batch())
    output.close()
    return file.getvalue()


def test_a_table_has_one_heading_and_a_line_for_each_entry() -> None:
    lines = written("table").splitlines()
    assert len(lines) == 7
    assert lines[0].split() == ["id", "time", "(UTC)", "fields"]
    assert lines[2] == "1357035300001-12  2013-01-01 10:15:00.001  carrier=B6 raw=\\xff\x00"


def test_json_keeps_bytes_and_names_that_come_twice() -> None:
    lines = [json.loads(line) for line in written("json").splitlines()]
    assert lines[0] == {
        "stream": "orders",
        "id": "1357035300000-0",
        "fields": {"carrier": "UA", "note": 'größe, "x"'},
    }
    assert lines[1]["fields"]["raw"] == {"base64": "/wA="}
    assert lines[2]["fields"] == [["tag", "a"], ["tag", "b"]]


def test_csv_has_all_fields_as_json_or_some_as_columns() -> None:
    rows = list(csv.reader(io.StringIO(written("csv"))))
    assert rows[0] == ["stream", "id", "ts", "fields"]
    assert json.loads(rows[1][3]) == {"carrier": "UA", "note": 'größe, "x"'}
    rows = list(csv.reader(io.StringIO(written("csv", "note", "carrier"))))
    assert rows[0] == ["stream", "id", "ts", "note", "carrier"]
    assert rows[1][3:] == ['größe, "x"', "UA"]
    assert rows[3][3:] == ["", ""]


TYPED = [pa.field("amount", pa.decimal128(10, 2)), pa.field("_rescued", pa.string())]
SCHEMA = pa.schema([*HISTORY_SCHEMA, *TYPED])
FIELDS = FieldMap([("Amount", Column("amount", "DECIMAL(10,2)"))], is_case_sensitive=False)


def typed(name: str, *columns: str) -> list[str]:
    """Of entries of which the last one has no amount that can be read."""
    entries = [
        [b"1-0", [b"amount", b"12.50", b"note", b"x"]],
        [b"2-0", [b"Amount", b"7", b"amount", b"8"]],
        [b"3-0", [b"amount", b"12,5"]],
    ]
    batch = history_batch(fields_decoder("orders")(entries), 2)
    amounts = pa.array([Decimal("12.50"), Decimal("7.00"), None], TYPED[0].type)
    batch = batch.append_column(TYPED[0], amounts)
    batch = batch.append_column(TYPED[1], pa.array([None, None, "no"], pa.string()))
    file = io.StringIO()
    output = open_output(name, file, None, columns, SCHEMA, FIELDS)
    output.write(batch)
    output.close()
    return file.getvalue().splitlines()


def test_a_table_has_typed_columns_and_the_fields_that_they_do_not_show() -> None:
    assert [line.split()[3:] for line in typed("table")] == [
        ["amount", "fields"],
        ["12.50", "note=x"],
        ["7.00", "amount=8"],
        ["amount=12,5"],
    ]


def test_json_has_typed_columns_beside_all_fields() -> None:
    assert typed("json") == [
        '{"stream": "orders", "id": "1-0", "fields": {"amount": "12.50", "note": "x"}, '
        '"columns": {"amount": 12.50}}',
        '{"stream": "orders", "id": "2-0", "fields": {"Amount": "7", "amount": "8"}, '
        '"columns": {"amount": 7.00}}',
        '{"stream": "orders", "id": "3-0", "fields": {"amount": "12,5"}, '
        '"columns": {"amount": null}}',
    ]


def test_csv_has_typed_columns_and_fields() -> None:
    assert [row[3:] for row in csv.reader(typed("csv"))] == [
        ["amount", "fields"],
        ["12.50", '{"amount": "12.50", "note": "x"}'],
        ["7.00", '{"Amount": "7", "amount": "8"}'],
        ["", '{"amount": "12,5"}'],
    ]
    assert [row[3:] for row in csv.reader(typed("csv", "note", "amount"))] == [
        ["note", "amount"],
        ["x", "12.50"],
        ["", "7.00"],
        ["", ""],
    ]


def test_parquet_has_the_columns_of_a_stream(tmp_path: Path) -> None:
    output = open_output("parquet", io.StringIO(), tmp_path / "out.parquet", ())
    output.write(batch())
    output.close()
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.schema.equals(HISTORY_SCHEMA)
    assert table.to_pylist() == batch().to_pylist()
