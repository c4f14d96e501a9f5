"""The orders of fields, and their numbers."""

from __future__ import annotations

import pyarrow as pa
import pytest

from rillway.pipeline.archive.columns import layouts
from rillway.pipeline.archive.columns.layouts import (
    KnownLayouts,
    Layout,
    LayoutClash,
    as_metadata,
    from_metadata,
    numbers_of,
    united,
)

ONE, OTHER = Layout((b"a", b"b"), ("a", None)), Layout((b"b", b"a"), (None, "a"))


def test_a_number_follows_from_names_and_columns() -> None:
    assert ONE.number == Layout((b"a", b"b"), ("a", None)).number
    assert len({ONE.number, OTHER.number, Layout((b"a", b"b"), (None, "a")).number}) == 3
    assert Layout((b"ab", b"c"), (None, None)).number != Layout((b"a", b"bc"), (None, None)).number
    assert 0 <= ONE.number < 1 << 31


def test_a_number_that_is_taken_is_not_given_again() -> None:
    known = KnownLayouts({ONE.number: OTHER})
    assert known.number(ONE) is None
    assert known.number(OTHER) == OTHER.number
    with pytest.raises(LayoutClash) as clash:
        united({ONE.number: OTHER}, {ONE.number: ONE, 7: ONE})
    assert clash.value.kept == {ONE.number: OTHER, 7: ONE}


def test_a_stream_has_a_limited_number_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layouts, "MAX_NAMES", 3)
    known = KnownLayouts()
    assert known.number(ONE) == ONE.number
    assert known.number(OTHER) is None
    assert known.new == {ONE.number: ONE}


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
