"""ZREM, ZREMRANGEBYRANK, ZREMRANGEBYSCORE, ZREMRANGEBYLEX.

ZPOPMIN, ZPOPMAX, ZMPOP, BZPOPMIN, BZPOPMAX, BZMPOP.

ZRANDMEMBER.

ZSCAN.
"""

from __future__ import annotations

import shlex

import pytest

from tests.commands.keys.conversation import (
    NIL,
    NOT_AN_INTEGER,
    SYNTAX_ERROR,
    WRONG_TYPE,
    Conversation,
)


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


NOT_POSITIVE = b"-ERR value is out of range, must be positive\r\n"


@pytest.fixture
def zset(talk: Conversation) -> Conversation:
    talk.all("ZADD zset 1 a 2 b 3 c", "SET text x")
    return talk


def test_pops_from_either_end(zset: Conversation) -> None:
    assert zset.do("ZPOPMIN zset") == b"*2\r\n$1\r\na\r\n$1\r\n1\r\n"
    assert zset.events() == ["zpopmin zset"]
    assert zset.do("ZPOPMAX zset 9") == b"*4\r\n$1\r\nc\r\n$1\r\n3\r\n$1\r\nb\r\n$1\r\n2\r\n"
    assert zset.events() == ["zpopmax zset", "del zset"]
    assert zset.propagated() == ["ZPOPMIN zset", "ZPOPMAX zset 9"]
    assert zset.do("ZPOPMIN zset") == zset.do("ZPOPMIN zset 2") == b"*0\r\n"


def test_pops_are_nested_in_resp3_if_they_are_counted(zset: Conversation) -> None:
    zset.all("HELLO 3")
    assert zset.do("ZPOPMIN zset") == b"*2\r\n$1\r\na\r\n,1\r\n"
    assert zset.do("ZPOPMIN zset 1") == b"*1\r\n*2\r\n$1\r\nb\r\n,2\r\n"
    assert zset.do("ZPOPMIN zset 0") == b"*0\r\n"


def test_pops_from_the_first_that_is_there(zset: Conversation) -> None:
    assert zset.do("ZMPOP 2 none zset MIN COUNT 2") == (
        b"*2\r\n$4\r\nzset\r\n*2\r\n*2\r\n$1\r\na\r\n$1\r\n1\r\n*2\r\n$1\r\nb\r\n$1\r\n2\r\n"
    )
    assert zset.do("ZMPOP 1 zset max COUNT 7") == (
        b"*2\r\n$4\r\nzset\r\n*1\r\n*2\r\n$1\r\nc\r\n$1\r\n3\r\n"
    )
    assert zset.events() == ["zpopmin zset", "zpopmax zset", "del zset"]
    assert zset.propagated() == ["ZPOPMIN zset 2", "ZPOPMAX zset 1"]
    assert zset.do("ZMPOP 1 zset MIN") == b"*-1\r\n"
    assert zset.propagated() == []


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ("ZPOPMIN zset -1", NOT_POSITIVE),
        ("ZPOPMIN zset x", NOT_POSITIVE),
        ("ZPOPMAX zset 1 2", SYNTAX_ERROR),
        ("ZPOPMIN text 0", WRONG_TYPE),
        ("ZMPOP 0 zset MIN", b"-ERR numkeys should be greater than 0\r\n"),
        ("ZMPOP 1 zset LEFT", SYNTAX_ERROR),
        ("ZMPOP 2 zset MIN", SYNTAX_ERROR),
        ("ZMPOP 1 zset MIN COUNT 0", b"-ERR count should be greater than 0\r\n"),
        ("ZMPOP 1 zset MIN COUNT 1 COUNT 1", SYNTAX_ERROR),
        ("ZMPOP 2 none text MIN", WRONG_TYPE),
        ("BZPOPMIN text zset 0", WRONG_TYPE),
        ("BZPOPMIN zset x", b"-ERR timeout is not a float or out of range\r\n"),
        ("BZPOPMIN zset -1", b"-ERR timeout is negative\r\n"),
        ("BZMPOP x 0 zset MIN", b"-ERR numkeys should be greater than 0\r\n"),
        ("BZMPOP x 1 zset MIN", b"-ERR timeout is not a float or out of range\r\n"),
    ],
)
def test_what_zpop_refuses(zset: Conversation, request_: str, error: bytes) -> None:
    assert zset.do(request_) == error


