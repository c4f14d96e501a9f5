"""Rows of several streams with their columns."""

from __future__ import annotations

import pyarrow as pa
import pytest

from rillway.pipeline.archive.columns.batches import EntryUnreadable, Run, aligned, with_columns
from rillway.pipeline.archive.columns.encoding import names_of
from rillway.pipeline.archive.columns.layouts import KnownLayouts
from rillway.pipeline.archive.columns.requests import evolved, from_options
from rillway.pipeline.archive.columns.schema import Columns
from rillway.pipeline.arrow.decoder import fields_decoder

COLUMNS = evolved(Columns(), pa.schema([]), from_options(["o*=a INT", "c=a AS b STRING"]))


def run(stream: str, *values: bytes) -> tuple[pa.RecordBatch, Run]:
    batch = fields_decoder(stream)([[b"%d-0" % n, [b"a", v]] for n, v in enumerate(values)])
    return batch, Run(stream, KnownLayouts(), len(batch), names_of(batch.column("fields")))


def test_streams_of_one_pattern_are_converted_together() -> None:
    parts = [run("c", b"1"), run("o1", b"2"), run("o2", b"x", b"3"), run("x", b"4")]
    runs = [one for _, one in parts]
    whole = pa.Table.from_batches([batch for batch, _ in parts]).combine_chunks().to_batches()[0]
    found = list(with_columns(whole, runs, COLUMNS))
    assert [len(part) for part in found] == [1, 3, 1]
    rows = pa.Table.from_batches(found)
    assert rows.column("a").to_pylist() == [None, 2, None, 3, None]
    assert rows.column("b").to_pylist() == ["1", None, None, None, None]
    assert [bool(pairs) for pairs in rows.column("fields").to_pylist()] == [
        False, False, True, False, True,
    ]  # fmt: skip
    assert rows.column("layout").null_count == 1
    assert runs[1].known.new.keys() == runs[2].known.new.keys()


def test_what_cannot_be_read_names_stream_and_entry() -> None:
    batch, one = run("o1", b"1", b"x")
    columns = Columns(COLUMNS.columns, COLUMNS.streams, fails=True)
    with pytest.raises(
        EntryUnreadable, match=r"o1: the entry 1-0 cannot be read.*a: no INT"
    ) as raised:
        list(with_columns(batch, [one], columns))
    assert raised.value.stream == "o1"


def test_columns_that_a_batch_does_not_have_are_null() -> None:
    batch = pa.record_batch({"a": pa.array([1], pa.int32())})
    schema = pa.schema([("b", pa.map_(pa.string(), pa.int32())), ("a", pa.int64())])
    assert aligned(batch, schema).to_pylist() == [{"b": None, "a": 1}]
