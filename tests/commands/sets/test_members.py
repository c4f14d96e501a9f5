"""SADD, SREM, SMOVE, SISMEMBER, SMISMEMBER, SCARD, SMEMBERS."""

from __future__ import annotations

import pytest

from tests.commands.keys.conversation import WRONG_TYPE, Conversation


def test_members_are_added_once(talk: Conversation) -> None:
    assert talk.do("SADD set a b a") == b":2\r\n"
    assert talk.events() == ["new set", "sadd set"]
    assert talk.propagated() == ["SADD set a b a"]
    assert talk.do("SADD set a") == b":0\r\n"
    assert talk.events() == talk.propagated() == []
    assert talk.do("SMEMBERS set") == b"*2\r\n$1\r\na\r\n$1\r\nb\r\n"


def test_the_key_goes_with_the_last_member(talk: Conversation) -> None:
    talk.all("SADD set a b c")
    assert talk.do("SREM set a x b") == b":2\r\n"
    assert talk.events() == ["srem set"]
    assert talk.do("SREM set x") == b":0\r\n"
    assert talk.events() == []
    assert talk.do("SREM set c") == b":1\r\n"
    assert talk.events() == ["srem set", "del set"]
    assert talk.propagated() == ["SREM set a x b", "SREM set c"]
    assert talk.do("EXISTS set") == talk.do("SREM set c") == b":0\r\n"


def test_a_member_moves(talk: Conversation) -> None:
    talk.all("SADD set a b")
    assert talk.do("SMOVE set other a") == b":1\r\n"
    assert talk.events() == ["srem set", "new other", "sadd other"]
    assert talk.propagated() == ["SMOVE set other a"]
    assert talk.do("SMOVE set other x") == talk.do("SMOVE none other a") == b":0\r\n"
    talk.all("SADD other b")
    assert talk.do("SMOVE set other b") == b":1\r\n"
    assert talk.events() == ["srem set", "del set"]
    assert talk.do("SMEMBERS other") == b"*2\r\n$1\r\na\r\n$1\r\nb\r\n"


def test_a_member_moves_to_its_own_set(talk: Conversation) -> None:
    talk.all("SADD set a")
    assert talk.do("SMOVE set set a") == b":1\r\n"
    assert talk.do("SMOVE set set x") == b":0\r\n"
    assert talk.events() == talk.propagated() == []


def test_the_target_may_be_of_another_type_if_there_is_no_source(talk: Conversation) -> None:
    talk.all("SET text x", "SADD set a")
    assert talk.do("SMOVE none text a") == b":0\r\n"
    assert talk.do("SMOVE set text a") == talk.do("SMOVE set text x") == WRONG_TYPE
    assert talk.do("SISMEMBER set a") == b":1\r\n"


def test_who_is_a_member(talk: Conversation) -> None:
    talk.all("SADD set a 1")
    assert talk.do("SISMEMBER set a") == b":1\r\n"
    assert talk.do("SISMEMBER set 01") == talk.do("SISMEMBER none a") == b":0\r\n"
    assert talk.do("SMISMEMBER set a x 1") == b"*3\r\n:1\r\n:0\r\n:1\r\n"
    assert talk.do("SMISMEMBER none a x") == b"*2\r\n:0\r\n:0\r\n"
    assert talk.do("SCARD set") == b":2\r\n"
    assert talk.do("SCARD none") == b":0\r\n"


def test_members_are_a_set_in_resp3(talk: Conversation) -> None:
    talk.all("SADD set 2 1", "HELLO 3")
    assert talk.do("SMEMBERS set") == b"~2\r\n$1\r\n1\r\n$1\r\n2\r\n"
    assert talk.do("SMEMBERS none") == b"~0\r\n"


def test_a_reply_of_many_members_is_complete(talk: Conversation) -> None:
    for start in range(0, 21_000, 3000):
        talk.client.execute("SADD", "set", *range(start, start + 3000))
    reply = talk.do("SMEMBERS set")
    assert reply.startswith(b"*21000\r\n$")
    assert reply.count(b"$") == 21_000


def test_form_type_and_size_are_shown(talk: Conversation) -> None:
    talk.all("SADD set 1 2")
    assert talk.do("TYPE set") == b"+set\r\n"
    assert talk.do("OBJECT ENCODING set") == b"$6\r\nintset\r\n"
    talk.all("SADD set a")
    assert talk.do("OBJECT ENCODING set") == b"$8\r\nlistpack\r\n"
    talk.all("CONFIG SET set-max-listpack-entries 3", "SADD set b")
    assert talk.do("OBJECT ENCODING set") == b"$9\r\nhashtable\r\n"
    assert int(talk.do("MEMORY USAGE set")[1:]) > 100


@pytest.mark.parametrize(
    "request_",
    [
        "SADD text a", "SREM text a", "SMOVE text set a", "SISMEMBER text a",
        "SMISMEMBER text a", "SCARD text", "SMEMBERS text",
    ],
)  # fmt: skip
def test_another_type_is_refused(talk: Conversation, request_: str) -> None:
    talk.all("SET text x")
    assert talk.do(request_) == WRONG_TYPE


def test_a_changed_set_fails_a_transaction_that_watches_it(talk: Conversation) -> None:
    other = talk.other()
    talk.all("SADD set a", "WATCH set", "MULTI")
    other.do("SADD set b")
    assert talk.do("EXEC") == b"*-1\r\n"
    talk.all("WATCH set", "MULTI")
    other.do("SADD set b")
    assert talk.do("EXEC") == b"*0\r\n"
