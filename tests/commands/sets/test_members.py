"""SADD, SREM, SMOVE, SISMEMBER, SMISMEMBER, SCARD, SMEMBERS.

SSCAN.

SPOP and SRANDMEMBER.
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
def test_what_spop_refuses(talk: Conversation, request_: str, error: bytes) -> None:
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
