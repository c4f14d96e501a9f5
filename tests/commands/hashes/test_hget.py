"""HGET, HMGET, HGETALL, HKEYS, HVALS, HLEN, HEXISTS, HSTRLEN."""

from __future__ import annotations

import hiredis
import pytest

from commands.hashes.hget import MANY_FIELDS
from tests.commands.keys.conversation import NIL, Conversation


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
