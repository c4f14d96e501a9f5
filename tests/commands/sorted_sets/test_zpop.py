"""ZPOPMIN, ZPOPMAX, ZMPOP, BZPOPMIN, BZPOPMAX, BZMPOP."""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import (
    SYNTAX_ERROR,
    WRONG_TYPE,
    Conversation,
)

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
def test_what_is_refused(zset: Conversation, request_: str, error: bytes) -> None:
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
