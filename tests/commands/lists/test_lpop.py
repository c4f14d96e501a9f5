"""LPOP, RPOP, LMPOP."""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import NIL, SYNTAX_ERROR, WRONG_TYPE, Conversation

NOT_POSITIVE = b"-ERR value is out of range, must be positive\r\n"
BAD_NUMKEYS = b"-ERR numkeys should be greater than 0\r\n"
BAD_COUNT = b"-ERR count should be greater than 0\r\n"


def test_an_element_comes_from_either_end(talk: Conversation) -> None:
    talk.all("RPUSH k a b c")
    assert talk.do("LPOP k") == b"$1\r\na\r\n"
    assert talk.do("RPOP k") == b"$1\r\nc\r\n"
    assert talk.events() == ["lpop k", "rpop k"]
    assert talk.propagated() == ["LPOP k", "RPOP k"]


def test_a_count_gives_an_array_in_the_order_of_leaving(talk: Conversation) -> None:
    talk.all("RPUSH k a b c d")
    assert talk.do("RPOP k 2") == b"*2\r\n$1\r\nd\r\n$1\r\nc\r\n"
    assert talk.do("LPOP k 0") == b"*0\r\n"
    assert talk.do("LPOP k 9") == b"*2\r\n$1\r\na\r\n$1\r\nb\r\n"
    assert talk.propagated() == ["RPOP k 2", "LPOP k 9"]


def test_without_the_key_there_is_nothing(talk: Conversation) -> None:
    assert talk.do("LPOP k") == NIL
    assert talk.do("RPOP k 3") == talk.do("RPOP k 0") == b"*-1\r\n"
    talk.do("HELLO 3")
    assert talk.do("LPOP k") == talk.do("LPOP k 1") == b"_\r\n"


@pytest.mark.parametrize("count", ["-1", "x", "1.5", ""])
def test_a_count_must_be_a_number(talk: Conversation, count: str) -> None:
    talk.all("SET k v")
    assert talk.do(f"LPOP k '{count}'") == NOT_POSITIVE
    assert talk.do("LPOP k 1") == WRONG_TYPE
    assert talk.do("LPOP k 1 2") == b"-ERR wrong number of arguments for 'lpop' command\r\n"


def test_the_first_list_that_exists_is_popped_from(talk: Conversation) -> None:
    talk.all("RPUSH b 1 2 3", "RPUSH c 4")
    assert (
        talk.do("LMPOP 3 a b c RIGHT COUNT 2") == b"*2\r\n$1\r\nb\r\n*2\r\n$1\r\n3\r\n$1\r\n2\r\n"
    )
    assert talk.do("LMPOP 2 b c LEFT") == b"*2\r\n$1\r\nb\r\n*1\r\n$1\r\n1\r\n"
    assert talk.propagated() == ["RPOP b 2", "LPOP b 1"]
    assert talk.do("LMPOP 1 a LEFT") == b"*-1\r\n"
    assert talk.propagated() == []


def test_the_number_that_is_propagated_is_what_was_there(talk: Conversation) -> None:
    talk.all("RPUSH a 1 2")
    talk.do("LMPOP 1 a LEFT COUNT 100")
    assert talk.propagated() == ["LPOP a 2"]


@pytest.mark.parametrize(
    ("words", "reply"),
    [
        ("0 l LEFT", BAD_NUMKEYS),
        ("x l LEFT", BAD_NUMKEYS),
        ("2 l LEFT", SYNTAX_ERROR),
        ("99999 l LEFT", SYNTAX_ERROR),
        ("1 l UP", SYNTAX_ERROR),
        ("1 l LEFT COUNT 0", BAD_COUNT),
        ("1 l LEFT COUNT", SYNTAX_ERROR),
        ("1 l LEFT 5", SYNTAX_ERROR),
        ("1 l LEFT COUNT 1 COUNT 1", SYNTAX_ERROR),
        ("2 no text LEFT", WRONG_TYPE),
    ],
)
def test_bad_requests_are_refused(talk: Conversation, words: str, reply: bytes) -> None:
    talk.all("RPUSH l a", "SET text v")
    assert talk.do(f"LMPOP {words}") == reply
    assert talk.do("LLEN l") == b":1\r\n"


def test_its_keys_are_found_by_their_number(talk: Conversation) -> None:
    assert talk.do("COMMAND GETKEYS LMPOP 2 a b LEFT") == b"*2\r\n$1\r\na\r\n$1\r\nb\r\n"
    assert talk.do("COMMAND GETKEYS BLMPOP 0 1 a LEFT") == b"*1\r\n$1\r\na\r\n"
