"""ZRANGE and its older forms, ZRANGESTORE."""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import (
    NOT_AN_INTEGER,
    SYNTAX_ERROR,
    WRONG_TYPE,
    Conversation,
)


@pytest.fixture
def zset(talk: Conversation) -> Conversation:
    talk.all("ZADD z 1 a 2 b 2 c 3 d", "ZADD l 0 a 0 b 0 c 0 d", "SET text x")
    return talk


def flat(reply: bytes) -> str:
    return b" ".join(reply.split(b"\r\n")[2::2]).decode()


RANGES = [
    ("ZRANGE z 0 -1", "a b c d"),
    ("ZRANGE z 1 2 REV", "c b"),
    ("ZRANGE z -2 -1 WITHSCORES", "c 2 d 3"),
    ("ZREVRANGE z 0 1 WITHSCORES", "d 3 c 2"),
    ("ZRANGE z 5 9", ""),
    ("ZRANGE z (1 3 BYSCORE", "b c d"),
    ("ZRANGE z 3 (1 BYSCORE REV", "d c b"),
    ("ZRANGE z 0 9 BYSCORE LIMIT 1 2 WITHSCORES", "b 2 c 2"),
    ("ZRANGE z 9 0 REV LIMIT 1 2 BYSCORE", "c b"),
    ("ZRANGE z 0 9 BYSCORE LIMIT -1 2", ""),
    ("ZRANGE z 0 9 BYSCORE LIMIT 1 -2", "b c d"),
    ("ZRANGEBYSCORE z 2 +inf", "b c d"),
    ("ZRANGEBYSCORE z -inf 2 WITHSCORES LIMIT 0 2", "a 1 b 2"),
    ("ZREVRANGEBYSCORE z 2 1", "c b a"),
    ("ZRANGE l [b + BYLEX", "b c d"),
    ("ZRANGE l (c - BYLEX REV", "b a"),
    ("ZRANGE l - + BYLEX LIMIT 1 1", "b"),
    ("ZRANGEBYLEX l - (c", "a b"),
    ("ZREVRANGEBYLEX l + [b LIMIT 0 2", "d c"),
    ("ZRANGE none 0 -1", ""),
    ("ZRANGE z 0 1 LIMIT 0 -1", "a b"),
]


@pytest.mark.parametrize(("request_", "wanted"), RANGES)
def test_a_range(zset: Conversation, request_: str, wanted: str) -> None:
    assert flat(zset.do(request_)) == wanted


def test_scores_are_nested_in_resp3(zset: Conversation) -> None:
    zset.all("HELLO 3")
    assert zset.do("ZRANGE z 0 0 WITHSCORES") == b"*1\r\n*2\r\n$1\r\na\r\n,1\r\n"
    assert zset.do("ZREVRANGEBYSCORE z 1 1 WITHSCORES") == b"*1\r\n*2\r\n$1\r\na\r\n,1\r\n"


BY_RANK = (
    b"-ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX\r\n"
)
BY_LEX = b"-ERR syntax error, WITHSCORES not supported in combination with BYLEX\r\n"


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ("ZRANGE z 0 1 LIMIT 0 1", BY_RANK),
        ("ZRANGE z 0 1 LIMIT 0", SYNTAX_ERROR),
        ("ZRANGE z 0 1 LIMIT x 1", NOT_AN_INTEGER),
        ("ZRANGE z - + BYLEX WITHSCORES", BY_LEX),
        ("ZRANGE z 0 1 BYLEX BYSCORE", SYNTAX_ERROR),
        ("ZRANGE z 0 1 REV REV", SYNTAX_ERROR),
        ("ZREVRANGE z 0 1 REV", SYNTAX_ERROR),
        ("ZRANGEBYSCORE z 0 1 BYSCORE", SYNTAX_ERROR),
        ("ZRANGE z x 1", NOT_AN_INTEGER),
        ("ZRANGE z x 1 BYSCORE", b"-ERR min or max is not a float\r\n"),
        ("ZRANGE z a + BYLEX", b"-ERR min or max not valid string range item\r\n"),
        ("ZRANGE text x 1", NOT_AN_INTEGER),
        ("ZRANGE text 0 1", WRONG_TYPE),
        ("ZRANGESTORE t z 0 1 WITHSCORES", SYNTAX_ERROR),
        ("ZRANGESTORE t text 0 1", WRONG_TYPE),
    ],
)
def test_what_is_refused(zset: Conversation, request_: str, error: bytes) -> None:
    assert zset.do(request_) == error


def test_a_range_is_stored(zset: Conversation) -> None:
    zset.all("SET target x EX 100")
    assert zset.do("ZRANGESTORE target z 2 3 BYSCORE LIMIT 1 5") == b":2\r\n"
    assert zset.events() == ["zrangestore target"]
    assert zset.propagated() == ["ZRANGESTORE target z 2 3 BYSCORE LIMIT 1 5"]
    assert flat(zset.do("ZRANGE target 0 -1 WITHSCORES")) == "c 2 d 3"
    assert zset.do("TTL target") == b":-1\r\n"
    assert zset.do("ZRANGESTORE z z 0 1 REV") == b":2\r\n"
    assert flat(zset.do("ZRANGE z 0 -1")) == "c d"


def test_an_empty_range_removes_the_target(zset: Conversation) -> None:
    assert zset.do("ZRANGESTORE text z 7 8") == b":0\r\n"
    assert zset.events() == ["del text"]
    assert zset.do("ZRANGESTORE text none 7 8") == b":0\r\n"
    assert zset.propagated() == ["ZRANGESTORE text z 7 8"]
