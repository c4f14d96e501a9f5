"""Which columns rows need; that entries are made again is in test_encoding.py."""

from __future__ import annotations

import pyarrow as pa

from rillway.pipeline.archive.columns.decoding import columns_of, rebuilt
from rillway.pipeline.archive.columns.layouts import Layout
from rillway.pipeline.arrow.schema import PAIRS


def test_only_the_columns_of_the_layouts_are_needed() -> None:
    layouts = {1: Layout((b"a", b"b"), ("x", None)), 2: Layout((b"a", b"c"), ("x", "y"))}
    assert columns_of(layouts) == ["x", "y"]


def test_rows_without_a_layout_are_as_they_are() -> None:
    pairs = pa.array([[{"name": b"a", "value": b"1"}], []], PAIRS)
    batch = pa.record_batch({"fields": pairs})
    assert rebuilt(batch, {}, {}).equals(pairs)
    batch = pa.record_batch({"fields": pairs, "layout": pa.nulls(2, pa.int32())})
    assert rebuilt(batch, {}, {}).equals(pairs)
