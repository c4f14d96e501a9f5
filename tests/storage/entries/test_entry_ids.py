"""A row of IDs is read as a list of them would be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.entries.entry_id import MAX_ID, MIN_ID, make_id
from storage.entries.entry_ids import EntryIDs

IDS = st.lists(st.integers(MIN_ID, MAX_ID), max_size=40)


@given(IDS, IDS)
def test_a_row_holds_what_was_appended(some: list[int], more: list[int]) -> None:
    ids = EntryIDs.of(some)
    ids.extend(more)
    assert list(ids) == [*some, *more]
    assert [ids.at(place) for place in range(ids.count)] == [*some, *more]
    assert len(ids) == ids.count == len(some) + len(more)


@given(IDS, st.integers(0, 50))
def test_a_row_that_is_cut_or_cleared_takes_others(some: list[int], count: int) -> None:
    ids = EntryIDs.of(some)
    ids.cut(count)
    ids.add(7)
    assert list(ids) == [*some[:count], 7]
    ids.clear()
    ids.add(8)
    assert list(ids) == [8]


def test_rows_of_the_same_ids_are_equal() -> None:
    ids = EntryIDs.of([3, 1, 2])
    assert ids == EntryIDs.of([3, 1, 2])
    assert ids == [3, 1, 2]
    assert ids != EntryIDs.of([1, 2, 3])
    assert ids != [3, 1]
    assert ids != "312"


def test_there_is_nothing_beyond_the_end() -> None:
    ids = EntryIDs.of([5])
    assert ids[-1] == ids[0] == 5
    for place in (-2, 1):
        with pytest.raises(IndexError):
            ids[place]


def test_only_canonical_texts_are_taken() -> None:
    ids = EntryIDs()
    assert ids.add_plain(b"1700000000000-7")
    for text in (b"5", b"05-1", b"5-01", b"5-", b"-", b"5-1x", b""):
        assert not ids.add_plain(text)
    assert ids == [make_id(1700000000000, 7)]
