"""SORT, SORT_RO."""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import Conversation
from tests.commands.lists.test_elements import bulks


@pytest.fixture
def filled(talk: Conversation) -> Conversation:
    talk.all(
        "RPUSH l 3 1 2 10",
        "MSET w:1 5 w:2 4 w:10 1 n:1 one n:2 two n:3 three n:10 ten",
        "RPUSH odd 7 1.0 1 01 -1",
        # Equal as doubles.
        "RPUSH huge 9007199254740993 9007199254740992",
        "MSET e:1 a e:3 b",
        "HSET h:1 f 9",
        "HSET h:2 f 8",
        "SADD s b c a",
        "ZADD z 1 b 2 c 3 a",
        "SET text v",
    )
    return talk


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("l", "1 2 3 10"),
        ("l DESC", "10 3 2 1"),
        ("l ALPHA", "1 10 2 3"),
        ("l LIMIT 1 2", "2 3"),
        ("l LIMIT -1 2", "1 2"),
        ("l LIMIT 1 -5", "2 3 10"),
        ("l LIMIT 9 1", ""),
        ("l BY w:*", "3 10 2 1"),
        ("l BY n:* ALPHA", "1 10 3 2"),
        ("l BY h:*->f DESC", "1 2 3 10"),
        ("l BY nosort", "3 1 2 10"),
        ("l BY nosort DESC LIMIT 0 2", "10 2"),
        ("l GET n:* GET #", "one 1 two 2 three 3 ten 10"),
        ("odd", "-1 01 1 1.0 7"),
        ("odd DESC", "7 1.0 1 01 -1"),
        ("huge", "9007199254740992 9007199254740993"),
        ("huge DESC", "9007199254740993 9007199254740992"),
        ("l BY e:* ALPHA", "2 10 1 3"),
        ("l BY e:* ALPHA DESC", "3 1 2 10"),
        ("z ALPHA", "a b c"),
        ("z BY nosort", "b c a"),
        ("s ALPHA DESC", "c b a"),
        ("missing", ""),
    ],
)
def test_elements_are_sorted(filled: Conversation, words: str, expected: str) -> None:
    reply = filled.do(f"SORT {words}")
    assert reply == bulks(expected)
    assert filled.do(f"SORT_RO {words}") == reply
    assert filled.propagated() == []


def test_a_result_is_stored(filled: Conversation) -> None:
    filled.all("SET t old EX 100")
    assert filled.do("SORT l GET w:* STORE t") == b":4\r\n"
    assert filled.do("LRANGE t 0 -1") == b"*4\r\n$1\r\n5\r\n$1\r\n4\r\n$0\r\n\r\n$1\r\n1\r\n"
    assert filled.do("TTL t") == b":-1\r\n"
    assert [one for one in filled.events() if "keymiss" not in one] == ["sortstore t"]
    assert filled.propagated() == ["SORT l GET 'w:*' STORE t"]
    assert filled.do("OBJECT ENCODING t") == b"$8\r\nlistpack\r\n"


def test_an_empty_result_removes_the_target(filled: Conversation) -> None:
    assert filled.do("SORT l LIMIT 9 1 STORE t") == b":0\r\n"
    assert filled.propagated() == []
    filled.all("SET t old")
    assert filled.do("SORT missing STORE t") == b":0\r\n"
    assert [one for one in filled.events() if "keymiss" not in one] == ["del t"]
    assert filled.propagated() == ["SORT missing STORE t"]


def test_a_set_that_is_stored_is_sorted_in_any_case(filled: Conversation) -> None:
    filled.do("SORT s BY nosort STORE t")
    assert filled.do("LRANGE t 0 -1") == bulks("a b c")


def test_a_sorted_set_takes_its_large_form(filled: Conversation) -> None:
    filled.do("SORT z ALPHA")
    assert filled.do("OBJECT ENCODING z") == b"$8\r\nskiplist\r\n"


def test_who_waits_for_a_list_gets_what_is_stored(filled: Conversation) -> None:
    waiter = filled.other()
    waiter.do("BLPOP t 0")
    filled.do("SORT l STORE t")
    assert waiter.received() == bulks("t 1")
