"""Fields as a map of texts; the rest of a relation is tested by test_answer.py."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from rillway.pipeline.arrow.schema import PAIRS
from rillway.pipeline.relations.relation import text_map, texts

NAMES = st.sampled_from([b"a", b"b", b"c"])
ENTRIES = st.lists(st.lists(st.tuples(NAMES, st.binary(max_size=2)), max_size=4), max_size=6)


def fields_of(entries: list[list[tuple[bytes, bytes]]]) -> pa.Array:
    rows = [[{"name": name, "value": value} for name, value in pairs] for pairs in entries]
    return pa.array(rows, PAIRS)


@given(ENTRIES)
def test_a_map_has_each_name_once_and_its_last_value(
    entries: list[list[tuple[bytes, bytes]]],
) -> None:
    found = text_map(fields_of(entries)).to_pylist()
    for pairs, row in zip(entries, found, strict=True):
        assert len(dict(row)) == len(row)
        expected = {name.decode(): texts(pa.array([value]))[0].as_py() for name, value in pairs}
        assert dict(row) == expected


def test_alike_entries_and_parts_of_batches_are_right() -> None:
    fields = fields_of([[(b"a", b"1"), (b"b", b"2")]] * 3 + [[(b"a", b"3"), (b"a", b"4")]])
    assert text_map(fields.slice(1, 2)).to_pylist() == [[("a", "1"), ("b", "2")]] * 2
    assert text_map(fields.slice(2)).to_pylist() == [[("a", "1"), ("b", "2")], [("a", "4")]]
