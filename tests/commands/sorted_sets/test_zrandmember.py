"""ZRANDMEMBER."""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import (
    NIL,
    NOT_AN_INTEGER,
    SYNTAX_ERROR,
    WRONG_TYPE,
    Conversation,
)

OUT_OF_RANGE = b"-ERR value is out of range\r\n"


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


def test_scores_are_nested_in_resp3(talk: Conversation) -> None:
    talk.all("ZADD zset 1 a", "HELLO 3")
    pair = b"*2\r\n$1\r\na\r\n,1\r\n"
    assert talk.do("ZRANDMEMBER zset 3 WITHSCORES") == b"*1\r\n" + pair
    assert talk.do("ZRANDMEMBER zset -2 WITHSCORES") == b"*2\r\n" + pair + pair


def test_a_great_many_come_in_pieces(talk: Conversation) -> None:
    talk.all("ZADD zset 1 a")
    assert talk.do("ZRANDMEMBER zset -20001").startswith(b"*20001\r\n")
    reply = talk.do("ZRANDMEMBER zset -20001 WITHSCORES")
    assert reply.startswith(b"*40002\r\n")
    assert reply.count(b"$") == 40_002


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("zset x", NOT_AN_INTEGER),
        ("zset x FOO", NOT_AN_INTEGER),
        ("zset 1 FOO", SYNTAX_ERROR),
        ("zset 1 WITHSCORES x", SYNTAX_ERROR),
        ("zset -9223372036854775807 WITHSCORES", OUT_OF_RANGE),
        ("text 1", WRONG_TYPE),
    ],
)
def test_what_is_refused(talk: Conversation, words: str, error: bytes) -> None:
    talk.all("SET text x", "ZADD zset 1 a")
    assert talk.do(f"ZRANDMEMBER {words}") == error
