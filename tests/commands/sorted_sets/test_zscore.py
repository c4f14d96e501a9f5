"""ZSCORE, ZMSCORE, ZRANK, ZREVRANK, ZCARD, ZCOUNT, ZLEXCOUNT."""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import NIL, SYNTAX_ERROR, WRONG_TYPE, Conversation


@pytest.fixture
def zset(talk: Conversation) -> Conversation:
    talk.all("ZADD zset 1 a 2.5 b inf c", "ZADD level 0 a 0 b 0 c", "SET text x")
    return talk


def test_scores(zset: Conversation) -> None:
    assert zset.do("ZSCORE zset b") == b"$3\r\n2.5\r\n"
    assert zset.do("ZSCORE zset x") == zset.do("ZSCORE none a") == NIL
    assert zset.do("ZMSCORE zset a x c") == b"*3\r\n$1\r\n1\r\n$-1\r\n$3\r\ninf\r\n"
    assert zset.do("ZMSCORE none a x") == b"*2\r\n$-1\r\n$-1\r\n"
    zset.all("HELLO 3")
    assert zset.do("ZMSCORE zset a x c") == b"*3\r\n,1\r\n_\r\n,inf\r\n"


def test_ranks(zset: Conversation) -> None:
    assert zset.do("ZRANK zset c") == zset.do("ZREVRANK zset a") == b":2\r\n"
    assert zset.do("ZRANK zset x") == zset.do("ZRANK none x") == NIL
    assert zset.do("ZRANK zset b WITHSCORE") == b"*2\r\n:1\r\n$3\r\n2.5\r\n"
    assert zset.do("ZREVRANK zset a withscore") == b"*2\r\n:2\r\n$1\r\n1\r\n"
    assert zset.do("ZRANK zset x WITHSCORE") == b"*-1\r\n"
    assert zset.do("ZRANK zset a FOO") == SYNTAX_ERROR
    assert zset.do("ZRANK zset a WITHSCORE x") == (
        b"-ERR wrong number of arguments for 'zrank' command\r\n"
    )
    zset.all("HELLO 3")
    assert zset.do("ZRANK zset b WITHSCORE") == b"*2\r\n:1\r\n,2.5\r\n"
    assert zset.do("ZRANK zset x WITHSCORE") == zset.do("ZREVRANK zset x") == b"_\r\n"


@pytest.mark.parametrize(
    ("request_", "count"),
    [
        ("ZCARD zset", 3),
        ("ZCARD none", 0),
        ("ZCOUNT zset -inf +inf", 3),
        ("ZCOUNT zset (1 (inf", 1),
        ("ZCOUNT zset 3 2", 0),
        ("ZCOUNT none 0 1", 0),
        ("ZLEXCOUNT level - +", 3),
        ("ZLEXCOUNT level (a [b", 1),
        ("ZLEXCOUNT level + -", 0),
        ("ZLEXCOUNT none - +", 0),
    ],
)
def test_counts(zset: Conversation, request_: str, count: int) -> None:
    assert zset.do(request_) == b":%d\r\n" % count


def test_what_is_refused(zset: Conversation) -> None:
    assert zset.do("ZCOUNT text x 1") == b"-ERR min or max is not a float\r\n"
    assert zset.do("ZLEXCOUNT text a +") == b"-ERR min or max not valid string range item\r\n"
    for request in (
        "ZSCORE text a", "ZMSCORE text a", "ZRANK text a", "ZREVRANK text a", "ZCARD text",
        "ZCOUNT text 0 1", "ZLEXCOUNT text - +",
    ):  # fmt: skip
        assert zset.do(request) == WRONG_TYPE
