"""ZREM, ZREMRANGEBYRANK, ZREMRANGEBYSCORE, ZREMRANGEBYLEX.

ZPOPMIN, ZPOPMAX, ZMPOP, BZPOPMIN, BZPOPMAX, BZMPOP.

ZRANDMEMBER.

ZSCAN.
"""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import (
    NIL,
    Conversation,
)


@pytest.fixture
def zset(talk: Conversation) -> Conversation:
    talk.all("ZADD zset 1 a 2 b 3 c", "SET text x")
    return talk


@pytest.mark.parametrize(
    "source", ["ZUNIONSTORE zset 1 source", "ZRANGESTORE zset source 0 -1", "COPY source zset"]
)
def test_what_makes_a_sorted_set_serves(talk: Conversation, source: str) -> None:
    waiter = talk.other()
    waiter.do("BZPOPMIN zset 0")
    talk.all("ZADD source 1 a", source)
    assert waiter.received() == b"*3\r\n$4\r\nzset\r\n$1\r\na\r\n$1\r\n1\r\n"


def test_random_members(talk: Conversation) -> None:
    talk.all("ZADD zset 1 a 2 b 3 c")
    assert talk.do("ZRANDMEMBER zset") in (b"$1\r\na\r\n", b"$1\r\nb\r\n", b"$1\r\nc\r\n")
    two = talk.do("ZRANDMEMBER zset 2").split(b"\r\n")[2::2]
    assert len(set(two)) == 2
    assert talk.do("ZRANDMEMBER zset 9") == b"*3\r\n$1\r\nc\r\n$1\r\nb\r\n$1\r\na\r\n"
    repeated = talk.do("ZRANDMEMBER zset -60 WITHSCORES")
    assert repeated.startswith(b"*120\r\n")
    words = repeated.split(b"\r\n")[2::2]
    assert set(zip(words[::2], words[1::2], strict=True)) == {
        (b"a", b"1"),
        (b"b", b"2"),
        (b"c", b"3"),
    }
    assert talk.do("ZRANDMEMBER zset 0") == talk.do("ZRANDMEMBER none 5") == b"*0\r\n"
    assert talk.do("ZRANDMEMBER none") == NIL


def test_a_great_many_come_in_pieces(talk: Conversation) -> None:
    talk.all("ZADD zset 1 a")
    assert talk.do("ZRANDMEMBER zset -20001").startswith(b"*20001\r\n")
    reply = talk.do("ZRANDMEMBER zset -20001 WITHSCORES")
    assert reply.startswith(b"*40002\r\n")
    assert reply.count(b"$") == 40_002


def test_a_large_one_is_walked_in_steps(talk: Conversation) -> None:
    for number in range(300):
        talk.client.execute("ZADD", "zset", number % 7, number)
    cursor, seen = b"0", list[bytes]()
    while True:
        words = talk.do(f"ZSCAN zset {cursor.decode()} COUNT 50").split(b"\r\n")
        cursor = words[2]
        seen += words[5::4]
        if cursor == b"0":
            break
    assert sorted(map(int, seen)) == list(range(300))
