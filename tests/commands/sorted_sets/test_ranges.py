"""ZRANGE and its older forms, ZRANGESTORE.

ZUNION, ZINTER, ZDIFF with their STORE forms, ZINTERCARD.
"""

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


@pytest.fixture
def zsets(talk: Conversation) -> Conversation:
    talk.all("ZADD one 1 a 2 b 3 c", "ZADD two 10 b 20 c 30 d", "SADD set c d", "SET text x")
    return talk


RESULTS = [
    ("ZUNION 2 one two", "a 1 b 12 c 23 d 30"),
    ("ZUNION 2 one set", "a 1 d 1 b 2 c 4"),
    ("ZUNION 2 one two WEIGHTS 10 1", "a 10 b 30 d 30 c 50"),
    ("ZUNION 2 one two AGGREGATE MIN", "a 1 b 2 c 3 d 30"),
    ("ZUNION 2 one two AGGREGATE MAX WEIGHTS 1 0.5", "a 1 b 5 c 10 d 15"),
    ("ZUNION 2 one two AGGREGATE COUNT", "a 1 d 1 b 2 c 2"),
    ("ZUNION 3 one two set AGGREGATE COUNT WEIGHTS 1 1 2", "a 1 b 2 d 3 c 4"),
    ("ZUNION 1 none", ""),
    ("ZINTER 2 one two", "b 12 c 23"),
    ("ZINTER 3 one two set", "c 24"),
    ("ZINTER 2 one none", ""),
    ("ZINTER 2 one two WEIGHTS -1 0 AGGREGATE max", "b 0 c 0"),
    ("ZINTER 1 set", "c 1 d 1"),
    ("ZDIFF 2 one two", "a 1"),
    ("ZDIFF 2 set one", "d 1"),
    ("ZDIFF 2 none one", ""),
]


@pytest.mark.parametrize(("request_", "wanted"), RESULTS)
def test_results(zsets: Conversation, request_: str, wanted: str) -> None:
    assert flat(zsets.do(f"{request_} WITHSCORES")) == wanted
    assert flat(zsets.do(request_)) == " ".join(wanted.split()[::2])
    name, _, words = request_.partition(" ")
    assert zsets.do(f"{name}STORE target {words}") == b":%d\r\n" % (len(wanted.split()) // 2)
    assert flat(zsets.do("ZRANGE target 0 -1 WITHSCORES")) == wanted


def test_no_score_is_nan(zsets: Conversation) -> None:
    zsets.all("ZADD high inf a 1 b", "ZADD low -inf a")
    assert flat(zsets.do("ZUNION 2 high low WITHSCORES")) == "a 0 b 1"
    assert flat(zsets.do("ZUNION 1 high WEIGHTS 0 WITHSCORES")) == "a 0 b 0"


def test_a_product_that_is_no_number_takes_part_in_the_sums_of_an_intersection(
    zsets: Conversation,
) -> None:
    zsets.all("ZADD low -inf a", "ZADD high inf a 1 b")
    assert flat(zsets.do("ZINTER 2 low high WEIGHTS 1 0 WITHSCORES")) == "a 0"
    assert flat(zsets.do("ZINTER 2 low high WEIGHTS 1 0 AGGREGATE MAX WITHSCORES")) == "a -inf"


def test_scores_of_combined_sets_are_nested_in_resp3(zsets: Conversation) -> None:
    zsets.all("HELLO 3")
    assert zsets.do("ZDIFF 2 one two WITHSCORES") == b"*1\r\n*2\r\n$1\r\na\r\n,1\r\n"


def test_a_result_replaces_what_was_there(zsets: Conversation) -> None:
    zsets.all("EXPIRE text 100")
    assert zsets.do("ZINTERSTORE text 2 one two") == b":2\r\n"
    assert zsets.events() == ["zinterstore text"]
    assert zsets.propagated() == ["ZINTERSTORE text 2 one two"]
    assert zsets.do("TTL text") == b":-1\r\n"
    assert zsets.do("ZUNIONSTORE one 1 one WEIGHTS 2") == b":3\r\n"
    assert flat(zsets.do("ZRANGE one 0 -1 WITHSCORES")) == "a 2 b 4 c 6"
    zsets.events()
    zsets.propagated()
    assert zsets.do("ZDIFFSTORE text 1 none") == b":0\r\n"
    assert zsets.events()[-1] == "del text"
    assert zsets.propagated() == ["ZDIFFSTORE text 1 none"]


def test_counts(zsets: Conversation) -> None:
    assert zsets.do("ZINTERCARD 2 one two") == b":2\r\n"
    assert zsets.do("ZINTERCARD 2 one two LIMIT 1") == b":1\r\n"
    assert zsets.do("ZINTERCARD 2 one two LIMIT 0") == b":2\r\n"
    assert zsets.do("ZINTERCARD 2 one none") == b":0\r\n"


LIMIT = b"-ERR LIMIT can't be negative\r\n"


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ("ZUNION 0 one", b"-ERR at least 1 input key is needed for 'zunion' command\r\n"),
        (
            "zinterstore t -1 one",
            b"-ERR at least 1 input key is needed for 'zinterstore' command\r\n",
        ),
        ("ZUNION x one", NOT_AN_INTEGER),
        ("ZUNION 2 one", SYNTAX_ERROR),
        ("ZUNION 1 text FOO", WRONG_TYPE),
        ("ZUNION 1 one FOO", SYNTAX_ERROR),
        ("ZUNION 1 one WEIGHTS", SYNTAX_ERROR),
        ("ZUNION 1 one WEIGHTS x", b"-ERR weight value is not a float\r\n"),
        ("ZUNION 1 one AGGREGATE AVG", SYNTAX_ERROR),
        ("ZUNIONSTORE t 1 one WITHSCORES", SYNTAX_ERROR),
        ("ZDIFF 1 one WEIGHTS 1", SYNTAX_ERROR),
        ("ZDIFFSTORE t 1 one AGGREGATE SUM", SYNTAX_ERROR),
        ("ZINTERCARD 1 one LIMIT -1", LIMIT),
        ("ZINTERCARD 1 one LIMIT x", LIMIT),
        ("ZINTERCARD 1 one LIMIT", SYNTAX_ERROR),
        ("ZINTERCARD 1 one WITHSCORES", SYNTAX_ERROR),
    ],
)
def test_what_unions_refuse(zsets: Conversation, request_: str, error: bytes) -> None:
    assert zsets.do(request_) == error
    assert zsets.do("EXISTS t") == b":0\r\n"
