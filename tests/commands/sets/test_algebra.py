"""SINTER, SUNION, SDIFF with their STORE and CARD forms."""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import SYNTAX_ERROR, WRONG_TYPE, Conversation


@pytest.fixture
def sets(talk: Conversation) -> Conversation:
    talk.all("SADD one a b c 1", "SADD two b c d 1", "SADD three 3 2 1", "SET text x")
    return talk


def members(reply: bytes) -> str:
    return b" ".join(reply.split(b"\r\n")[2::2]).decode()


@pytest.mark.parametrize(
    ("request_", "wanted"),
    [
        ("SINTER one two", "b c 1"),
        ("SINTER one two three", "1"),
        ("SINTER one none", ""),
        ("SINTER three", "1 2 3"),
        ("SUNION one two", "a b c 1 d"),
        ("SUNION three one", "1 2 3 a b c"),
        ("SUNION none", ""),
        ("SDIFF one two", "a"),
        ("SDIFF one none", "a b c 1"),
        ("SDIFF none one", ""),
        ("SDIFF one one", ""),
    ],
)
def test_members(sets: Conversation, request_: str, wanted: str) -> None:
    assert members(sets.do(request_)) == wanted
    name, *keys = request_.split()
    assert sets.do(f"{name}STORE target {' '.join(keys)}") == b":%d\r\n" % len(wanted.split())
    assert members(sets.do("SMEMBERS target")) == wanted


def test_members_are_a_set_in_resp3(sets: Conversation) -> None:
    sets.all("HELLO 3")
    assert sets.do("SDIFF one two") == b"~1\r\n$1\r\na\r\n"
    assert sets.do("SINTER one none") == b"~0\r\n"


def test_a_stored_result_replaces_what_was_there(sets: Conversation) -> None:
    assert sets.do("SINTERSTORE text one three") == b":1\r\n"
    assert sets.events() == ["sinterstore text"]
    assert sets.propagated() == ["SINTERSTORE text one three"]
    assert sets.do("OBJECT ENCODING text") == b"$6\r\nintset\r\n"
    sets.all("SET text x EX 100")
    sets.do("SUNIONSTORE text one two")
    assert sets.events()[-1] == "sunionstore text"
    assert sets.do("TTL text") == b":-1\r\n"
    assert sets.do("OBJECT ENCODING text") == b"$8\r\nlistpack\r\n"


def test_an_empty_result_removes_the_target(sets: Conversation) -> None:
    assert sets.do("SDIFFSTORE text one one") == b":0\r\n"
    assert sets.events() == ["del text"]
    assert sets.propagated() == ["SDIFFSTORE text one one"]
    assert sets.do("SDIFFSTORE text one one") == b":0\r\n"
    assert sets.events() == sets.propagated() == []


def test_a_source_may_be_the_target(sets: Conversation) -> None:
    assert sets.do("SDIFFSTORE one one two") == b":1\r\n"
    assert members(sets.do("SMEMBERS one")) == "a"


def test_another_type_is_refused_even_beside_a_missing_key(sets: Conversation) -> None:
    for name in ("SINTER", "SUNION", "SDIFF", "SINTERSTORE target"):
        assert sets.do(f"{name} none one text") == WRONG_TYPE
    assert sets.do("SINTERCARD 2 none text") == WRONG_TYPE
    assert sets.do("EXISTS target") == b":0\r\n"


@pytest.mark.parametrize(
    ("request_", "count"),
    [
        ("SINTERCARD 2 one two", 3),
        ("SINTERCARD 2 one two LIMIT 2", 2),
        ("SINTERCARD 2 one two LIMIT 0", 3),
        ("SINTERCARD 2 one none", 0),
        ("SUNIONCARD 2 one two", 5),
        ("SUNIONCARD 2 one two APPROX LIMIT 4", 4),
        ("SUNIONCARD 2 one two LIMIT 40 APPROX", 5),
        ("SDIFFCARD 2 one two", 1),
        ("SDIFFCARD 2 one none LIMIT 3", 3),
    ],
)
def test_counts(sets: Conversation, request_: str, count: int) -> None:
    assert sets.do(request_) == b":%d\r\n" % count


NUMKEYS = b"-ERR numkeys should be greater than 0\r\n"
LIMIT = b"-ERR LIMIT can't be negative\r\n"


@pytest.mark.parametrize("name", ["SINTERCARD", "SUNIONCARD", "SDIFFCARD"])
@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("0 one", NUMKEYS),
        ("x one", NUMKEYS),
        ("2 one", b"-ERR Number of keys can't be greater than number of args\r\n"),
        ("1 one LIMIT", SYNTAX_ERROR),
        ("1 one LIMIT -1", LIMIT),
        ("1 one LIMIT x", LIMIT),
        ("1 one FOO", SYNTAX_ERROR),
        ("1 text FOO", SYNTAX_ERROR),
    ],
)
def test_what_is_refused(sets: Conversation, name: str, words: str, error: bytes) -> None:
    assert sets.do(f"{name} {words}") == error


def test_only_a_union_may_be_estimated(sets: Conversation) -> None:
    assert sets.do("SINTERCARD 1 one APPROX") == SYNTAX_ERROR
    assert sets.do("SDIFFCARD 1 one APPROX") == SYNTAX_ERROR


def test_counted_keys_are_found(sets: Conversation) -> None:
    assert sets.do("COMMAND GETKEYS SINTERCARD 2 one two LIMIT 1") == (
        b"*2\r\n$3\r\none\r\n$3\r\ntwo\r\n"
    )
    assert sets.do("COMMAND GETKEYS SUNIONSTORE t one two").startswith(b"*3\r\n")
