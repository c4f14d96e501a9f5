"""SPOP and SRANDMEMBER."""

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

NOT_POSITIVE = b"-ERR value is out of range, must be positive\r\n"


def bulks(reply: bytes) -> list[bytes]:
    return reply.split(b"\r\n")[2::2]


def test_a_popped_member_is_removed_by_name(talk: Conversation) -> None:
    talk.all("SADD set a b c")
    member = bulks(talk.do("SPOP set 1"))[0].decode()
    assert talk.events() == ["spop set"]
    assert talk.propagated() == [f"SREM set {member}"]
    assert talk.do(f"SISMEMBER set {member}") == b":0\r\n"
    single = talk.do("SPOP set").split(b"\r\n")[1].decode()
    assert talk.propagated() == [f"SREM set {single}"]
    talk.do("SPOP set")
    assert talk.events() == ["spop set", "spop set", "del set"]
    assert talk.do("SPOP set") == NIL
    assert talk.do("SPOP set 3") == b"*0\r\n"


def test_all_members_go_with_the_key(talk: Conversation) -> None:
    talk.all("SADD set 1 2 3")
    assert talk.do("SPOP set 3") == b"*3\r\n$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n"
    assert talk.events() == ["spop set", "del set"]
    assert talk.propagated() == ["DEL set"]


def test_many_members_are_propagated_in_groups(talk: Conversation) -> None:
    talk.client.execute("SADD", "set", *range(3000))
    talk.propagated()
    popped = bulks(talk.do("SPOP set 2500"))
    lines = [shlex.split(line) for line in talk.propagated()]
    # Several requests of one command go as a transaction.
    removals = [line for line in lines if line[0] == "SREM"]
    assert [len(line) - 2 for line in removals] == [1024, 1024, 452]
    assert {word for line in removals for word in line[2:]} == {one.decode() for one in popped}
    assert talk.do("SCARD set") == b":500\r\n"


def test_nothing_is_popped_for_a_count_of_0(talk: Conversation) -> None:
    talk.all("SADD set a", "HELLO 3")
    assert talk.do("SPOP set 0") == talk.do("SPOP none 1") == b"~0\r\n"
    assert talk.propagated() == []
    assert talk.do("SPOP set 5") == b"~1\r\n$1\r\na\r\n"


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ("SPOP set -1", NOT_POSITIVE),
        ("SPOP set x", NOT_POSITIVE),
        ("SPOP set 1 2", SYNTAX_ERROR),
        ("SPOP text", WRONG_TYPE),
        ("SPOP text 0", WRONG_TYPE),
        ("SRANDMEMBER set x", NOT_AN_INTEGER),
        ("SRANDMEMBER set 1 2", SYNTAX_ERROR),
        ("SRANDMEMBER text", WRONG_TYPE),
        (
            "SRANDMEMBER set -9223372036854775808",
            b"-ERR value is out of range, value must between -9223372036854775807 and "
            b"9223372036854775807\r\n",
        ),
    ],
)
def test_what_is_refused(talk: Conversation, request_: str, error: bytes) -> None:
    talk.all("SET text x", "SADD set a")
    assert talk.do(request_) == error


def test_random_members(talk: Conversation) -> None:
    talk.all("SADD set a b c", "HELLO 3")
    assert bulks(b"*1\r\n" + talk.do("SRANDMEMBER set"))[0] in (b"a", b"b", b"c")
    assert len(set(bulks(talk.do("SRANDMEMBER set 2")))) == 2
    assert talk.do("SRANDMEMBER set 5") == b"*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n"
    repeated = talk.do("SRANDMEMBER set -50")
    assert repeated.startswith(b"*50\r\n")
    assert set(bulks(repeated)) == {b"a", b"b", b"c"}
    assert talk.do("SRANDMEMBER set 0") == talk.do("SRANDMEMBER none -3") == b"*0\r\n"
    assert talk.do("SRANDMEMBER none") == b"_\r\n"
    assert talk.propagated() == []


def test_a_great_many_random_members_come_in_pieces(talk: Conversation) -> None:
    talk.all("SADD set a b")
    reply = talk.do("SRANDMEMBER set -30000")
    assert reply.startswith(b"*30000\r\n")
    assert reply.count(b"$") == 30_000
