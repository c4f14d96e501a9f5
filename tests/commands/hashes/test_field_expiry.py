"""HEXPIRE and its kin, HTTL and its kin, HPERSIST, and how fields expire. Source: Redis 7.4.

HGETDEL, HGETEX, HSETEX. Source: Redis 8.0 to 8.10.
"""

from __future__ import annotations

import pytest

from protocol.request import Request
from server.loop.cron import expire_fields
from storage.types.hashes import HashValue
from tests.commands.keys.conversation import NIL, NOW_MS, Conversation
from tests.doubles.replaying_client import replaying_client


def ints(*numbers: int) -> bytes:
    return b"*%d\r\n" % len(numbers) + b"".join(b":%d\r\n" % number for number in numbers)


@pytest.fixture
def talk(talk: Conversation) -> Conversation:
    talk.all("HSET h a 1 b 2 c 3")
    return talk


# -- setting -------------------------------------------------------------------------------------


@pytest.mark.parametrize("request_", ["HEXPIRE h 0", f"HPEXPIREAT h {NOW_MS}", "HEXPIREAT h 1"])
def test_a_time_that_has_come_removes_the_field(talk: Conversation, request_: str) -> None:
    assert talk.do(f"{request_} FIELDS 3 a x b") == ints(2, -2, 2)
    assert talk.events() == ["hdel h"]
    assert talk.propagated() == ["MULTI", "HDEL h a", "HDEL h b", "EXEC"]
    assert talk.do(f"{request_} FIELDS 1 c") == ints(2)
    assert talk.events() == ["hdel h", "del h"]
    assert talk.do("EXISTS h") == b":0\r\n"


def test_what_was_accepted_before_is_repeated_though_the_time_has_come(
    talk: Conversation,
) -> None:
    client = replaying_client(talk.server)
    run = talk.server.dispatcher.execute
    run(client, Request([b"HPEXPIREAT", b"h", b"5", b"FIELDS", b"1", b"a"]))
    run(client, Request([b"HGET", b"h", b"a"]))
    assert client.output == [ints(1), b"$1\r\n1\r\n"]
    assert talk.do("HGET h a") == NIL


def test_setting_a_field_takes_its_time_away(talk: Conversation) -> None:
    talk.all("HEXPIRE h 10 FIELDS 2 a b", "HSET h a 9", "HMSET h b 9")
    assert talk.do("HTTL h FIELDS 2 a b") == ints(-1, -1)
    assert not talk.server.instance.databases[0].field_expires


# -- expiring ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "reply"),
    [
        ("HGET h a", NIL),
        ("HMGET h a b c", b"*3\r\n$-1\r\n$-1\r\n$1\r\n3\r\n"),
        ("HEXISTS h a", b":0\r\n"),
        ("HSTRLEN h a", b":0\r\n"),
        ("HTTL h FIELDS 1 a", ints(-2)),
        ("HSETNX h a 9", b":1\r\n"),
        ("HSET h a 9", b":1\r\n"),
        ("HDEL h a", b":0\r\n"),
        ("HINCRBY h a 5", b":5\r\n"),
        ("HEXPIRE h 5 FIELDS 1 a", ints(-2)),
        ("HGETDEL h FIELDS 1 a", b"*1\r\n$-1\r\n"),
    ],
)
def test_a_field_that_is_named_is_removed_first(
    talk: Conversation, request_: str, reply: bytes
) -> None:
    talk.all("HPEXPIRE h 10 FIELDS 2 a b")
    talk.server.now_ms += 11
    assert talk.do("HLEN h") == b":3\r\n"
    assert talk.do(request_) == reply
    assert talk.events()[0] == "hexpired h"
    assert talk.propagated()[0] in ("HDEL h a", "MULTI")
    assert talk.server.instance.stats.expired_subkeys in (1, 2)


def test_fields_expire_without_a_request(talk: Conversation) -> None:
    talk.all("HPEXPIRE h 10 FIELDS 2 a b", "HSET g x 1", "HPEXPIRE g 20 FIELDS 1 x")
    assert "subexpiry=2" in talk.do("INFO keyspace").decode()
    talk.server.advance(10)
    assert talk.events() == []
    talk.server.advance(1)
    assert talk.events() == ["hexpired h"]
    assert talk.propagated() == ["HDEL h a", "HDEL h b"]
    talk.server.advance(10)
    assert talk.events() == ["hexpired g", "del g"]
    assert talk.propagated() == ["HDEL g x"]
    assert "subexpiry=0" in talk.do("INFO keyspace").decode()
    assert "expired_subkeys:3" in talk.do("INFO stats").decode()
    assert talk.do("HGETALL h") == b"*2\r\n$1\r\nc\r\n$1\r\n3\r\n"


def test_times_follow_the_value(talk: Conversation) -> None:
    talk.all("HPEXPIRE h 10 FIELDS 1 a", "RENAME h g", "COPY g k", "MOVE k 1", "SWAPDB 0 1")
    first, second = talk.server.instance.databases[:2]
    assert (list(first.field_expires), list(second.field_expires)) == ([b"k"], [b"g"])
    talk.server.advance(11)
    for db in (first, second):
        (value,) = db.values.values()
        assert isinstance(value, HashValue)
        assert b"a" not in value
    assert talk.server.instance.stats.expired_subkeys == 2
    talk.all("FLUSHALL")
    assert not first.field_expires


def test_a_key_that_goes_takes_its_times_along(talk: Conversation) -> None:
    talk.all("HPEXPIRE h 10 FIELDS 1 a", "DEL h", "HSET h a 1")
    assert not talk.server.instance.databases[0].field_expires
    talk.all("HPEXPIRE h 10 FIELDS 1 a", "SET h text")
    assert not talk.server.instance.databases[0].field_expires
    talk.server.advance(20)
    assert talk.do("GET h") == b"$4\r\ntext\r\n"


def test_a_replica_hides_them_until_the_primary_removes_them(talk: Conversation) -> None:
    talk.all("HPEXPIRE h 10 FIELDS 1 a", "REPLICAOF 127.0.0.1 1")
    talk.server.now_ms += 11
    assert talk.do("HMGET h a b") == b"*2\r\n$-1\r\n$1\r\n2\r\n"
    assert talk.do("HKEYS h") == b"*2\r\n$1\r\nb\r\n$1\r\nc\r\n"
    assert talk.do("HLEN h") == b":3\r\n"
    assert expire_fields(talk.server.instance, limit=10) == 0
    assert (talk.events(), talk.propagated()) == ([], [])
    talk.all("REPLICAOF NO ONE")
    assert expire_fields(talk.server.instance, limit=10) == 1
