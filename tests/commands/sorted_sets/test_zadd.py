"""ZADD and ZINCRBY."""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import NIL, SYNTAX_ERROR, WRONG_TYPE, Conversation

NOT_A_FLOAT = b"-ERR value is not a valid float\r\n"
ALL = "ZRANGE zset 0 -1 WITHSCORES"


def flat(reply: bytes) -> str:
    return b" ".join(reply.split(b"\r\n")[2::2]).decode()


def test_members_are_added_and_changed(talk: Conversation) -> None:
    assert talk.do("ZADD zset 1 a 2 b 3 a") == b":2\r\n"
    assert talk.events() == ["new zset", "zadd zset"]
    assert talk.propagated() == ["ZADD zset 1 a 2 b 3 a"]
    assert flat(talk.do(ALL)) == "b 2 a 3"
    assert talk.do("ZADD zset 1 a") == b":0\r\n"
    assert talk.events() == ["zadd zset"]
    assert talk.do("ZADD zset 1 a") == b":0\r\n"
    assert talk.events() == []
    assert talk.propagated() == ["ZADD zset 1 a"]
    assert talk.do("ZADD zset CH 5 a 1 c 2 b") == b":2\r\n"


@pytest.mark.parametrize(
    ("words", "reply", "wanted"),
    [
        ("NX 9 a 9 c", b":1\r\n", "a 1 b 2 c 9"),
        ("XX 9 a 9 c", b":0\r\n", "b 2 a 9"),
        ("XX CH 9 a 9 c", b":1\r\n", "b 2 a 9"),
        ("GT CH 0 a 9 b 0 c", b":2\r\n", "c 0 a 1 b 9"),
        ("LT CH 0 a 9 b 0 c", b":2\r\n", "a 0 c 0 b 2"),
        ("GT XX CH 5 a 9 c", b":1\r\n", "b 2 a 5"),
        ("INCR 1.5 a", b"$3\r\n2.5\r\n", "b 2 a 2.5"),
        ("incr ch 1 c", b"$1\r\n1\r\n", "a 1 c 1 b 2"),
        ("INCR NX 1 a", NIL, "a 1 b 2"),
        ("INCR XX 1 c", NIL, "a 1 b 2"),
        ("INCR GT -1 a", NIL, "a 1 b 2"),
        ("INCR LT -1 a", b"$1\r\n0\r\n", "a 0 b 2"),
        ("INCR GT 0 a", NIL, "a 1 b 2"),
    ],
)
def test_conditions(talk: Conversation, words: str, reply: bytes, wanted: str) -> None:
    talk.all("ZADD zset 1 a 2 b")
    assert talk.do(f"ZADD zset {words}") == reply
    assert flat(talk.do(ALL)) == wanted


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("1 a 2", SYNTAX_ERROR),
        ("NX XX", SYNTAX_ERROR),
        ("FOO 1 a", SYNTAX_ERROR),
        ("NX XX 1 a", b"-ERR XX and NX options at the same time are not compatible\r\n"),
        ("NX GT 1 a", b"-ERR GT, LT, and/or NX options at the same time are not compatible\r\n"),
        ("LT GT x a", b"-ERR GT, LT, and/or NX options at the same time are not compatible\r\n"),
        ("INCR 1 a 2 b", b"-ERR INCR option supports a single increment-element pair\r\n"),
        ("1 a x b", NOT_A_FLOAT),
        ("nan a", NOT_A_FLOAT),
        ("1e400 a", NOT_A_FLOAT),
    ],
)
def test_what_is_refused_changes_nothing(talk: Conversation, words: str, error: bytes) -> None:
    assert talk.do(f"ZADD zset {words}") == error
    assert talk.events() == talk.propagated() == []
    assert talk.do("EXISTS zset") == b":0\r\n"
    talk.all("SET zset x")
    assert talk.do(f"ZADD zset {words}") == error
    assert talk.do("ZADD zset 1 a") == WRONG_TYPE


def test_no_key_is_made_for_members_that_must_be_there(talk: Conversation) -> None:
    assert talk.do("ZADD zset XX 1 a") == b":0\r\n"
    assert talk.do("ZADD zset XX INCR 1 a") == NIL
    assert talk.events() == talk.propagated() == []


def test_the_sum_must_be_a_number(talk: Conversation) -> None:
    talk.all("ZADD zset inf a")
    nan = b"-ERR resulting score is not a number (NaN)\r\n"
    assert talk.do("ZADD zset INCR -inf a") == talk.do("ZINCRBY zset -inf a") == nan
    assert flat(talk.do(ALL)) == "a inf"


def test_scores_are_incremented(talk: Conversation) -> None:
    assert talk.do("ZINCRBY zset 0.1 a") == b"$3\r\n0.1\r\n"
    assert talk.events() == ["new zset", "zincr zset"]
    assert talk.do("ZINCRBY zset 0.2 a") == b"$19\r\n0.30000000000000004\r\n"
    assert talk.propagated() == ["ZINCRBY zset 0.1 a", "ZINCRBY zset 0.2 a"]
    assert talk.do("ZINCRBY zset x a") == NOT_A_FLOAT
    talk.all("HELLO 3")
    assert talk.do("ZINCRBY zset 1 a") == b",1.3\r\n"
    assert talk.do("ZADD zset INCR 1e20 b") == b",1e+20\r\n"
    assert talk.do("ZADD zset INCR NX 1 b") == b"_\r\n"


def test_a_sum_of_0_is_answered_as_0_and_leaves_minus_0(talk: Conversation) -> None:
    member = "m" * 65
    talk.all(f"ZADD zset -0 {member}")
    assert talk.do(f"ZINCRBY zset 0 {member}") == b"$1\r\n0\r\n"
    assert talk.do(f"ZSCORE zset {member}") == b"$2\r\n-0\r\n"


def test_the_form_follows_from_size_and_members(talk: Conversation) -> None:
    talk.all("ZADD zset 1 a")
    assert talk.do("TYPE zset") == b"+zset\r\n"
    assert talk.do("OBJECT ENCODING zset") == b"$8\r\nlistpack\r\n"
    talk.all("CONFIG SET zset-max-listpack-entries 2", "ZADD zset 1 b 2 b 3 b")
    assert talk.do("OBJECT ENCODING zset") == b"$8\r\nskiplist\r\n"
