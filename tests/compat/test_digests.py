"""DEBUG DIGEST-VALUE gives the digests of Redis: by them redis-cli compares a key on two nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.programs.servers import start_of
from tests.support.resp import RespClient

pytestmark = pytest.mark.compat

KEYS = {
    "string": ["SET string hello"],
    "number": ["SET number 12345"],
    "deadline": ["SET deadline 1 PXAT 4000000000000"],
    "list": ["RPUSH list a b 3 " + "x" * 100],
    "long-list": ["RPUSH long-list " + " ".join(map(str, range(2_000)))],
    "set": ["SADD set a b c"],
    "numbers": ["SADD numbers 1 2 3 -70000"],
    "sorted-set": ["ZADD sorted-set 1 a 2.5 b -inf c -0 d"],
    "long-sorted-set": ["ZADD long-sorted-set " + " ".join(f"{n}.25 {n}" for n in range(200))],
    "hash": ["HSET hash a 1 b two"],
    "long-hash": ["HSET long-hash " + " ".join(f"{n} v{n}" for n in range(600))],
    "stream": [
        "XADD stream 1-1 a 1 b 2",
        "XADD stream 1-2 a 3 b 4",
        "XADD stream 7-0 c x c y",
        "XDEL stream 1-2",
        "XGROUP CREATE stream g 0",
    ],
    "long-stream": [f"XADD long-stream {n}-1 name {n}" for n in range(1, 1_500)],
    "empty-stream": ["XADD empty-stream 1-1 a 1", "XDEL empty-stream 1-1"],
}
OLDER_KEYS = {"scores": ["ZADD scores 0.1 a 1e300 b"]}  # later, they have other digits
# Of 7.4 and later.
NEWER_KEYS = {"fields": ["HSET fields a 1 b 2", "HPEXPIREAT fields 4000000000000 FIELDS 1 a"]}


def digests(client: RespClient, keys: dict[str, list[str]]) -> dict[str, bytes]:
    """After making the keys."""
    for request in (request for requests in keys.values() for request in requests):
        assert not client.send(*request.split()).startswith(b"-"), request
    return {key: client.send("DEBUG", "DIGEST-VALUE", key) for key in (*keys, "none")}


@pytest.mark.parametrize("kind", ["redis", "newer"])
def test_digests_of_values_are_those_of_redis(tmp_path: Path, kind: str) -> None:
    keys = KEYS | (NEWER_KEYS if kind == "newer" else OLDER_KEYS)
    found = {}
    for name in ("rillway", kind):
        server = start_of(name)(tmp_path, "--enable-debug-command", "local")
        try:
            with server.connect() as client:
                found[name] = digests(client, keys)
        finally:
            server.stop()
    assert found["rillway"] == found[kind]
    assert len(set(found[kind].values())) == len(found[kind])
