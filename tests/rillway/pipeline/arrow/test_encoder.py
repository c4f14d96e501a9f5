"""Arrow batches as XADD requests."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import hiredis
import pyarrow as pa
import pytest

from rillway.client.partitions import Partitions
from rillway.pipeline.arrow import encoder as encoding
from rillway.pipeline.arrow.encoder import Encoder, Partitioning, UnwritableRow, data_of
from rillway.pipeline.arrow.origins import Mark
from rillway.pipeline.arrow.schema import PAIRS, TEXT_MAP
from rillway.pipeline.wire.ids import make_id


def words(batch: pa.RecordBatch, stream: str | None = "s", *, keeps_ids: bool = False) -> Any:
    """The requests as a server would read them."""
    encoder = Encoder(batch.schema, stream=stream, keeps_ids=keeps_ids)
    reader = hiredis.Reader()
    for requests in encoder.requests(batch):
        reader.feed(bytes(data_of(requests, 0, len(requests))))
    return list(iter(reader.gets, False))


def pairs(*rows: list[tuple[Any, Any]] | None) -> pa.Array:
    lists = [
        None if row is None else [{"name": name, "value": value} for name, value in row]
        for row in rows
    ]
    return pa.array(lists, PAIRS)


def test_fields_are_written_as_they_are() -> None:
    fields = pairs([(b"a", b"1"), (b"a", b"\r\n$5\r\n"), (b"", b"")], [(b"b", b"\xff" * 1000)])
    assert words(pa.record_batch({"fields": fields})) == [
        [b"XADD", b"s", b"*", b"a", b"1", b"a", b"\r\n$5\r\n", b"", b""],
        [b"XADD", b"s", b"*", b"b", b"\xff" * 1000],
    ]


def test_rows_go_to_the_partitions_of_their_keys() -> None:
    orders = Partitions("orders", 16)

    def written(**columns: Any) -> Any:
        batch = pa.record_batch(columns)
        encoder = Encoder(
            batch.schema, stream=None, keeps_ids=False, partitioning=Partitioning(orders, "k")
        )
        (requests,) = encoder.requests(batch)
        reader = hiredis.Reader()
        reader.feed(bytes(data_of(requests, 0, len(requests))))
        return list(iter(reader.gets, False))

    anna, other = (orders.stream(orders.partition(key)).encode() for key in ("anna", "{x}"))
    assert written(k=["anna", "{x}"], stream=["a", "b"]) == [
        [b"XADD", anna, b"*", b"k", b"anna", b"stream", b"a"],
        [b"XADD", other, b"*", b"k", b"{x}", b"stream", b"b"],
    ]
    fields = pairs([(b"a", b"1")])
    assert written(fields=fields, k=["anna"]) == [[b"XADD", anna, b"*", b"a", b"1"]]
    with pytest.raises(UnwritableRow, match="the column k is null"):
        written(k=pa.array([None], pa.string()), a=["1"])
    with pytest.raises(UnwritableRow, match="keyColumn names k"):
        written(a=["1"])


def test_a_part_of_a_batch_is_written_without_the_rest() -> None:
    batch = pa.record_batch({"fields": pairs([(b"a", b"1")], [(b"b", b"2")], [(b"c", b"3")])})
    assert words(batch.slice(1, 1)) == [[b"XADD", b"s", b"*", b"b", b"2"]]


def test_a_map_is_written() -> None:
    fields = pa.array([[("a", "1")], [("b", "2"), ("c", "ä")], [("d", "")]], TEXT_MAP)
    batch = pa.record_batch({"fields": fields})
    assert words(batch.slice(1)) == [
        [b"XADD", b"s", b"*", b"b", b"2", b"c", "ä".encode()],
        [b"XADD", b"s", b"*", b"d", b""],
    ]


def test_a_field_that_is_null_is_left_out() -> None:
    fields = pairs([(b"a", None), (b"b", b"2")], [(None, b"x"), (b"c", b"3"), (b"d", b"4")])
    assert words(pa.record_batch({"fields": fields})) == [
        [b"XADD", b"s", b"*", b"b", b"2"],
        [b"XADD", b"s", b"*", b"c", b"3", b"d", b"4"],
    ]


def test_columns_are_written_as_text() -> None:
    batch = pa.record_batch(
        {
            "item": pa.array(["lamp", None]),
            "count": pa.array([3, 4], pa.int32()),
            "price": pa.array([Decimal("1.50"), None], pa.decimal128(6, 2)),
            "ok": pa.array([True, False]),
            "day": pa.array([date(2026, 1, 2), None]),
            "at": pa.array(
                [datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), None], pa.timestamp("us", "Asia/Tokyo")
            ),
            "raw": pa.array([b"\xff", None]),
        }
    )
    first, second = words(batch)
    assert dict(zip(first[3::2], first[4::2], strict=True)) == {
        b"item": b"lamp",
        b"count": b"3",
        b"price": b"1.50",
        b"ok": b"true",
        b"day": b"2026-01-02",
        b"at": b"2026-01-02 03:04:05.000000Z",
        b"raw": b"\xff",
    }
    assert second == [b"XADD", b"s", b"*", b"count", b"4", b"ok", b"false"]


def test_the_stream_comes_from_its_column_unless_there_is_an_option() -> None:
    batch = pa.record_batch({"stream": ["a", "ä"], "n": ["1", "2"]})
    assert [request[1] for request in words(batch, None)] == [b"a", "ä".encode()]
    assert [request[1] for request in words(batch, "s")] == [b"s", b"s"]
    assert words(batch, None)[0] == [b"XADD", b"a", b"*", b"n", b"1"]


def test_ids_are_kept() -> None:
    batch = pa.record_batch({"id": ["5-1", "12-0"], "n": ["1", "2"]})
    assert [request[2] for request in words(batch, keeps_ids=True)] == [b"5-1", b"12-0"]
    assert [request[2] for request in words(batch)] == [b"*", b"*"]


def test_what_the_source_gives_can_be_written_back() -> None:
    from rillway.pipeline.arrow.decoder import fields_decoder

    batch = fields_decoder("s")([[b"5-1", [b"a", b"1"]]])
    assert words(batch, None, keeps_ids=True) == [[b"XADD", b"s", b"5-1", b"a", b"1"]]


def test_a_batch_with_too_many_bytes_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "MAX_BATCH_BYTES", 1000)
    batch = pa.record_batch({"n": ["x" * 300] * 20})
    encoder = Encoder(batch.schema, stream="s", keeps_ids=False)
    parts = list(encoder.requests(batch))
    assert len(parts) > 5
    assert sum(map(len, parts)) == 20


def test_columns_named_as_those_of_the_source_are_fields_like_others() -> None:
    batch = pa.record_batch({"id": ["7"], "name": ["x"], "stream": ["web"], "ts": ["now"]})
    everything = [b"id", b"7", b"name", b"x", b"stream", b"web", b"ts", b"now"]
    assert words(batch) == [[b"XADD", b"s", b"*", *everything]]
    assert words(batch, None) == [[b"XADD", b"web", b"*", *everything[:4], *everything[6:]]]
    assert words(batch, keeps_ids=True) == [[b"XADD", b"s", b"7", *everything[2:]]]


def test_columns_that_say_where_a_row_comes_from_are_not_written() -> None:
    batch = pa.record_batch({"from": ["web"], "at": ["7-0"], "id": ["1"]})
    encoder = Encoder(batch.schema, stream="s", keeps_ids=False, origin_columns=("from", "at"))
    (requests,) = encoder.requests(batch)
    assert b"web" not in bytes(data_of(requests, 0, 1))
    origins = encoder.origins(batch)
    assert origins is not None
    assert origins.mark_after(None) == Mark("web", make_id(7), 1)
    bad = pa.record_batch({"from": ["web"], "at": ["x"], "id": ["1"]})
    with pytest.raises(UnwritableRow, match="originColumns"):
        encoder.origins(bad)


def test_rows_with_fields_come_from_the_entries_that_the_source_names() -> None:
    columns = {"stream": ["web"], "id": ["7-0"], "fields": pairs([(b"a", b"1")])}
    batch = pa.record_batch(columns)
    assert Encoder(batch.schema, stream="s", keeps_ids=False).origins(batch) is not None
    # Where the column says where to write to, it may be anything.
    assert Encoder(batch.schema, stream=None, keeps_ids=False).origins(batch) is None
    odd = pa.record_batch(columns | {"id": ["seven"]})
    assert Encoder(odd.schema, stream="s", keeps_ids=False).origins(odd) is None


@pytest.mark.parametrize(
    ("columns", "options", "text"),
    [
        ({"n": ["1"]}, {"stream": None}, "neither an option nor a column that names the stream"),
        ({"n": ["1"]}, {"keeps_ids": True}, "needs a column id"),
        ({"stream": ["s"]}, {"stream": None}, "no column to write"),
        ({"n": ["1"]}, {"origin_columns": ("stream", "id")}, "names id, stream: there is no such"),
        ({"fields": pairs([(b"a", b"1")]), "n": ["1"]}, {}, "the column n would not be written"),
        ({"fields": ["x"]}, {}, "must be a map, or an array"),
        ({"fields": [["x"]]}, {}, "must be a map, or an array"),
    ],
)
def test_a_dataframe_that_cannot_be_written_is_refused(
    columns: dict[str, Any], options: dict[str, Any], text: str
) -> None:
    schema = pa.record_batch(columns).schema
    with pytest.raises(UnwritableRow, match=text):
        chosen: dict[str, Any] = {"stream": "s", "keeps_ids": False} | options
        Encoder(schema, **chosen)


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({"fields": pairs([(b"a", b"1")], [])}, "a row has no field"),
        ({"fields": pairs([(b"a", b"1")], None)}, "a row has no field"),
        ({"fields": pairs([(b"a", b"1")], [(b"a", None)])}, "a row has no field"),
        ({"n": ["1", None]}, "a row has no field"),
        ({"n": [["1"], ["2"]]}, "the column n cannot be written as text"),
        ({"n": ["1", "2"], "stream": [None, "s"]}, "the column stream is null in a row"),
        ({"n": ["1", "2"], "stream": ["s", "s"], "id": ["1-0", None]}, "the column id is null"),
    ],
)
def test_a_row_that_makes_no_entry_is_refused(columns: dict[str, Any], text: str) -> None:
    batch = pa.record_batch(columns)
    names = batch.schema.names
    stream = None if "stream" in names else "s"
    with pytest.raises(UnwritableRow, match=text):
        words(batch, stream, keeps_ids="id" in names)
