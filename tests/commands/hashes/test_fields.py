"""HGET, HMGET, HGETALL, HKEYS, HVALS, HLEN, HEXISTS, HSTRLEN.

HSET, HMSET, HSETNX, HDEL.

HINCRBY and HINCRBYFLOAT. Replies of redis-server 7.0.15.
"""

from __future__ import annotations

import hiredis
import pytest

from commands.hashes.fields import MANY_FIELDS
from storage.digest import value_digest
from tests.commands.keys.conversation import (
    NOW_MS,
    OK,
    WRONG_TYPE,
    Conversation,
    Speaker,
)


@pytest.mark.parametrize("expiring", [False, True])
def test_a_large_hash_is_answered_whole(talk: Conversation, expiring: bool) -> None:
    count = 2 * MANY_FIELDS + 7
    words = [word for n in range(count) for word in (f"f{n}", f"v{n}")]
    talk.client.execute("HSET", "h", *words)
    if expiring:
        talk.do("HEXPIRE h 100 FIELDS 1 f0")
    replies = {}
    for name in ("HGETALL", "HKEYS", "HVALS"):
        reader = hiredis.Reader(encoding="utf-8")
        reader.feed(talk.do(f"{name} h"))
        replies[name] = reader.gets()
    everything = replies["HGETALL"]
    assert sorted(everything) == sorted(words)
    assert replies["HKEYS"] == everything[::2]
    assert replies["HVALS"] == everything[1::2] == ["v" + name[1:] for name in everything[::2]]


def test_reading_counts_hits_and_misses(talk: Conversation) -> None:
    talk.all("HSET h a 1")
    stats = talk.server.instance.stats
    talk.do("HGET h x")
    talk.do("HGETALL no")
    assert (stats.keyspace_hits, stats.keyspace_misses) == (1, 1)


def test_caches_hear_of_changed_fields(talk: Conversation) -> None:
    talk.all("HSET h a 1", "HELLO 3", "CLIENT TRACKING ON")
    talk.do("HGET h a")
    talk.other().do("HSET h a 2")
    assert talk.received() == b">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nh\r\n"


@pytest.mark.parametrize(
    "request_",
    [
        "HSET k a 1", "HMSET k a 1", "HSETNX k a 1", "HDEL k a", "HGET k a", "HMGET k a",
        "HGETALL k", "HKEYS k", "HVALS k", "HLEN k", "HEXISTS k a", "HSTRLEN k a",
        "HINCRBY k a 1", "HINCRBYFLOAT k a 1", "HRANDFIELD k", "HRANDFIELD k 1", "HSCAN k 0",
        "HEXPIRE k 1 FIELDS 1 a", "HTTL k FIELDS 1 a", "HPERSIST k FIELDS 1 a",
        "HGETDEL k FIELDS 1 a", "HGETEX k FIELDS 1 a", "HSETEX k FIELDS 1 a 1",
        "HEXPIRE k x y z 1 a", "HTTL k x y z",
    ],
)  # fmt: skip
def test_another_type_is_refused(talk: Conversation, request_: str) -> None:
    talk.all("SET k v")
    assert talk.do(request_) == WRONG_TYPE
    assert talk.do("GET k") == b"$1\r\nv\r\n"
    talk.all("HSET h a 1")
    assert talk.do("XADD h * f v") == talk.do("GET h") == WRONG_TYPE


def test_a_transaction_that_watches_fails(talk: Conversation) -> None:
    other = talk.other()
    for request in ("HSET h a 2", "HSETNX h b 1", "HDEL h b", "HINCRBY h n 1"):
        other.do("HSET h a 1")
        other.do("WATCH h")
        other.do("MULTI")
        talk.do(request)
        assert other.do("EXEC") == b"*-1\r\n"


def test_copy_dump_and_restore_take_times_along(talk: Conversation) -> None:
    talk.all("HSET h a 1 b 2", "HPEXPIRE h 5000 FIELDS 1 a", "COPY h c", "RENAME h r")
    for key in ("c", "r"):
        assert talk.do(f"HPTTL {key} FIELDS 2 a b") == b"*2\r\n:5000\r\n:-1\r\n"
    payload = talk.client.execute("DUMP", "c").partition(b"\r\n")[2][:-2]
    assert talk.client.execute("RESTORE", "d", "0", payload) == OK
    assert talk.do("HPTTL d FIELDS 2 a b") == b"*2\r\n:5000\r\n:-1\r\n"
    values = talk.server.instance.databases[0].values
    assert len({value_digest(values[key], None, NOW_MS) for key in (b"c", b"d", b"r")}) == 1
    assert talk.do("MOVE d 1") == b":1\r\n"
    talk.server.advance(5001)
    assert talk.do("HGETALL c") == talk.do("HGETALL r") == b"*2\r\n$1\r\nb\r\n$1\r\n2\r\n"
    talk.do("SELECT 1")
    assert talk.do("HLEN d") == b":1\r\n"


def heard(talk: Conversation, listener: Speaker, request: str) -> list[str]:
    """What comes because of a request, as `event|fields`."""
    reply = talk.do(request)
    assert not reply.startswith(b"-"), reply
    return [line for line in listener.received().decode().split("\r\n") if "|" in line]


def test_subkey_events_name_the_fields(talk: Conversation) -> None:
    talk.all("CONFIG SET notify-keyspace-events hS")
    listener = talk.other()
    listener.do("PSUBSCRIBE __subkey*")
    for request, messages in {
        "HSET h a 1 b 2": ["hset|1:a,1:b"],
        "HSETNX h c 3": ["hset|1:c"],
        "HINCRBY h a 1": ["hincrby|1:a"],
        "HINCRBYFLOAT h a 1": ["hincrbyfloat|1:a"],
        "HEXPIRE h 10 FIELDS 3 a x b": ["hexpire|1:a,1:b"],
        "HPERSIST h FIELDS 2 a c": ["hpersist|1:a"],
        "HGETEX h EX 5 FIELDS 1 c": ["hexpire|1:c"],
        "HSETEX h EX 5 FIELDS 1 d 1": ["hset|1:d", "hexpire|1:d"],
        "HEXPIRE h 0 FIELDS 1 d": ["hdel|1:d"],
        "HDEL h x a": ["hdel|1:a"],
        "HGETDEL h FIELDS 2 x c": ["hdel|1:c"],
    }.items():
        assert heard(talk, listener, request) == messages, request
    talk.server.advance(10_001)
    assert "hexpired|1:b" in listener.received().decode()
    talk.all("CONFIG SET notify-keyspace-events KES")
    assert heard(talk, listener, "HSET h a 1") == [], "the class h is not enabled"
