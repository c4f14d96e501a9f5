"""STRLEN, GETRANGE, SUBSTR, APPEND, SETRANGE.

LCS.
"""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands.strings.substrings import find_matches, make_rows
from tests.commands.keys.conversation import NOT_AN_INTEGER, SYNTAX_ERROR, WRONG_TYPE, Conversation

TOO_LONG = b"-ERR string exceeds maximum allowed size (proto-max-bulk-len)\r\n"


def test_strlen_counts_bytes(talk: Conversation) -> None:
    talk.client.execute("SET", "k", b"\xc3\xa4\x00")
    assert talk.do("STRLEN k") == b":3\r\n"
    assert talk.do("STRLEN none") == b":0\r\n"
    talk.all("XADD s 1-1 f v")
    assert talk.do("STRLEN s") == WRONG_TYPE


@pytest.mark.parametrize("command", ["GETRANGE", "SUBSTR"])
@pytest.mark.parametrize(
    ("start", "end", "part"),
    [
        (0, 2, b"abc"),
        (1, 1, b"b"),
        (-2, -1, b"de"),
        (0, -1, b"abcde"),
        (3, 100, b"de"),
        (-100, 1, b"ab"),
        (2, 1, b""),
        (-1, -2, b""),
        (5, 9, b""),
        (0, -100, b"a"),
        (1, -100, b""),
        (0, 9223372036854775807, b"abcde"),
    ],
)
def test_a_part_has_both_of_its_ends(
    talk: Conversation, command: str, start: int, end: int, part: bytes
) -> None:
    talk.all("SET k abcde")
    assert talk.do(f"{command} k {start} {end}") == b"$%d\r\n%b\r\n" % (len(part), part)


def test_a_part_of_what_is_no_string(talk: Conversation) -> None:
    talk.all("XADD s 1-1 f v", "SET empty ''")
    assert talk.do("GETRANGE none 0 1") == b"$0\r\n\r\n"
    assert talk.do("GETRANGE empty 0 -1") == b"$0\r\n\r\n"
    assert talk.do("GETRANGE s 0 x") == NOT_AN_INTEGER
    assert talk.do("GETRANGE s 0 1") == WRONG_TYPE


def test_append_creates_and_grows_and_keeps_the_deadline(talk: Conversation) -> None:
    assert talk.do("APPEND k ab") == b":2\r\n"
    assert talk.events() == ["new k", "append k"]
    talk.all("EXPIRE k 100")
    assert talk.do("APPEND k cd") == b":4\r\n"
    assert talk.events() == ["append k"]
    assert talk.propagated() == ["APPEND k cd"]
    assert talk.do("GET k") == b"$4\r\nabcd\r\n"
    assert talk.do("TTL k") == b":100\r\n"


def test_setrange_creates_overwrites_and_fills_gaps(talk: Conversation) -> None:
    assert talk.do("SETRANGE k 2 ab") == b":4\r\n"
    assert talk.events() == ["new k", "setrange k"]
    assert talk.do("SETRANGE k 1 xy") == b":4\r\n"
    assert talk.propagated() == ["SETRANGE k 2 ab", "SETRANGE k 1 xy"]
    assert talk.do("GET k") == b"$4\r\n\0xyb\r\n"


def test_an_empty_patch_changes_nothing(talk: Conversation) -> None:
    talk.all("SET k ab")
    assert talk.do("SETRANGE k 100 ''") == b":2\r\n"
    assert talk.do("SETRANGE none 100 ''") == b":0\r\n"
    assert talk.do("EXISTS none") == b":0\r\n"
    assert talk.propagated() == []


@pytest.mark.parametrize(
    ("request_", "reply"),
    [
        ("APPEND s x", WRONG_TYPE),
        ("SETRANGE s 0 x", WRONG_TYPE),
        ("SETRANGE k -1 x", b"-ERR offset is out of range\r\n"),
        ("SETRANGE k x x", NOT_AN_INTEGER),
        ("SETRANGE none 536870912 x", TOO_LONG),
        ("SETRANGE k 9223372036854775807 x", TOO_LONG),
    ],
)
def test_what_cannot_be_done_is_refused(talk: Conversation, request_: str, reply: bytes) -> None:
    talk.all("XADD s 1-1 f v", "SET k v")
    assert talk.do(request_) == reply
    assert talk.do("MGET k none") == b"*2\r\n$1\r\nv\r\n$-1\r\n"


def test_a_string_is_no_longer_than_a_request_may_be() -> None:
    talk = Conversation(**{"proto-max-bulk-len": "1mb"})
    limit = 1 << 20
    assert talk.do(f"SETRANGE k {limit - 1} x") == b":%d\r\n" % limit
    assert talk.do("APPEND k x") == TOO_LONG
    assert talk.do(f"SETRANGE k {limit} x") == TOO_LONG
    assert talk.do("APPEND k ''") == b":%d\r\n" % limit


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
