"""Entry IDs: the arithmetic, the text form, and what Redis 7.0.15 takes for an ID."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.entries.entry_id import (
    MAX_ID,
    MAX_SEQ,
    MIN_ID,
    format_id,
    id_ms,
    make_id,
    parse_id,
    parse_partial_id,
)

HALVES = st.integers(0, MAX_SEQ)


@given(HALVES, HALVES)
def test_an_id_gives_back_its_halves(ms: int, seq: int) -> None:
    entry_id = make_id(ms, seq)
    assert (id_ms(entry_id), entry_id & MAX_SEQ) == (ms, seq)


@given(HALVES, HALVES)
def test_the_text_of_an_id_is_parsed_to_the_same_id(ms: int, seq: int) -> None:
    text = format_id(make_id(ms, seq))
    assert text == b"%d-%d" % (ms, seq)
    assert parse_id(text) == make_id(ms, seq)
    assert parse_partial_id(text) == (ms, seq)


@given(st.tuples(HALVES, HALVES), st.tuples(HALVES, HALVES))
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
