"""ZREM, ZREMRANGEBYRANK, ZREMRANGEBYSCORE, ZREMRANGEBYLEX."""

from __future__ import annotations

import shlex

import pytest

from tests.commands.keys.conversation import NOT_AN_INTEGER, WRONG_TYPE, Conversation


@pytest.mark.parametrize(
    ("request_", "scores", "left"),
    [
        ("ZREM zset b x d", "0 a 1 b 2 c 3 d", "a c"),
        ("ZREMRANGEBYRANK zset 0 1", "0 a 1 b 2 c 3 d", "c d"),
        ("ZREMRANGEBYRANK zset -1 -1", "0 a 1 b 2 c 3 d", "a b c"),
        ("ZREMRANGEBYSCORE zset (0 (2", "0 a 1 b 2 c 3 d", "a c d"),
        ("ZREMRANGEBYLEX zset [b (d", "0 a 0 b 0 c 0 d", "a d"),
    ],
)
def test_members_are_removed(talk: Conversation, request_: str, scores: str, left: str) -> None:
    talk.all(f"ZADD zset {scores}")
    removed = 4 - len(left.split())
    assert talk.do(request_) == b":%d\r\n" % removed
    event = request_.split()[0].lower()
    assert talk.events() == [f"{event} zset"]
    assert talk.propagated() == [shlex.join(request_.split())]
    reply = talk.do("ZRANGE zset 0 -1")
    assert b" ".join(reply.split(b"\r\n")[2::2]).decode() == left


@pytest.mark.parametrize(
    "request_",
    [
        "ZREM zset a b c d",
        "ZREMRANGEBYRANK zset 0 -1",
        "ZREMRANGEBYSCORE zset -inf inf",
        "ZREMRANGEBYLEX zset - +",
    ],
)
def test_the_key_goes_with_the_last_member(talk: Conversation, request_: str) -> None:
    talk.all("ZADD zset 0 a 0 b 0 c 0 d")
    assert talk.do(request_) == b":4\r\n"
    assert talk.events() == [f"{request_.split()[0].lower()} zset", "del zset"]
    assert talk.do("EXISTS zset") == talk.do(request_) == b":0\r\n"


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ("ZREM text a", WRONG_TYPE),
        ("ZREMRANGEBYRANK text x 1", NOT_AN_INTEGER),
        ("ZREMRANGEBYRANK text 0 1", WRONG_TYPE),
        ("ZREMRANGEBYSCORE text x 1", b"-ERR min or max is not a float\r\n"),
        ("ZREMRANGEBYLEX text x +", b"-ERR min or max not valid string range item\r\n"),
    ],
)
def test_what_is_refused(talk: Conversation, request_: str, error: bytes) -> None:
    talk.all("SET text x")
    assert talk.do(request_) == error


def test_a_removal_of_nothing_is_neither_notified_nor_propagated(talk: Conversation) -> None:
    talk.all("ZADD zset 0 a")
    for request in ("ZREM zset x", "ZREMRANGEBYRANK zset 5 6", "ZREMRANGEBYSCORE zset 5 6"):
        assert talk.do(request) == b":0\r\n"
    assert talk.events() == talk.propagated() == []
