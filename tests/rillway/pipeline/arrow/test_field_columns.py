"""The values of fields by name, as a dict for each entry would have them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rillway.pipeline.arrow.field_columns import FieldColumns, last_values

NAMES = st.sampled_from([b"", b"a", b"b", b"c"])
FLATS = st.lists(st.tuples(NAMES, st.binary(max_size=3)), min_size=1, max_size=4).map(
    lambda pairs: [word for pair in pairs for word in pair]
)


def alike(flat: list[bytes], count: int) -> list[list[bytes]]:
    return [[*flat] for _ in range(count)]


ENTRIES = st.one_of(
    st.lists(FLATS, max_size=6), st.builds(alike, FLATS, st.integers(min_value=1, max_value=3))
)


@given(ENTRIES)
def test_columns_have_the_last_value_of_a_name(flats: list[list[bytes]]) -> None:
    columns = FieldColumns(flats)
    for name in (b"", b"a", b"b", b"c", b"d"):
        assert columns.values(name) == [last_values(flat).get(name) for flat in flats]


def test_words_that_look_alike_in_another_place_are_not() -> None:
    """All names, taken together, follow each other as those of the first entry do."""
    flats = [[b"a", b"1", b"b", b"2"], [b"a", b"3"], [b"b", b"4", b"a", b"5", b"b", b"6"]]
    assert FieldColumns(flats).values(b"b") == [b"2", None, b"6"]
