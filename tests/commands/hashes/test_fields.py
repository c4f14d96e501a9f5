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
    NIL,
    NOT_AN_INTEGER,
    NOW_MS,
    OK,
    WRONG_TYPE,
    Conversation,
    Speaker,
)


@pytest.mark.parametrize(
    ("request_", "reply"),
    [
        ("HGET h a", b"$1\r\n1\r\n"),
        ("HGET h x", NIL),
        ("HGET no a", NIL),
        ("HMGET h b x a", b"*3\r\n$2\r\n22\r\n$-1\r\n$1\r\n1\r\n"),
        ("HMGET no a b", b"*2\r\n$-1\r\n$-1\r\n"),
        ("HGETALL h", b"*4\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$2\r\n22\r\n"),
        ("HGETALL no", b"*0\r\n"),
        ("HKEYS h", b"*2\r\n$1\r\na\r\n$1\r\nb\r\n"),
        ("HVALS h", b"*2\r\n$1\r\n1\r\n$2\r\n22\r\n"),
        ("HKEYS no", b"*0\r\n"),
        ("HLEN h", b":2\r\n"),
        ("HLEN no", b":0\r\n"),
        ("HEXISTS h a", b":1\r\n"),
        ("HEXISTS h x", b":0\r\n"),
        ("HSTRLEN h b", b":2\r\n"),
        ("HSTRLEN h x", b":0\r\n"),
    ],
)
def test_replies(talk: Conversation, request_: str, reply: bytes) -> None:
    talk.all("HSET h a 1 b 22")
    assert talk.do(request_) == reply
    assert talk.propagated() == []


def test_resp3_has_maps_and_nulls(talk: Conversation) -> None:
    talk.all("HSET h a 1", "HELLO 3")
    assert talk.do("HGETALL h") == b"%1\r\n$1\r\na\r\n$1\r\n1\r\n"
    assert talk.do("HGETALL no") == b"%0\r\n"
    assert talk.do("HGET h x") == b"_\r\n"
    assert talk.do("HMGET h x") == b"*1\r\n_\r\n"


def test_a_large_hash_is_answered_whole(talk: Conversation) -> None:
    count = 2 * MANY_FIELDS + 7
    words = [word for n in range(count) for word in (f"f{n}", f"v{n}")]
    talk.client.execute("HSET", "h", *words)
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


def test_hset_counts_new_fields(talk: Conversation) -> None:
    assert talk.do("HSET h a 1 b 2") == b":2\r\n"
    assert talk.events() == ["new h", "hset h"]
    assert talk.propagated() == ["HSET h a 1 b 2"]
    assert talk.do("HSET h a 3 c 4 c 5") == b":1\r\n"
    assert talk.do("HGETALL h") == (
        b"*6\r\n$1\r\na\r\n$1\r\n3\r\n$1\r\nb\r\n$1\r\n2\r\n$1\r\nc\r\n$1\r\n5\r\n"
    )


def test_hmset_answers_ok(talk: Conversation) -> None:
    assert talk.do("HMSET h a 1") == OK
    assert (talk.events(), talk.propagated()) == (["new h", "hset h"], ["HMSET h a 1"])


@pytest.mark.parametrize("name", ["hset", "hmset"])
def test_pairs_must_be_whole(talk: Conversation, name: str) -> None:
    error = f"-ERR wrong number of arguments for '{name}' command\r\n".encode()
    assert talk.do(f"{name} h a 1 b") == error
    assert talk.do("EXISTS h") == b":0\r\n"


def test_hsetnx_leaves_what_is_there(talk: Conversation) -> None:
    assert talk.do("HSETNX h a 1") == b":1\r\n"
    assert talk.do("HSETNX h b 1") == b":1\r\n"
    assert talk.events() == ["new h", "hset h", "hset h"]
    talk.propagated()
    assert talk.do("HSETNX h a 2") == b":0\r\n"
    assert (talk.events(), talk.propagated()) == ([], [])
    assert talk.do("HGET h a") == b"$1\r\n1\r\n"


