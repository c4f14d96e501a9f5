"""BITOP."""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import SYNTAX_ERROR, WRONG_TYPE, Conversation


@pytest.fixture
def filled(talk: Conversation) -> Conversation:
    for key, data in {"a": b"\x0f\xff", "b": b"\x3c", "c": b"\x55\x01\x02"}.items():
        talk.client.execute("SET", key, data)
    talk.server.propagated.clear()
    talk.all("RPUSH list x")
    return talk


@pytest.mark.parametrize(
    ("words", "result"),
    [
        ("AND d a b", b"\x0c\x00"),
        ("or d a b", b"\x3f\xff"),
        ("XOR d a b c", b"\x66\xfe\x02"),
        ("NOT d b", b"\xc3"),
        ("AND d a", b"\x0f\xff"),
        ("AND d a missing", b"\x00\x00"),
        ("DIFF d a b c", b"\x02\xfe\x00"),
        ("DIFF1 d b a c", b"\x43\xff\x02"),
        ("ANDOR d a b c", b"\x0d\x01\x00"),
        ("ONE d a b c", b"\x62\xfe\x02"),
        ("ONE d a", b"\x0f\xff"),
    ],
)
def test_strings_are_combined(filled: Conversation, words: str, result: bytes) -> None:
    filled.all("SET d old EX 100")
    assert filled.do(f"BITOP {words}") == b":%d\r\n" % len(result)
    assert filled.client.execute("GET", "d") == b"$%d\r\n%b\r\n" % (len(result), result)
    assert filled.do("TTL d") == b":-1\r\n"
    assert [one for one in filled.events() if "keymiss" not in one] == ["set d"]


def test_an_empty_result_removes_the_target(filled: Conversation) -> None:
    assert filled.do("BITOP AND d missing") == b":0\r\n"
    assert (filled.propagated(), "del d" in filled.events()) == ([], False)
    filled.all("SET d old")
    assert filled.do("BITOP NOT d missing") == b":0\r\n"
    assert filled.propagated() == ["BITOP NOT d missing"]
    assert "del d" in filled.events()
    assert filled.do("EXISTS d") == b":0\r\n"


@pytest.mark.parametrize(
    ("words", "reply"),
    [
        ("FOO d a", SYNTAX_ERROR),
        ("NOT d a b", b"-ERR BITOP NOT must be called with a single source key.\r\n"),
        ("DIFF d a", b"-ERR BITOP DIFF must be called with at least two source keys.\r\n"),
        ("andor d a", b"-ERR BITOP ANDOR must be called with at least two source keys.\r\n"),
        ("AND d a list", WRONG_TYPE),
    ],
)
def test_bad_requests_are_refused(filled: Conversation, words: str, reply: bytes) -> None:
    assert filled.do(f"BITOP {words}") == reply
    assert filled.do("EXISTS d") == b":0\r\n"


def test_its_keys_come_after_the_operation(talk: Conversation) -> None:
    reply = talk.do("COMMAND GETKEYS BITOP AND d a b")
    assert reply == b"*3\r\n$1\r\nd\r\n$1\r\na\r\n$1\r\nb\r\n"
