"""ZRANGE and its older forms, ZRANGESTORE.

ZUNION, ZINTER, ZDIFF with their STORE forms, ZINTERCARD.
"""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import Conversation


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


LIMIT = b"-ERR LIMIT can't be negative\r\n"
