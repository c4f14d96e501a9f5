"""DUMP and RESTORE through redis-py and redis-cli: the bytes pass through unharmed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis
from redis.exceptions import ResponseError

from tests.support.programs.servers import RunningServer

pytestmark = pytest.mark.integration

KEY = b"\xff\x00 key\r\n"
EVERY_BYTE = bytes(range(256)) * 3


@pytest.fixture(params=[2, 3], ids=["resp2", "resp3"])
def client(server: RunningServer, request: pytest.FixtureRequest) -> Iterator[redis.Redis]:
    with redis.Redis(port=server.port, protocol=request.param) as client:
        yield client


def fill(client: redis.Redis) -> None:
    for number in range(1, 301):
        client.xadd(KEY, {b"f\x00": EVERY_BYTE[: number % 300], b"n": number}, id=f"{number}-1")
    client.xgroup_create(KEY, "g", id="0")
    client.xreadgroup("g", "c", {KEY: ">"}, count=20)
    client.xack(KEY, "g", "3-1")


def dump(client: redis.Redis, key: bytes | str) -> bytes:
    payload = client.dump(key)
    assert isinstance(payload, bytes)
    return payload


def test_redis_py_copies_a_stream_with_its_group(client: redis.Redis) -> None:
    fill(client)
    payload = dump(client, KEY)
    assert client.restore("copy", 0, payload)
    assert client.xrange("copy") == client.xrange(KEY)
    assert client.xpending("copy", "g") == client.xpending(KEY, "g")
    assert dump(client, "copy") == payload


def test_redis_py_restores_with_every_option(client: redis.Redis) -> None:
    client.set("a", EVERY_BYTE)
    payload = dump(client, "a")
    with pytest.raises(ResponseError, match="Target key name already exists"):
        client.restore("a", 0, payload)
    assert client.restore("a", 5000, payload, replace=True, idletime=100)
    assert 0 < client.pttl("a") <= 5000
    assert client.object("idletime", "a") >= 99
    assert client.restore("a", 1, payload, replace=True, absttl=True)
    assert not client.exists("a")
    assert client.restore("b", 0, payload, frequency=5)
    assert client.get("b") == EVERY_BYTE
    with pytest.raises(ResponseError, match="DUMP payload version or checksum are wrong"):
        client.restore("c", 0, payload[:-1])
    assert client.dump("none") is None
