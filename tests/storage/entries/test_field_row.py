"""The fields of entries that have a layout, filled in one after the other."""

from __future__ import annotations

import pytest

from storage.entries.entry_id import make_id
from storage.entries.field_row import FieldRow
from tests.storage.entries.sample_layouts import FIRST, entries_of, laid_out

COUNT = 20


def values_of(row: FieldRow) -> list[bytes]:
    text = bytes(row.text[: row.size])
    return [text[row.starts[i] : row.starts[i] + row.lengths[i]] for i in range(row.width)]


@pytest.mark.interpreted  # `text` is a pointer in compiled code
@pytest.mark.parametrize(
    "values",
    [
        [b"%04d" % (n * 37) for n in range(COUNT)],
        [b"%03x" % (n * 37) for n in range(COUNT)],
        [b"a%02db%d" % (n, n % 2) for n in range(COUNT)],
    ],
)
def test_a_row_has_the_values_of_each_entry(values: list[bytes]) -> None:
    ids = [FIRST + make_id(n, 0) for n in range(COUNT)]
    layout, packed = laid_out(entries_of(ids, values, [b"f"]), ids)
    row = layout.row()
    assert row.is_plain and row.names == [b"f"]
    for place, value in enumerate(values):
        row.fill(packed, COUNT, place)
        assert values_of(row) == [value]


def test_entries_that_differ_in_a_name_have_no_plain_row() -> None:
    assert not FieldRow(b"$1\r\n0\r\n$1\r\nv\r\n", [4, 11], is_number=False).is_plain
    assert FieldRow(b"$1\r\n0\r\n$1\r\nv\r\n", [11], is_number=False).is_plain
