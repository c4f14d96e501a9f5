"""Entry IDs: the arithmetic, the text form, and what Redis 7.0.15 takes for an ID.

A row of IDs is read as a list of them would be.

IDs in columns: whatever the form, they are those that were packed.
"""

from __future__ import annotations

from bisect import bisect_left

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.entries.entry_id import (
    MAX_ID,
    MAX_SEQ,
    MIN_ID,
    EntryIDs,
    IDColumns,
    IDProgression,
    NodeIDs,
    format_id,
    id_ms,
    make_id,
    parse_id,
    parse_partial_id,
)
from tests.storage.nodes.sample_nodes import HALVES, IDS, packed_ids
from tests.support.examples import examples

ANY_HALVES = st.integers(0, MAX_SEQ)


@given(ANY_HALVES, ANY_HALVES)
def test_an_id_gives_back_its_halves(ms: int, seq: int) -> None:
    entry_id = make_id(ms, seq)
    assert (id_ms(entry_id), entry_id & MAX_SEQ) == (ms, seq)


@given(ANY_HALVES, ANY_HALVES)
def test_the_text_of_an_id_is_parsed_to_the_same_id(ms: int, seq: int) -> None:
    text = format_id(make_id(ms, seq))
    assert text == b"%d-%d" % (ms, seq)
    assert parse_id(text) == make_id(ms, seq)
    assert parse_partial_id(text) == (ms, seq)


@given(st.tuples(ANY_HALVES, ANY_HALVES), st.tuples(ANY_HALVES, ANY_HALVES))
def test_ids_compare_by_milliseconds_and_then_by_sequence(
    one: tuple[int, int], other: tuple[int, int]
) -> None:
    assert (make_id(*one) < make_id(*other)) == (one < other)


def test_the_smallest_and_the_greatest_id() -> None:
    assert format_id(MIN_ID) == b"0-0"
    assert format_id(MAX_ID) == b"18446744073709551615-18446744073709551615"


def test_a_missing_sequence_is_what_the_caller_says() -> None:
    assert parse_id(b"7") == make_id(7, 0)
    assert parse_id(b"7", MAX_SEQ) == make_id(7, MAX_SEQ)
    assert parse_id(b"7-3", MAX_SEQ) == make_id(7, 3)


# All of these were answered so by redis-server 7.0.15.
@pytest.mark.parametrize(
    ("text", "ms", "seq"),
    [
        (b"007-1", 7, 1),
        (b"+7-1", 7, 1),
        (b"7-+1", 7, 1),
        (b" 7-1", 7, 1),
        (b"\t\n\v\f\r7-1", 7, 1),
        (b"7- 1", 7, 1),
        (b"0" * 126 + b"7", 7, 0),
        (b"1-1\0abc", 1, 1),
        (b"1\0-5", 1, 0),
        (b"1-0\0-*", 1, 0),
        (b"1--05", 1, MAX_SEQ - 4),
        (b"1- -5", 1, MAX_SEQ - 4),
        (b"1--0", 1, 0),
        (b"1--9223372036854775809", 1, 2**63 - 1),
        (b"1--018446744073709551615", 1, 1),
        (b"18446744073709551615-18446744073709551615", MAX_SEQ, MAX_SEQ),
    ],
)
def test_a_loosely_written_number_is_tolerated_as_in_redis(text: bytes, ms: int, seq: int) -> None:
    assert parse_id(text) == make_id(ms, seq)
    assert parse_partial_id(text) == (ms, seq)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"-",
        b"+",
        b"$",
        b">",
        b"*",
        b"\0",
        b"1-",
        b"-1",
        b"-005-3",
        b" -5",
        b"1-1-1",
        b"++7-1",
        b"+ 7-1",
        b"7 -1",
        b"7-1 ",
        b"1--5",
        b"1--9223372036854775808",
        b"1-+-5",
        b"1--018446744073709551616",
        b"18446744073709551616-1",
        b"1-18446744073709551616",
        b"0" * 127 + b"7",
        b"0" * 64 + b"1-" + b"0" * 62,
        b"0x10-1",
        b"1-0x1",
        b"1_000-1",
        b"\xd9\xa1-1",
        b"\x1c7-1",
        b"\xa07-1",
        b"(1-1",
        b"1.5-0",
        b"*-*",
        b"1-**",
        b"1 -*",
        b"1-* ",
    ],
)
def test_what_redis_calls_no_id_is_none(text: bytes) -> None:
    assert parse_id(text) is None
    assert parse_partial_id(text) is None


