"""DUMP and RESTORE through redis-py and redis-cli: the bytes pass through unharmed."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest
import redis
from redis.exceptions import ResponseError

from tests.support.programs.redis_tools import find_tool, tool_environment
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


def test_redis_cli_takes_a_payload_from_a_pipe(server: RunningServer) -> None:
    def cli(*arguments: str, data: bytes = b"") -> bytes:
        argv = [find_tool("redis-cli"), "-p", str(server.port), *arguments]
        return subprocess.run(
            argv, input=data, capture_output=True, check=True, env=tool_environment(), timeout=30
        ).stdout

    with redis.Redis(port=server.port) as client:
        fill(client)
        client.rename(KEY, "s")
        printed = cli("--raw", "DUMP", "s")
        assert printed == dump(client, "s") + b"\n"
        assert cli("-x", "RESTORE", "copy", "0", data=printed[:-1]) == b"OK\n"
        assert client.xrange("copy") == client.xrange("s")


def test_redis_takes_what_rillway_dumps_in_its_type_and_gives_it_back(
    server: RunningServer, redis_server: RunningServer
) -> None:
    with redis.Redis(port=server.port) as rillway, redis.Redis(port=redis_server.port) as real:
        real.flushall()
        fill(rillway)
        rillway.config_set("rdb-stream-type", "19")
        try:
            real.restore(KEY, 0, dump(rillway, KEY))
        finally:
            rillway.config_set("rdb-stream-type", "auto")
        assert real.xrange(KEY) == rillway.xrange(KEY)
        assert real.xpending_range(KEY, "g", "-", "+", 100) and real.xlen(KEY) == 300
        rillway.restore("back", 0, dump(real, KEY))
        assert rillway.xrange("back") == rillway.xrange(KEY)
        assert rillway.xpending("back", "g") == rillway.xpending(KEY, "g")
        real.flushall()
