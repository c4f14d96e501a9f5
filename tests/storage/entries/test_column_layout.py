"""Entries in columns: what differs is kept, and nothing else."""

from __future__ import annotations

from storage.entries.column_layout import ColumnLayout
from tests.storage.entries.sample_layouts import FIRST, entries_of, laid_out, numbered


def test_only_what_differs_is_kept_of_values() -> None:
    entries, ids = numbered(100, FIRST, b"x")  # in two fields
    layout, packed = laid_out(entries, ids)
    assert isinstance(layout, ColumnLayout)
    assert len(packed) == 8 * 100


def test_entries_need_not_differ_at_all() -> None:
    ids = [FIRST + n for n in range(100, 200)]
    layout, packed = laid_out(entries_of(ids, [b"50%"] * 100, [b"f"]), ids)
    assert isinstance(layout, ColumnLayout)
    assert packed == b""


def test_what_is_no_number_is_kept_in_columns() -> None:
    ids = [FIRST + n for n in range(100, 200)]
    values = [b"%02X" % n for n in range(100)]
    layout, packed = laid_out(entries_of(ids, values, [b"f"]), ids)
    assert isinstance(layout, ColumnLayout)
    assert len(packed) == 2 * 100