@pytest.mark.parametrize("text", [b"5-*", b"05-*", b" 5-*", b"+5-*", b"5-*\0x"])
def test_an_open_sequence_is_recognised(text: bytes) -> None:
    assert parse_partial_id(text) == (5, None)
    assert parse_id(text) is None


@given(st.binary(max_size=140))
def test_any_bytes_are_an_id_in_range_or_none(text: bytes) -> None:
    entry_id = parse_id(text)
    assert entry_id is None or MIN_ID <= entry_id <= MAX_ID


ROWS = st.lists(st.integers(MIN_ID, MAX_ID), max_size=40)


@given(ROWS, ROWS)
def test_a_row_holds_what_was_appended(some: list[int], more: list[int]) -> None:
    ids = EntryIDs.of(some)
    ids.extend(more)
    assert list(ids) == [*some, *more]
    assert [ids.at(place) for place in range(ids.count)] == [*some, *more]
    assert len(ids) == ids.count == len(some) + len(more)


@given(ROWS, st.integers(0, 50))
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


STEPS = st.sampled_from([1, make_id(1, 0)])
PROGRESSIONS = st.builds(
    lambda start, step, count: [start + step * n for n in range(count)],
    st.builds(make_id, st.integers(0, 2**40), st.integers(0, 2**40)),
    STEPS,
    st.integers(1, 40),
)


def answers_as(packed: NodeIDs, key: int, ids: list[int], wanted: int, low: int, high: int) -> None:
    assert len(packed) == len(ids)
    assert [packed.at(key, place) for place in range(len(ids))] == ids
    assert packed.at(key, -1) == ids[-1]
    assert packed.place(key, wanted) == bisect_left(ids, wanted)
    assert packed.between(key, low, high) == ids[low:high]


@settings(max_examples=examples(300))
@given(ids=IDS | PROGRESSIONS, before=st.integers(0, 2**66), data=st.data())
def test_packed_ids_are_those_that_were_packed(
    ids: list[int], before: int, data: st.DataObject
) -> None:
    key = max(0, ids[0] - before)  # the first entries may be deleted
    wanted = data.draw(st.sampled_from(ids) | st.builds(make_id, HALVES, HALVES))
    wanted = max(0, wanted + data.draw(st.integers(-1, 1)))
    low = data.draw(st.integers(0, len(ids)))
    high = data.draw(st.integers(low, len(ids)))
    answers_as(packed_ids(ids, key), key, ids, wanted, low, high)


@settings(deadline=None)
@given(ids=PROGRESSIONS)
def test_ids_in_equal_steps_are_a_progression_that_nodes_share(ids: list[int]) -> None:
    packed = packed_ids(ids)
    assert isinstance(packed, IDProgression)
    later = [entry_id + make_id(5, 0) for entry_id in ids]
    assert packed_ids(later) is packed
    assert packed.memory_bytes() == 0


def test_ids_that_only_end_as_a_progression_would_are_none() -> None:
    ids = [make_id(10, 0), make_id(10, 5), make_id(11, 7), make_id(13, 0)]
    assert isinstance(packed_ids(ids), IDColumns)


def test_narrow_columns_take_less_than_wide_ones() -> None:
    narrow = [make_id(1000 + n * n % 250, n) for n in range(15)]
    wide = [make_id(1000 + n * n * 2**40, n) for n in range(15)]
    assert packed_ids(sorted(narrow)).memory_bytes() < packed_ids(wide).memory_bytes()
