"""LCS."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands.strings.lcs import find_matches, make_rows
from tests.commands.keys.conversation import NOT_AN_INTEGER, SYNTAX_ERROR, Conversation


@pytest.fixture
def filled(talk: Conversation) -> Conversation:
    talk.all("MSET a ohmytext b mynewtext", "RPUSH list x")
    return talk


def ints(*numbers: int) -> bytes:
    return b"*%d\r\n" % len(numbers) + b"".join(b":%d\r\n" % number for number in numbers)


@pytest.mark.parametrize(
    ("words", "reply"),
    [
        ("a b", b"$6\r\nmytext\r\n"),
        ("a b LEN", b":6\r\n"),
        ("a missing", b"$0\r\n\r\n"),
        ("missing b LEN", b":0\r\n"),
        ("a b LEN IDX", b"-ERR If you want both the length and indexes, please just use IDX.\r\n"),
        ("a list", b"-ERR The specified keys must contain string values\r\n"),
        ("a b FOO", SYNTAX_ERROR),
        ("a b MINMATCHLEN", SYNTAX_ERROR),
        ("a b MINMATCHLEN x", NOT_AN_INTEGER),
    ],
)
def test_what_is_common_is_found(filled: Conversation, words: str, reply: bytes) -> None:
    assert filled.do(f"LCS {words}") == reply


def test_places_come_from_the_end_on(filled: Conversation) -> None:
    long, short = b"*2\r\n" + ints(4, 7) + ints(5, 8), b"*2\r\n" + ints(2, 3) + ints(0, 1)
    head, total = b"$7\r\nmatches\r\n", b"$3\r\nlen\r\n:6\r\n"
    assert filled.do("LCS a b IDX") == b"*4\r\n" + head + b"*2\r\n" + long + short + total
    filled.do("HELLO 3")
    with_length = b"*3\r\n" + long[4:] + b":4\r\n"
    reply = filled.do("LCS a b IDX MINMATCHLEN 4 WITHMATCHLEN")
    assert reply == b"%2\r\n" + head + b"*1\r\n" + with_length + total
    assert filled.do("LCS a missing IDX") == b"%2\r\n" + head + b"*0\r\n$3\r\nlen\r\n:0\r\n"


def test_strings_that_are_too_long_together_are_refused(talk: Conversation) -> None:
    talk.all("CONFIG SET proto-max-bulk-len 1mb", f"MSET a {'x' * 511} b {'y' * 511}")
    assert talk.do("LCS a b LEN") == b":0\r\n"
    talk.all("APPEND a x")
    assert talk.do("LCS a b LEN") == (
        b"-ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len\r\n"
    )


def table_length(first: bytes, second: bytes) -> int:
    """The textbook's way."""
    row = [0] * (len(second) + 1)
    for one in first:
        previous = 0
        for place, other in enumerate(second, 1):
            above = row[place]
            row[place] = previous + 1 if one == other else max(above, row[place - 1])
            previous = above
    return row[-1]


@given(st.text("ab\x00", max_size=30), st.text("abc", max_size=30))
def test_it_is_common_and_as_long_as_can_be(first_text: str, second_text: str) -> None:
    first, second = first_text.encode(), second_text.encode()
    matches = list(find_matches(first, second, make_rows(first, second)))
    for match in matches:
        assert (
            first[match.first : match.first + match.length]
            == second[match.second : match.second + match.length]
        )
    for later, earlier in pairwise(matches):
        assert earlier.first + earlier.length <= later.first
        assert earlier.second + earlier.length <= later.second
    assert sum(match.length for match in matches) == table_length(first, second)
