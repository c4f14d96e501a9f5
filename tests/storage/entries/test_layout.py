"""What all layouts have in common: entries come back byte by byte, whole or in part."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from storage.entries.entry_id import make_id
from storage.entries.layout import differing_columns
from storage.entries.packed_form import MIN_ENTRIES
from tests.storage.entries.sample_layouts import FIRST, entries_of, laid_out, lay_out_all, numbered
from tests.support.examples import examples

# Digits change in many places after some of them.
STARTS = st.integers(0, 2**45) | st.sampled_from([0, 990, 9_990, 19_990, 1_999_990, 1_999_999_990])


@settings(max_examples=examples(200))
@given(
    start=st.builds(make_id, STARTS, STARTS),
    step=st.sampled_from([1, make_id(1, 0)]),
    names=st.lists(st.sampled_from([b"f", b"%s", b"name"]), min_size=1, max_size=2),
    alphabet=st.sampled_from([None, b"0123456789", b"0f", b"0F ", b"\n\r"]),
    width=st.integers(0, 12),
    data=st.data(),
)
def test_entries_of_one_length_come_back(
    start: int,
    step: int,
    names: list[bytes],
    alphabet: bytes | None,
    width: int,
    data: st.DataObject,
) -> None:
    count = data.draw(st.integers(MIN_ENTRIES, 40))
    ids = [start + step * n for n in range(count)]
    value = st.binary(min_size=width, max_size=width)
    if alphabet is not None:
        value = st.lists(st.sampled_from(alphabet), min_size=width, max_size=width).map(bytes)
    values = data.draw(st.lists(value, min_size=count, max_size=count))
    entries = entries_of(ids, values, names)
    if len(set(map(len, entries))) > 1:
        return  # the number of digits changes within the node
    if lay_out_all(entries, ids) is not None:
        laid_out(entries, ids)


def test_digits_may_change_in_many_places() -> None:
    for letter in (b"7", b"x"):
        for ms in (1_699_999_999_950, 1_700_000_009_999, 1_700_000_019_901):
            laid_out(*numbered(100, make_id(ms, 0), letter))


def test_later_entries_share_the_layout() -> None:
    for letter in (b"7", b"x"):
        layout, _ = laid_out(*numbered(100, FIRST, letter))
        later, later_ids = numbered(100, FIRST + make_id(300, 0), letter)
        assert laid_out(later, later_ids, layout)[0] is layout


def test_entries_that_differ_elsewhere_get_another_layout() -> None:
    for letter in (b"7", b"x"):
        layout, _ = laid_out(*numbered(100, FIRST, letter))
        ids = [FIRST + make_id(n, 0) for n in range(100)]
        others = entries_of(ids, [b"y%04d" % n for n in range(100)], [b"g"])
        assert laid_out(others, ids, layout)[0] is not layout


def test_ids_of_several_kinds_have_layouts_of_their_own() -> None:
    layout, _ = laid_out(*numbered(100))
    of_one_ms = [FIRST + n for n in range(1000, 1100)]
    others = entries_of(of_one_ms, [b"7%04d" % n for n in range(100)], [b"f"])
    assert laid_out(others, of_one_ms, layout)[0].step != layout.step


def test_columns_in_which_entries_differ_are_found() -> None:
    assert differing_columns(b"abcdaXcdabcY", 4, 0) == [1, 3]
    assert differing_columns(b"abcdaXcdabcY", 4, 2) == [3]
