"""Entries as typed columns and back: every type, and values that are written in odd ways."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rillway.pipeline.archive.columns.decoding import RowDamaged, rebuilt
from rillway.pipeline.archive.columns.encoding import Unreadable, encode, names_of
from rillway.pipeline.archive.columns.layouts import LAYOUT, KnownLayouts
from rillway.pipeline.archive.columns.schema import Column, FieldMap
from rillway.pipeline.arrow.decoder import fields_decoder
from rillway.pipeline.arrow.schema import FIELDS

TYPES = [
    "STRING", "BINARY", "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE",
    "DECIMAL(10,2)", "DECIMAL(38,10)", "DECIMAL(2,2)", "DECIMAL(38,0)", "DATE", "TIMESTAMP",
    "ARRAY<INT>", "MAP<STRING, DOUBLE>", "STRUCT<a: INT, b: STRING>",
    "ARRAY<STRUCT<a: DECIMAL(4,1), b: MAP<STRING, DATE>>>",
]  # fmt: skip
COLUMNS = [Column(f"c{n}", kind) for n, kind in enumerate(TYPES)] + [
    Column("ms", "TIMESTAMP", epoch_unit="ms"),
    Column("written", "TIMESTAMP", time_format="dd.MM.yyyy'T'H:m:ss.SSSXXX"),
]
BY_NAME = {column.name: column for column in COLUMNS}
ODD = [
    b"", b"0", b"-0", b"007", b"+5", b" 5", b"5 ", b"1e3", b"1E-8", b"12", b"12.5", b"12.50",
    b"0.00000001", b"-0.0", b"0.1", b"100.0", b"1e+22", b"1e22", b"nan", b"NaN", b"inf", b"-inf",
    b"Infinity", b"true", b"TRUE", b"1", b"false", b"2026-01-31", b"2026-02-30", b"0000-01-01",
    b"2026-01-31 12:00:00", b"2026-01-31T12:00:00Z", b"2026-01-31 12:00:00.5", b"1767355200000",
    b"2026-01-31 12:00:00.500000", b"31.01.2026T7:5:09.120Z", b"31.01.2026T07:05:09.120Z",
    b"31.01.2026T7:5:09.120+01:00", b"9" * 38, b"9" * 39, b"0.25", b".25", b"127", b"128", b"-128",
    b"2147483648", b"9223372036854775807", b"16777217", b"3.4028235e+38", b"1e400", b"[1,2]",
    b'{"a":1}', b"{}", b"[1, 2]", b"[1,null]", b"[]", b'{"b":"x","a":1}', b'{"a":1,"a":2}',
    b'{"a":1,"b":"x"}', b'{"a":1,"c":2}', b'{"a":0.5,"c":null}', b'{"a":"1"}',
    b"\xff\xfe", b"\x00", "\N{SNOWMAN}".encode(), b"\xed\xa0\x80",
    b"x" * 70_000, b"0x1f", b"1_0",
]  # fmt: skip
NAMES = [column.name.encode() for column in COLUMNS] + [b"other", b"C1", b"\xff", b"", b"MS"]


def coded(
    entries: list[list[bytes]], columns: list[Column], known: KnownLayouts, **how: bool
) -> pa.RecordBatch:
    """Rows as files have them, of the columns alone."""
    pairs = fields_decoder("s")([[b"1-0", words] for words in entries]).column(FIELDS)
    fields = FieldMap([(column.name, column) for column in columns], is_case_sensitive=False)
    found = encode(pairs, [(known, names_of(pairs))], fields, **how)
    return pa.RecordBatch.from_pydict(found)


def words_of(pairs: pa.ListArray) -> list[list[bytes]]:
    return [[w for pair in row for w in (pair["name"], pair["value"])] for row in pairs.to_pylist()]


def decoded(rows: pa.RecordBatch, known: KnownLayouts) -> list[list[bytes]]:
    return words_of(rebuilt(rows, known.new, BY_NAME | {"a": Column("a", "INT")}))


@given(
    st.lists(
        st.lists(
            st.tuples(st.sampled_from(NAMES), st.sampled_from(ODD) | st.binary(max_size=8)),
            max_size=6,
        ),
        min_size=1,
        max_size=20,
    )
)
def test_an_entry_is_rebuilt_byte_for_byte(content: list[list[tuple[bytes, bytes]]]) -> None:
    entries = [[word for pair in entry for word in pair] for entry in content]
    known = KnownLayouts()
    assert decoded(coded(entries, COLUMNS, known), known) == entries


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.type)
def test_each_type_takes_each_value_as_it_is(column: Column) -> None:
    entries = [[b"x", b"1", column.name.encode(), value, b"x", b"2"] for value in ODD]
    known = KnownLayouts()
    rows = coded(entries, [column], known)
    assert decoded(rows, known) == entries
    for row, value in zip(rows.to_pylist(), ODD, strict=True):
        names = [pair["name"] for pair in row[FIELDS]]
        assert (column.name.encode() in names) or row[column.name] is not None
        assert (row["_rescued"] is not None) == (row[column.name] is None), value


@pytest.mark.parametrize(
    ("kind", "canonical", "other", "none"),
    [
        ("INT", ["12", "-5"], ["007", "+5", "1e3", "-0"], ["x", "3.5", ""]),
        ("DECIMAL(10,2)", ["12.50", "-0.01"], ["12.5", "1e2", "12.505"], ["12,5", "123456789.00"]),
        ("DECIMAL(10,8)", ["0.00000001", "0.00000000"], ["1E-8"], ["100"]),
        ("DOUBLE", ["0.1", "100.0", "1e+22", "-0.0", "nan", "inf"], ["100", "1e22", "NaN"], ["x"]),
        ("FLOAT", ["0.1", "1.5", "3.4028235e+38"], ["1.50"], ["x"]),
        ("BOOLEAN", ["true", "false"], ["TRUE", "1"], ["yes"]),
        ("DATE", ["2026-01-31"], [" 2026-01-31"], ["2026-02-30"]),
        ("TIMESTAMP", ["2026-01-31 12:00:00", "2026-01-31 12:00:00.5"],
         ["2026-01-31T12:00:00", "2026-01-31 12:00:00+01:00"], ["noon", "1767355200000"]),
        ("STRING", ["", "x", "\N{SNOWMAN}"], [], []),
        ("ARRAY<INT>", ["[]", "[1,null]"], ["[1, 2]", "[1.0]", '["1"]'], ["[1", "{}"]),
        ("MAP<STRING, INT>", ['{"b":1,"a":2}'], ['{"a":1,"a":2}'], ['{"a":"x"}']),
        ("STRUCT<a: INT, b: STRING>", ['{"a":1,"b":"x"}', '{"b":""}'],
         ['{"b":"x","a":1}', '{"a":1,"c":2}', '{"a":null}', '{"b":1}'], ["[]"]),
    ],
)  # fmt: skip
def test_where_a_value_is_kept(
    kind: str, canonical: list[str], other: list[str], none: list[str]
) -> None:
    known = KnownLayouts()
    texts = canonical + other + none
    rows = coded([[b"a", text.encode()] for text in texts], [Column("a", kind)], known)
    kept = [bool(row[FIELDS]) for row in rows.to_pylist()]
    assert kept == [False] * len(canonical) + [True] * len(other + none)
    assert [v is None for v in rows.column("a").to_pylist()] == [t in none for t in texts]


def test_what_cannot_be_read_says_why() -> None:
    rows = coded([[b"a", b"12,5", b"b", b"\xff"]], [Column("a", "INT"), Column("b", "STRING")],
                 KnownLayouts())  # fmt: skip
    assert rows.column("_rescued")[0].as_py() == (
        '{"a": "no INT: \'12,5\'", "b": "no STRING: \'\\\\xff\'"}'
    )
    with pytest.raises(Unreadable, match="a: no INT: '12,5'"):
        coded([[b"a", b"12,5"]], [Column("a", "INT")], KnownLayouts(), fails=True)


def test_of_two_names_that_differ_by_case_the_first_has_the_column() -> None:
    known = KnownLayouts()
    rows = coded([[b"A", b"1", b"a", b"2"], [b"a", b"3", b"a", b"4"]], [Column("a", "INT")], known)
    assert rows.column("a").to_pylist() == [1, 4]
    assert words_of(rows.column(FIELDS)) == [[b"a", b"2"], [b"a", b"3"]]


def test_names_that_are_different_in_each_entry_stay_in_fields(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rillway.pipeline.archive.columns.layouts.MAX_LAYOUTS", 2)
    known = KnownLayouts()
    entries = [[b"a", b"1", b"n%d" % n, b"2"] for n in range(4)]
    rows = coded(entries, [Column("a", "INT")], known)
    assert rows.column("a").to_pylist() == [1] * 4
    assert [number is None for number in rows.column(LAYOUT).to_pylist()] == [False] * 2 + [
        True
    ] * 2
    assert decoded(rows, known) == entries


def test_a_row_that_does_not_fit_its_layout_is_damaged() -> None:
    known = KnownLayouts()
    rows = coded([[b"a", b"1", b"b", b"2"]], [Column("a", "INT")], known)
    with pytest.raises(RowDamaged, match="which the archive's state does not have"):
        rebuilt(rows, {}, BY_NAME)
    columns: dict[str, Any] = {name: rows.column(name) for name in rows.schema.names}
    columns["a"] = pa.nulls(1, pa.int32())
    with pytest.raises(RowDamaged, match="does not have the values"):
        rebuilt(pa.RecordBatch.from_pydict(columns), known.new, {"a": Column("a", "INT")})
