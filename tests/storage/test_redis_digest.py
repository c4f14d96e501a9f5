"""Digests of values as Redis has them: tests/compat/test_digests.py compares with real ones."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessClient
from storage.redis_digest import redis_digest

# As Redis 7.0.15 and 8.2 answer DEBUG DIGEST-VALUE.
DIGESTS = {
    "SET k hello": "36b23a1456b2dce2c3ed252c456761301dba8060",
    "SET k 12345 PX 100000000": "074a6e8892a0b0b4fcf085794cb69322c36c9d00",
    "RPUSH k a b 3": "09eb1fc9381ee92790d59930ab462945f8cd948b",
    "SADD k a b 7": "4db2915dc242371e719444ddc8b328e38ac18e1c",
    "ZADD k 1 a 2.5 b": "c45c5b051acd64070e5ed1a949939d5145f806c5",
    "HSET k a 1 b two": "aaec2dd6dd5d0e6fbdce75b84b029b773e920b00",
    "XADD k 1-1 a 1 b 2": "e4a21e3ca2d9a960e9859bb0985cc334bb4f2e58",
}


@pytest.mark.parametrize(("request_", "digest"), DIGESTS.items())
def test_a_digest_is_that_of_redis(client: InProcessClient, request_: str, digest: str) -> None:
    client.execute(*request_.split())
    db = client.server.instance.databases[0]
    assert redis_digest(db.values[b"k"], db.expires.get(b"k")).hex() == digest
