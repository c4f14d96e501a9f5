"""SSCAN."""

from __future__ import annotations

from tests.commands.keys.conversation import SYNTAX_ERROR, WRONG_TYPE, Conversation


def test_a_small_set_is_returned_whole(talk: Conversation) -> None:
    talk.all("SADD set 2 1 3")
    whole = b"*2\r\n$1\r\n0\r\n*3\r\n$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n"
    assert talk.do("SSCAN set 0 COUNT 1") == talk.do("SSCAN set 77") == whole
    assert talk.do("SSCAN none 0") == b"*2\r\n$1\r\n0\r\n*0\r\n"


def test_a_pattern_leaves_out_what_does_not_match(talk: Conversation) -> None:
    talk.all("SADD set a1 a2 b1", "SADD empty ''")
    assert talk.do("SSCAN set 0 MATCH a*") == b"*2\r\n$1\r\n0\r\n*2\r\n$2\r\na1\r\n$2\r\na2\r\n"
    assert talk.do("SSCAN empty 0 MATCH *") == b"*2\r\n$1\r\n0\r\n*1\r\n$0\r\n\r\n"


def test_a_large_set_is_walked_in_steps(talk: Conversation) -> None:
    talk.client.execute("SADD", "set", *range(1000))
    cursor, seen, calls = b"0", list[bytes](), 0
    while True:
        words = talk.do(f"SSCAN set {cursor.decode()} COUNT 50").split(b"\r\n")
        cursor, calls = words[2], calls + 1
        seen += words[5::2]
        if cursor == b"0":
            break
    assert 10 < calls < 40
    assert sorted(map(int, seen)) == list(range(1000))


def test_what_is_refused(talk: Conversation) -> None:
    talk.all("SET text x", "SADD set a")
    assert talk.do("SSCAN set x") == talk.do("SSCAN text x") == b"-ERR invalid cursor\r\n"
    assert talk.do("SSCAN text 0") == talk.do("SSCAN text 0 FOO") == WRONG_TYPE
    assert talk.do("SSCAN set 0 COUNT 0") == SYNTAX_ERROR
    assert talk.do("SSCAN set 0 TYPE set") == SYNTAX_ERROR
    assert talk.do("SSCAN set 0 MATCH") == SYNTAX_ERROR
