"""IDs as commands take them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from commands.streams import ids
from protocol.errors import INVALID_STREAM_ID, RANGE_INVALID_END, RANGE_INVALID_START, ReplyError
from storage.entries.entry_id import MAX_ID, MAX_SEQ, MIN_ID, make_id
from tests.compat.commands.odd_ids import ODD_IDS

PARSERS = [ids.parse_strict, ids.parse_open, ids.parse_range_start, ids.parse_range_end]
INVALID = [
    b"",
    b"a",
    b"1-",
    b"-1",
    b"1-a",
    b"1-1-1",
    b"1.5",
    b"*",
    b"$",
    b">",
    b"6-*",
    b"((1",
    b"(",
]


@pytest.mark.parametrize("parse", PARSERS)
@pytest.mark.parametrize("text", [*INVALID, b"18446744073709551616", b"1-18446744073709551616"])
def test_what_is_no_id_is_refused_everywhere(parse: Callable[[bytes], int], text: bytes) -> None:
    with pytest.raises(ReplyError) as refusal:
        parse(text)
    assert refusal.value.text == INVALID_STREAM_ID


@pytest.mark.parametrize("parse", PARSERS)
def test_a_full_id_means_the_same_everywhere(parse: Callable[[bytes], int]) -> None:
    assert parse(b"5-7") == make_id(5, 7)
    assert parse(b"005-07") == make_id(5, 7)


def test_an_id_without_a_sequence_is_the_first_of_its_millisecond() -> None:
    assert ids.parse_strict(b"5") == make_id(5, 0)
    assert ids.parse_range_start(b"5") == make_id(5, 0)


def test_at_the_end_of_a_range_it_is_the_last_of_its_millisecond() -> None:
    assert ids.parse_range_end(b"5") == make_id(5, MAX_SEQ)


@pytest.mark.parametrize("text", [b"-", b"+"])
def test_minus_and_plus_are_no_strict_ids(text: bytes) -> None:
    with pytest.raises(ReplyError) as refusal:
        ids.parse_strict(text)
    assert refusal.value.text == INVALID_STREAM_ID


@pytest.mark.parametrize("parse", PARSERS[1:])
def test_minus_and_plus_are_the_ends_of_a_stream(parse: Callable[[bytes], int]) -> None:
    assert parse(b"-") == MIN_ID
    assert parse(b"+") == MAX_ID


def test_a_parenthesis_excludes_the_id_itself() -> None:
    assert ids.parse_range_start(b"(5-7") == make_id(5, 8)
    assert ids.parse_range_end(b"(5-7") == make_id(5, 6)


def test_an_exclusive_incomplete_id_is_completed_first() -> None:
    assert ids.parse_range_start(b"(5") == make_id(5, 1)
    assert ids.parse_range_end(b"(5") == make_id(5, MAX_SEQ - 1)


@pytest.mark.parametrize("parse", [ids.parse_range_start, ids.parse_range_end])
@pytest.mark.parametrize("text", [b"(-", b"(+"])
def test_after_a_parenthesis_an_id_is_strict(parse: Callable[[bytes], int], text: bytes) -> None:
    with pytest.raises(ReplyError) as refusal:
        parse(text)
    assert refusal.value.text == INVALID_STREAM_ID


def test_nothing_comes_after_the_last_possible_id() -> None:
    with pytest.raises(ReplyError) as refusal:
        ids.parse_range_start(b"(18446744073709551615-18446744073709551615")
    assert refusal.value.text == RANGE_INVALID_START


def test_nothing_comes_before_the_first_possible_id() -> None:
    with pytest.raises(ReplyError) as refusal:
        ids.parse_range_end(b"(0-0")
    assert refusal.value.text == RANGE_INVALID_END


def test_several_ids_are_valid_together_or_not_at_all() -> None:
    assert ids.parse_all([b"1", b"2-2"]) == [make_id(1, 0), make_id(2, 2)]
    with pytest.raises(ReplyError) as refusal:
        ids.parse_all([b"1", b"bad"])
    assert refusal.value.text == INVALID_STREAM_ID


@pytest.mark.parametrize(
    "text",
    [
        b"1700000000000-0", b"007-7", b"+7-7", b" 7-7", b"7", b"0-0", b"9-9999999999999999999",
        b"18446744073709551615-1", b"1-18446744073709551615", b"1-18446744073709551616",
        b"18446744073709551616-1", b"99999999999999999999-", b"1-99999999999999999999", b"1_0-1",
        b"9999999999999999999-0", b"0-9999999999999999999", "١-١".encode(),
    ],
)  # fmt: skip
def test_an_id_means_the_same_alone_and_among_others(text: bytes) -> None:
    try:
        expected = [ids.parse_strict(text)]
    except ReplyError:
        with pytest.raises(ReplyError):
            ids.parse_all([text])
    else:
        assert ids.parse_all([text]) == expected


def test_an_id_as_a_reply_is_a_bulk_string() -> None:
    assert ids.id_bulk(make_id(1700000000000, 3)) == b"$15\r\n1700000000000-3\r\n"


@pytest.mark.parametrize("around", [[], [b"7-7"], [b"0-7"]])
@pytest.mark.parametrize("text", [*ODD_IDS, *INVALID])
def test_many_ids_are_read_as_each_by_itself(text: bytes, around: list[bytes]) -> None:
    texts = [*around, text, *around, text]
    try:
        wanted = [ids.parse_strict(one) for one in texts]
    except ReplyError:
        with pytest.raises(ReplyError) as refusal:
            ids.parse_all(texts)
        assert refusal.value.text == INVALID_STREAM_ID
    else:
        assert ids.parse_all(texts) == wanted
