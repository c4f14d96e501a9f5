"""The orders of fields, and their numbers."""

from __future__ import annotations

import pytest

from rillway.pipeline.archive.columns import layouts
from rillway.pipeline.archive.columns.layouts import KnownLayouts, Layout, LayoutClash, united

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
