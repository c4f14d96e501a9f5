"""LSET, LINSERT, LREM, LTRIM."""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import (
    NOT_AN_INTEGER,
    OK,
    SYNTAX_ERROR,
    WRONG_TYPE,
    Conversation,
)
from tests.commands.lists.test_elements import bulks

NO_SUCH_KEY = b"-ERR no such key\r\n"


def content(talk: Conversation) -> bytes:
    return talk.do("LRANGE l 0 -1")


@pytest.fixture
def filled(talk: Conversation) -> Conversation:
    talk.all("RPUSH l a b c a b c", "SET text v")
    return talk


def test_an_element_is_replaced(filled: Conversation) -> None:
    assert filled.do("LSET l -1 z") == OK
    assert filled.do("LSET l 0 y") == OK
    assert content(filled) == bulks("y b c a b z")
    assert filled.events() == ["lset l", "lset l"]
    assert filled.do("LSET l 6 x") == b"-ERR index out of range\r\n"
    assert filled.do("LSET l x x") == NOT_AN_INTEGER
    assert filled.do("LSET no x x") == NO_SUCH_KEY
    assert filled.do("LSET text 0 x") == WRONG_TYPE


@pytest.mark.parametrize(
    ("words", "reply", "expected"),
    [
        ("l BEFORE a x", b":7\r\n", "x a b c a b c"),
        ("l after c x", b":7\r\n", "a b c x a b c"),
        ("l BEFORE z x", b":-1\r\n", "a b c a b c"),
        ("no BEFORE z x", b":0\r\n", "a b c a b c"),
        ("l BESIDE a x", SYNTAX_ERROR, "a b c a b c"),
        ("text BEFORE a x", WRONG_TYPE, "a b c a b c"),
    ],
)
def test_an_element_is_inserted_beside_the_first_pivot(
    filled: Conversation, words: str, reply: bytes, expected: str
) -> None:
    assert filled.do(f"LINSERT {words}") == reply
    assert filled.events() == (["linsert l"] if reply == b":7\r\n" else [])
    assert content(filled) == bulks(expected)


@pytest.mark.parametrize(
    ("words", "reply", "expected"),
    [
        ("l 0 a", b":2\r\n", "b c b c"),
        ("l 1 b", b":1\r\n", "a c a b c"),
        ("l -1 b", b":1\r\n", "a b c a c"),
        ("l -9 b", b":2\r\n", "a c a c"),
        ("l 0 z", b":0\r\n", "a b c a b c"),
        ("no 0 a", b":0\r\n", "a b c a b c"),
        ("l x a", NOT_AN_INTEGER, "a b c a b c"),
        ("text 0 a", WRONG_TYPE, "a b c a b c"),
    ],
)
def test_equal_elements_are_removed(
    filled: Conversation, words: str, reply: bytes, expected: str
) -> None:
    assert filled.do(f"LREM {words}") == reply
    changed = reply in (b":1\r\n", b":2\r\n")
    assert filled.events() == (["lrem l"] if changed else [])
    assert filled.propagated() == ([f"LREM {words}"] if changed else [])
    assert content(filled) == bulks(expected)


def test_the_last_removal_removes_the_key(talk: Conversation) -> None:
    talk.all("RPUSH l a a")
    assert talk.do("LREM l 0 a") == b":2\r\n"
    assert talk.events() == ["lrem l", "del l"]
    assert talk.do("EXISTS l") == b":0\r\n"


@pytest.mark.parametrize(
    ("words", "reply", "expected"),
    [
        ("l 1 -2", OK, "b c a b"),
        ("l -2 -1", OK, "b c"),
        ("l 0 -1", OK, "a b c a b c"),
        ("l 4 1", OK, ""),
        ("l 10 20", OK, ""),
        ("no 1 2", OK, "a b c a b c"),
        ("l x 1", NOT_AN_INTEGER, "a b c a b c"),
        ("text 0 1", WRONG_TYPE, "a b c a b c"),
    ],
)
def test_what_is_outside_a_range_is_removed(
    filled: Conversation, words: str, reply: bytes, expected: str
) -> None:
    assert filled.do(f"LTRIM {words}") == reply
    touched = reply == OK and words.startswith("l")
    events = ["ltrim l", *([] if expected else ["del l"])] if touched else []
    assert filled.events() == events
    assert filled.propagated() == (
        [f"LTRIM {words}"] if touched and len(expected.split()) < 6 else []
    )
    assert content(filled) == bulks(expected)


def test_much_that_was_trimmed_is_freed_later(talk: Conversation) -> None:
    talk.server.instance.config.list_max_listpack_size = 5
    words = " ".join(map(str, range(30_000)))
    talk.all(f"RPUSH l {words}")
    client = talk.client
    client.send(b"*4\r\n$5\r\nLTRIM\r\n$1\r\nl\r\n$1\r\n0\r\n$1\r\n1\r\n")
    assert len(talk.server.instance.background_work) == 1
    talk.server.tick()
    assert len(talk.server.instance.background_work) == 0
