"""Entries to Arrow batches, in each schemaMode."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rillway.pipeline.arrow import decoder
from rillway.pipeline.arrow.decoder import (
    CorruptEntry,
    FieldColumns,
    Payload,
    RawEntry,
    columns_decoder,
    fields_decoder,
    last_values,
    map_decoder,
    repeated,
)
from rillway.pipeline.arrow.schema import TIMESTAMP, arrow_schema

NAMES = st.sampled_from([b"", b"a", b"b", b"c"])
FLATS = st.lists(st.tuples(NAMES, st.binary(max_size=3)), min_size=1, max_size=4).map(
    lambda pairs: [word for pair in pairs for word in pair]
)


def alike(flat: list[bytes], count: int) -> list[list[bytes]]:
    return [[*flat] for _ in range(count)]


ANY_FIELDS = st.one_of(
    st.lists(FLATS, max_size=6), st.builds(alike, FLATS, st.integers(min_value=1, max_value=3))
)


@given(ANY_FIELDS)
def test_columns_have_the_last_value_of_a_name(flats: list[list[bytes]]) -> None:
    columns = FieldColumns(flats)
    for name in (b"", b"a", b"b", b"c", b"d"):
        assert columns.values(name) == [last_values(flat).get(name) for flat in flats]


def test_words_that_look_alike_in_another_place_are_not() -> None:
    """All names, taken together, follow each other as those of the first entry do."""
    flats = [[b"a", b"1", b"b", b"2"], [b"a", b"3"], [b"b", b"4", b"a", b"5", b"b", b"6"]]
    assert FieldColumns(flats).values(b"b") == [b"2", None, b"6"]


ENTRIES: list[RawEntry] = [
    [b"1700000000123-0", [b"a", b"1", b"b", b"\xff", b"a", b"2"]],
    [b"1700000000124-18446744073709551615", [b"", b""]],
]


def test_fields_keep_bytes_duplicates_and_order() -> None:
    batch = fields_decoder("s")(ENTRIES)
    assert batch.schema.equals(arrow_schema("fields"))
    first, second = batch.to_pylist()
    assert first == {
        "stream": "s",
        "id": "1700000000123-0",
        "ms": 1700000000123,
        "seq": Decimal(0),
        "ts": datetime(2023, 11, 14, 22, 13, 20, 123000, tzinfo=UTC),
        "fields": [
            {"name": b"a", "value": b"1"},
            {"name": b"b", "value": b"\xff"},
            {"name": b"a", "value": b"2"},
        ],
    }
    assert second["seq"] == Decimal(2**64 - 1)
    assert second["fields"] == [{"name": b"", "value": b""}]


def test_a_map_is_text_and_has_the_last_of_a_name() -> None:
    batch = map_decoder("s")(ENTRIES)
    assert batch.schema.equals(arrow_schema("map"))
    assert batch.column("fields").to_pylist() == [[("a", "2"), ("b", "\ufffd")], [("", "")]]


def test_entries_of_several_streams_are_decoded_together() -> None:
    streams = repeated(["s", "t"], [1, 1])
    for decode in (fields_decoder(""), map_decoder("")):
        assert decode(ENTRIES, streams).column("stream").to_pylist() == ["s", "t"]
    wanted = pa.schema([("a", pa.int32()), ("_stream", pa.string())])
    batch = columns_decoder("", wanted, strict=False)(ENTRIES, streams)
    assert batch.to_pylist() == [{"a": 2, "_stream": "s"}, {"a": None, "_stream": "t"}]
    with pytest.raises(CorruptEntry, match="entry 1-0 of t: the field a"):
        columns_decoder("", wanted, strict=True)(
            [[b"1-0", [b"a", b"1"]], [b"1-0", [b"a", b"x"]]], streams
        )


def test_entries_with_many_different_names_are_maps_as_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(decoder, "REMEMBERED_NAMES", 3)
    rows: list[RawEntry] = [
        [b"%d-0" % n, [b"a", b"1", b"%d" % n, b"2", b"a", b"3"]] for n in range(10)
    ]
    found = map_decoder("s")(rows + rows).column("fields").to_pylist()
    assert found == [[("a", "3"), (str(n), "2")] for n in range(10)] * 2


def test_no_entries_make_an_empty_batch() -> None:
    assert fields_decoder("s")([]).num_rows == map_decoder("s")([]).num_rows == 0


def test_an_id_beyond_what_an_instant_can_be_has_none() -> None:
    batch = fields_decoder("s")([[b"9223372036854775807-0", [b"a", b"1"]]])
    assert batch.column("ms").to_pylist() == [2**63 - 1]
    assert batch.column("ts").to_pylist() == [None]


COLUMNS = pa.schema(
    [
        ("_id", pa.string()),
        ("count", pa.int32()),
        ("price", pa.decimal128(6, 2)),
        ("at", TIMESTAMP),
        ("ok", pa.bool_()),
        ("id", pa.binary()),
        ("_corrupt", pa.string()),
    ]
)


def entry(**fields: str) -> RawEntry:
    flat = [word.encode() for pair in fields.items() for word in pair]
    return [b"1-0", flat]


def test_columns_are_read_as_their_types() -> None:
    decode = columns_decoder("s", COLUMNS, strict=True)
    batch = decode(
        [
            entry(count="7", price="1.50", at="2026-01-02T03:04:05Z", ok="true", id="x"),
            entry(at="2026-01-02 03:04:05", unknown="left out"),
        ]
    )
    assert batch.schema.equals(COLUMNS)
    first, second = batch.to_pylist()
    moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert first == {
        "_id": "1-0",
        "count": 7,
        "price": Decimal("1.50"),
        "at": moment,
        "ok": True,
        "id": b"x",
        "_corrupt": None,
    }
    assert second["at"] == moment
    assert second["count"] is None


def test_a_value_of_another_type_is_null_and_named() -> None:
    decode = columns_decoder("s", COLUMNS, strict=False)
    batch = decode([entry(count="7"), entry(count="many", ok="perhaps"), entry(count="8")])
    assert batch.column("count").to_pylist() == [7, None, 8]
    assert batch.column("_corrupt").to_pylist() == [None, "count, ok", None]


def test_failfast_says_which_entry_and_field() -> None:
    decode = columns_decoder("s", COLUMNS, strict=True)
    with pytest.raises(CorruptEntry, match="entry 1-0 of s: the field count is not"):
        decode([entry(count="many")])


def test_text_that_is_no_utf8_is_corrupt() -> None:
    schema = pa.schema([("name", pa.string()), ("_corrupt", pa.string())])
    batch = columns_decoder("s", schema, strict=False)([[b"1-0", [b"name", b"\xff"]]])
    assert batch.to_pylist() == [{"name": None, "_corrupt": "name"}]


def test_the_whole_entry_is_kept_where_a_value_is_bad() -> None:
    schema = pa.schema([("count", pa.int32()), ("_corrupt_record", pa.string())])
    good, bad = entry(count="7"), [b"1-0", [b"count", b"many", b"\xff", b"\xfe"]]
    batch = columns_decoder("s", schema, strict=False)([good, bad])
    assert batch.column("_corrupt_record").to_pylist() == [
        None,
        r'{"count": "many", "\\xff": "\\xfe"}',
    ]


JSON_COLUMNS = pa.schema(
    [
        ("_id", pa.string()),
        ("count", pa.int32()),
        ("at", pa.struct([("x", pa.float64())])),
        ("_corrupt", pa.string()),
        ("_corrupt_record", pa.string()),
    ]
)


def test_columns_are_members_of_a_json_object() -> None:
    decode = columns_decoder("s", JSON_COLUMNS, strict=False, payload=Payload(None))
    rows = decode(
        [
            entry(data='{"count": 7, "at": {"x": 1}, "other": 2}'),
            entry(data='{"count": "many"}'),
            entry(data="[7]"),
            entry(data="{"),
            entry(a="{}", b="{}"),
        ]
    ).to_pylist()
    assert rows[0] == {
        "_id": "1-0",
        "count": 7,
        "at": {"x": 1.0},
        "_corrupt": None,
        "_corrupt_record": None,
    }
    assert [row["_corrupt"] for row in rows[1:]] == ["count", "data", "data", "(of several)"]
    assert rows[3]["_corrupt_record"] == '{"data": "{"}'


def test_the_payload_may_be_one_field_of_several() -> None:
    decode = columns_decoder("s", JSON_COLUMNS, strict=True, payload=Payload("b"))
    batch = decode([entry(a="x", b='{"count": 7}'), entry(a="x")])
    assert batch.column("count").to_pylist() == [7, None]
    with pytest.raises(CorruptEntry, match="the field count is not"):
        decode([entry(b='{"count": "x"}')])


@pytest.mark.parametrize(
    "field",
    [
        pa.field("_id", pa.int64()),
        pa.field("_corrupt", pa.int64()),
        pa.field("list", pa.list_(pa.duration("us"))),
        pa.field("map", pa.map_(pa.int64(), pa.string())),
        pa.field("n", pa.int64(), nullable=False),
    ],
)
def test_a_schema_that_cannot_be_read_is_refused(field: pa.Field) -> None:
    with pytest.raises(ValueError, match=f"the column {field.name}"):
        columns_decoder("s", pa.schema([field]), strict=False)
