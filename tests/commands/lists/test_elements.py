"""LLEN, LINDEX, LRANGE, LPOS."""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import (
    NIL,
    NOT_AN_INTEGER,
    SYNTAX_ERROR,
    WRONG_TYPE,
    Conversation,
)


def bulks(words: str) -> bytes:
    parts = words.split()
    return b"*%d\r\n" % len(parts) + b"".join(
        b"$%d\r\n%b\r\n" % (len(p), p.encode()) for p in parts
    )


def integers(*numbers: int) -> bytes:
    return b"*%d\r\n" % len(numbers) + b"".join(b":%d\r\n" % number for number in numbers)


@pytest.fixture
def filled(talk: Conversation) -> Conversation:
    talk.all("RPUSH l a b c a b c", "SET text v")
    return talk


@pytest.mark.parametrize(
    ("index", "expected"),
    [("0", "a"), ("2", "c"), ("-1", "c"), ("-6", "a"), ("6", None), ("-7", None)],
)
def test_an_element_is_found_by_its_index(
    filled: Conversation, index: str, expected: str | None
) -> None:
    reply = NIL if expected is None else b"$1\r\n%b\r\n" % expected.encode()
    assert filled.do(f"LINDEX l {index}") == reply


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ("0 -1", "a b c a b c"),
        ("1 2", "b c"),
        ("-2 -1", "b c"),
        ("-100 100", "a b c a b c"),
        ("4 2", ""),
        ("6 9", ""),
        ("0 -7", ""),
    ],
)
def test_a_range_includes_both_ends(filled: Conversation, bounds: str, expected: str) -> None:
    assert filled.do(f"LRANGE l {bounds}") == bulks(expected)


def test_without_the_key_there_is_nothing(talk: Conversation) -> None:
    assert talk.do("LLEN k") == b":0\r\n"
    assert talk.do("LINDEX k 0") == talk.do("LINDEX k x") == talk.do("LPOS k a") == NIL
    assert talk.do("LRANGE k 0 -1") == talk.do("LPOS k a COUNT 1") == b"*0\r\n"


@pytest.mark.parametrize("request_", ["LLEN", "LINDEX", "LRANGE", "LPOS"])
def test_other_types_and_bad_numbers_are_refused(filled: Conversation, request_: str) -> None:
    rest = {"LLEN": "", "LINDEX": "0", "LRANGE": "0 1", "LPOS": "a"}[request_]
    assert filled.do(f"{request_} text {rest}") == WRONG_TYPE
    if "0" in rest:
        assert filled.do(f"{request_} l {rest.replace('0', 'x')}") == NOT_AN_INTEGER


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", b":1\r\n"),
        ("RANK 2", b":4\r\n"),
        ("RANK 3", NIL),
        ("RANK -1", b":4\r\n"),
        ("COUNT 0", integers(1, 4)),
        ("COUNT 0 RANK -1", integers(4, 1)),
        ("COUNT 1 RANK 2", integers(4)),
        ("RANK 9223372036854775807 COUNT 9223372036854775807", integers()),
        ("MAXLEN 1", NIL),
        ("MAXLEN 2 COUNT 0", integers(1)),
        ("MAXLEN 1 RANK -1", NIL),
        ("MAXLEN 2 RANK -1 COUNT 0", integers(4)),
        ("RANK 0", b"-ERR RANK can't be zero: use 1 to start from the first match, 2 from the"
         b" second ... or use negative to start from the end of the list\r\n"),
        ("RANK x", NOT_AN_INTEGER),
        ("RANK -9223372036854775808", b"-ERR value is out of range, value must between"
         b" -9223372036854775807 and 9223372036854775807\r\n"),
        ("COUNT -1", b"-ERR COUNT can't be negative\r\n"),
        ("MAXLEN -1", b"-ERR MAXLEN can't be negative\r\n"),
        ("FOO x", SYNTAX_ERROR),
        ("RANK", SYNTAX_ERROR),
    ],
)  # fmt: skip
def test_an_element_is_searched(filled: Conversation, options: str, expected: bytes) -> None:
    assert filled.do(f"LPOS l b {options}") == expected


def test_a_long_range_is_of_the_moment_at_which_it_was_asked_for(talk: Conversation) -> None:
    words = " ".join(f"element-{number}" for number in range(6000))
    talk.all(f"RPUSH l {words}")
    assert talk.do("LRANGE l 0 -1") == bulks(words)
    talk.all("MULTI")
    talk.do("LRANGE l 0 -1")
    talk.do("DEL l")
    assert talk.do("EXEC") == b"*2\r\n" + bulks(words) + b":1\r\n"
