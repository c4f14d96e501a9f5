"""SETBIT, GETBIT."""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import WRONG_TYPE, Conversation


def test_bits_count_from_the_highest_of_the_first_byte(talk: Conversation) -> None:
    assert talk.do("SETBIT k 7 1") == b":0\r\n"
    assert talk.do("SETBIT k 1 1") == b":0\r\n"
    assert talk.do("GET k") == b"$1\r\nA\r\n"
    assert talk.do("SETBIT k 17 0") == b":0\r\n"
    assert talk.do("GET k") == b"$3\r\nA\x00\x00\r\n"
    assert [talk.do(f"GETBIT k {n}") for n in (0, 1, 7, 99)] == [
        b":0\r\n", b":1\r\n", b":1\r\n", b":0\r\n",
    ]  # fmt: skip
    assert talk.do("OBJECT ENCODING k") == b"$3\r\nraw\r\n"
    assert talk.do("GETBIT missing 5") == b":0\r\n"


def test_a_bit_that_stays_as_it_is_is_no_change(talk: Conversation) -> None:
    talk.all("SETBIT k 7 1")
    assert talk.do("SETBIT k 7 1") == b":1\r\n"
    assert talk.do("SETBIT k 6 0") == b":0\r\n"
    assert (talk.events(), talk.propagated()) == ([], [])
    talk.do("SETBIT k 7 0")
    talk.do("SETBIT k 8 0")
    assert talk.events() == ["setbit k", "setbit k"]
    assert talk.propagated() == ["SETBIT k 7 0", "SETBIT k 8 0"]


def test_a_text_becomes_raw_when_a_bit_changes(talk: Conversation) -> None:
    talk.all("SET k 12", "SETBIT k 7 0")
    assert talk.do("GET k") == b"$2\r\n02\r\n"
    assert talk.do("OBJECT ENCODING k") == b"$3\r\nraw\r\n"


@pytest.mark.parametrize(
    ("request_", "reply"),
    [
        ("SETBIT k -1 1", b"-ERR bit offset is not an integer or out of range\r\n"),
        ("SETBIT k 4294967296 1", b"-ERR bit offset is not an integer or out of range\r\n"),
        ("SETBIT k 0 2", b"-ERR bit is not an integer or out of range\r\n"),
        ("SETBIT k 0 x", b"-ERR bit is not an integer or out of range\r\n"),
        ("GETBIT k x", b"-ERR bit offset is not an integer or out of range\r\n"),
        ("SETBIT list 0 1", WRONG_TYPE),
        ("GETBIT list 0", WRONG_TYPE),
    ],
)
def test_bad_requests_are_refused(talk: Conversation, request_: str, reply: bytes) -> None:
    talk.all("RPUSH list a")
    assert talk.do(request_) == reply
    assert len(talk.server.instance.databases[0]) == 1