def test_a_blocking_pop_does_not_wait_if_there_is_a_member(zset: Conversation) -> None:
    assert zset.do("BZPOPMIN none zset 0") == b"*3\r\n$4\r\nzset\r\n$1\r\na\r\n$1\r\n1\r\n"
    assert zset.do("BZPOPMAX zset 0") == b"*3\r\n$4\r\nzset\r\n$1\r\nc\r\n$1\r\n3\r\n"
    assert zset.do("BZMPOP 0 1 zset MIN") == (
        b"*2\r\n$4\r\nzset\r\n*1\r\n*2\r\n$1\r\nb\r\n$1\r\n2\r\n"
    )
    assert zset.propagated() == ["ZPOPMIN zset", "ZPOPMAX zset", "ZPOPMIN zset 1"]


def test_waiters_are_served_first_come_first_served(talk: Conversation) -> None:
    first, second, third = talk.other(), talk.other(), talk.other()
    assert first.do("BZPOPMAX zset 0") == second.do("BZMPOP 0 1 zset MIN COUNT 5") == b""
    assert third.do("BZPOPMIN other zset 0") == b""
    talk.do("ZADD zset 1 a 2 b 3 c")
    assert first.received() == b"*3\r\n$4\r\nzset\r\n$1\r\nc\r\n$1\r\n3\r\n"
    assert second.received().startswith(b"*2\r\n$4\r\nzset\r\n*2\r\n")
    assert third.received() == b""
    assert talk.propagated() == ["ZADD zset 1 a 2 b 3 c", "ZPOPMAX zset", "ZPOPMIN zset 2"]
    talk.do("ZADD other 7 x")
    assert third.received() == b"*3\r\n$5\r\nother\r\n$1\r\nx\r\n$1\r\n7\r\n"
    assert talk.do("EXISTS zset other") == b":0\r\n"


def test_a_value_of_another_type_wakes_no_client(talk: Conversation) -> None:
    waiter = talk.other()
    waiter.do("BZPOPMIN zset 0")
    talk.all("SADD zset a", "DEL zset", "RPUSH zset a", "DEL zset")
    assert waiter.received() == b""
    talk.all("ZADD source 1 a", "RENAME source zset")
    assert waiter.received() == b"*3\r\n$4\r\nzset\r\n$1\r\na\r\n$1\r\n1\r\n"


@pytest.mark.parametrize(
    "source", ["ZUNIONSTORE zset 1 source", "ZRANGESTORE zset source 0 -1", "COPY source zset"]
)
def test_what_makes_a_sorted_set_serves(talk: Conversation, source: str) -> None:
    waiter = talk.other()
    waiter.do("BZPOPMIN zset 0")
    talk.all("ZADD source 1 a", source)
    assert waiter.received() == b"*3\r\n$4\r\nzset\r\n$1\r\na\r\n$1\r\n1\r\n"


def test_no_command_waits_in_a_transaction(talk: Conversation) -> None:
    talk.all("MULTI", "BZPOPMIN zset 0", "BZMPOP 0 1 zset MAX")
    assert talk.do("EXEC") == b"*2\r\n*-1\r\n*-1\r\n"


def test_a_wait_ends(talk: Conversation) -> None:
    waiter = talk.other()
    waiter.do("HELLO 3")
    assert waiter.do("BZPOPMIN zset 1.5") == b""
    talk.server.advance(1499)
    assert waiter.received() == b""
    talk.server.advance(2)
    assert waiter.received() == b"_\r\n"


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
def test_what_zrandmember_refuses(talk: Conversation, words: str, error: bytes) -> None:
    talk.all("SET text x", "ZADD zset 1 a")
    assert talk.do(f"ZRANDMEMBER {words}") == error


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


def test_what_zscan_refuses(talk: Conversation) -> None:
    talk.all("SET text x", "ZADD zset 1 a")
    assert talk.do("ZSCAN text x") == b"-ERR invalid cursor\r\n"
    assert talk.do("ZSCAN text 0") == WRONG_TYPE
    assert talk.do("ZSCAN zset 0 COUNT 0") == talk.do("ZSCAN zset 0 TYPE zset") == SYNTAX_ERROR
