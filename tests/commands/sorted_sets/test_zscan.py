"""ZSCAN."""

from __future__ import annotations

from tests.commands.keys.conversation import SYNTAX_ERROR, WRONG_TYPE, Conversation


def test_a_small_one_is_returned_whole(talk: Conversation) -> None:
    talk.all("ZADD zset 2.5 a 1 b", "HELLO 3")
    whole = b"*2\r\n$1\r\n0\r\n*4\r\n$1\r\nb\r\n$1\r\n1\r\n$1\r\na\r\n$3\r\n2.5\r\n"
    assert talk.do("ZSCAN zset 0 COUNT 1") == talk.do("ZSCAN zset 9") == whole
    assert talk.do("ZSCAN zset 0 MATCH a") == b"*2\r\n$1\r\n0\r\n*2\r\n$1\r\na\r\n$3\r\n2.5\r\n"
    assert talk.do("ZSCAN none 0 FOO") == b"*2\r\n$1\r\n0\r\n*0\r\n"


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


def test_what_is_refused(talk: Conversation) -> None:
    talk.all("SET text x", "ZADD zset 1 a")
    assert talk.do("ZSCAN text x") == b"-ERR invalid cursor\r\n"
    assert talk.do("ZSCAN text 0") == WRONG_TYPE
    assert talk.do("ZSCAN zset 0 COUNT 0") == talk.do("ZSCAN zset 0 TYPE zset") == SYNTAX_ERROR
