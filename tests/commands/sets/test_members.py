"""SADD, SREM, SMOVE, SISMEMBER, SMISMEMBER, SCARD, SMEMBERS.

SSCAN.

SPOP and SRANDMEMBER.
"""

from __future__ import annotations

import shlex

import pytest

from tests.commands.keys.conversation import (
    NIL,
    Conversation,
)


@pytest.mark.parametrize("name", ["SMEMBERS", "SUNION"])
def test_a_reply_of_many_members_is_complete(talk: Conversation, name: str) -> None:
    for start in range(0, 21_000, 3000):
        talk.client.execute("SADD", "set", *range(start, start + 3000))
    reply = talk.do(f"{name} set")
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
