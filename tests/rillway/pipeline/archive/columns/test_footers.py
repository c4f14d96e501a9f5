"""Layouts as a file's footer has them; that files have them is in test_backfill.py."""

from __future__ import annotations

import pyarrow as pa

from rillway.pipeline.archive.columns.footers import as_metadata, from_metadata, numbers_of
from rillway.pipeline.archive.columns.layouts import Layout


def test_they_are_read_as_they_were_written() -> None:
    layouts = [Layout((b"a", b"\xff", b"a"), (None, None, "x")), Layout((), ())]
    known = {layout.number: layout for layout in layouts}
    metadata = {key.encode(): text.encode() for key, text in as_metadata(known).items()}
    assert from_metadata(metadata) == known
    assert as_metadata({}) == {}
    assert from_metadata(None) == {}


def test_rows_without_layouts_have_no_numbers() -> None:
    assert numbers_of(pa.record_batch({"a": [1]})) == set()
    layout = pa.array([3, None, 3], pa.int32())
    assert numbers_of(pa.record_batch({"layout": layout})) == {3}