def test_the_key_goes_with_the_last_field(talk: Conversation) -> None:
    talk.all("HSET h a 1 b 2 c 3")
    assert talk.do("HDEL h a nothing a") == b":1\r\n"
    assert (talk.events(), talk.propagated()) == (["hdel h"], ["HDEL h a nothing a"])
    assert talk.do("HDEL h x") == b":0\r\n"
    assert (talk.events(), talk.propagated()) == ([], [])
    assert talk.do("HDEL h b c") == b":2\r\n"
    assert talk.events() == ["hdel h", "del h"]
    assert talk.do("EXISTS h") == b":0\r\n"
    assert talk.do("HDEL h b") == b":0\r\n"


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


def test_encodings_follow_the_directives(talk: Conversation) -> None:
    talk.all("CONFIG SET hash-max-listpack-entries 2 hash-max-ziplist-value 3")
    talk.all("HSET h a 1 b 2")
    assert talk.do("OBJECT ENCODING h") == b"$8\r\nlistpack\r\n"
    talk.all("HSET h c 3")
    assert talk.do("OBJECT ENCODING h") == b"$9\r\nhashtable\r\n"
    talk.all("HSET g a long")
    assert talk.do("OBJECT ENCODING g") == b"$9\r\nhashtable\r\n"
    assert talk.do("TYPE g") == b"+hash\r\n"


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


def test_a_field_that_is_not_there_counts_as_0(talk: Conversation) -> None:
    assert talk.do("HINCRBY h n 5") == b":5\r\n"
    assert talk.events() == ["new h", "hincrby h"]
    assert talk.propagated() == ["HINCRBY h n 5"]
    assert talk.do("HINCRBY h n -7") == b":-2\r\n"
    assert talk.do("HINCRBYFLOAT h f 10.50") == b"$4\r\n10.5\r\n"
    assert talk.do("HINCRBYFLOAT h f 0.1") == b"$4\r\n10.6\r\n"


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ("HINCRBY h text 1", "ERR hash value is not an integer"),
        ("HINCRBY h float 1", "ERR hash value is not an integer"),
        ("HINCRBY h max 1", "ERR increment or decrement would overflow"),
        ("HINCRBYFLOAT h text 1", "ERR hash value is not a float"),
        ("HINCRBYFLOAT h max x", "ERR value is not a valid float"),
        ("HINCRBYFLOAT h max nan", "ERR value is not a valid float"),
        ("HINCRBYFLOAT h max inf", "ERR value is NaN or Infinity"),
        ("HINCRBYFLOAT h inf 1", "ERR increment would produce NaN or Infinity"),
    ],
)
def test_what_is_no_number_is_refused(talk: Conversation, request_: str, error: str) -> None:
    talk.all("HSET h text abc float 1.5 inf inf max 9223372036854775807")
    before = talk.do("HGETALL h")
    assert talk.do(request_) == f"-{error}\r\n".encode()
    assert talk.do("HGETALL h") == before
    assert (talk.events(), talk.propagated()) == ([], [])


def test_an_increment_is_an_integer(talk: Conversation) -> None:
    assert talk.do("HINCRBY h n 1.5") == NOT_AN_INTEGER


def test_a_sum_of_floats_is_propagated_as_it_is(talk: Conversation) -> None:
    talk.do("HINCRBYFLOAT h f 3.0e3")
    assert talk.propagated() == ["HSET h f 3000"]
    assert talk.events() == ["new h", "hincrbyfloat h"]
    talk.all("HEXPIRE h 10 FIELDS 1 f")
    talk.do("HINCRBYFLOAT h f 1")
    assert talk.propagated() == [
        "MULTI",
        "HSET h f 3001",
        f"HPEXPIREAT h {talk.server.now_ms + 10_000} FIELDS 1 f",
        "EXEC",
    ]


def test_counting_keeps_the_time(talk: Conversation) -> None:
    talk.all("HSET h n 1", "HEXPIRE h 10 FIELDS 1 n", "HINCRBY h n 1", "HINCRBYFLOAT h n 1")
    assert talk.do("HTTL h FIELDS 1 n") == b"*1\r\n:10\r\n"
    talk.server.now_ms += 10_001
    assert talk.do("HINCRBY h n 1") == b":1\r\n"
    assert talk.do("HTTL h FIELDS 1 n") == b"*1\r\n:-1\r\n"
