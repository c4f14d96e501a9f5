"""Hashes through redis-py, sync and asyncio, in both protocols: its whole surface for them."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import redis
import redis.asyncio
from redis.commands.core import HashDataPersistOptions as Only
from redis.exceptions import ResponseError

from tests.support.programs.servers import RunningServer

pytestmark = [
    pytest.mark.integration,
    pytest.mark.parametrize("protocol", [2, 3], ids=["resp2", "resp3"]),
]

FIELDS = {"a": "1", "b": "two", "c": "3.5"}
HOUR_S = 3600


@pytest.fixture
def client(server: RunningServer, protocol: int) -> Iterator[redis.Redis]:
    with redis.Redis(port=server.port, protocol=protocol, decode_responses=True) as client:
        client.hset("h", mapping=FIELDS)
        yield client


@pytest.fixture
async def async_client(server: RunningServer, protocol: int) -> AsyncIterator[redis.asyncio.Redis]:
    async with redis.asyncio.Redis(
        port=server.port, protocol=protocol, decode_responses=True
    ) as client:
        yield client


def test_fields_are_set_and_read(client: redis.Redis) -> None:
    assert client.hgetall("h") == FIELDS
    assert client.hset("h", "d", "4") == 1
    assert client.hset("h", items=["d", "5", "e", "6"]) == 1
    with pytest.warns(DeprecationWarning, match="hset"):
        assert client.hmset("h", {"e": "7"}) is True
    assert client.hsetnx("h", "e", "8") == 0
    assert client.hget("h", "e") == "7"
    assert client.hget("h", "nothing") is None
    assert client.hmget("h", ["a", "nothing", "b"]) == ["1", None, "two"]
    assert client.hkeys("h") == ["a", "b", "c", "d", "e"]
    assert client.hvals("h") == ["1", "two", "3.5", "5", "7"]
    assert (client.hlen("h"), client.hstrlen("h", "b")) == (5, 3)
    assert (client.hexists("h", "a"), client.hexists("h", "x")) == (True, False)
    assert client.hdel("h", "d", "e", "x") == 2
    assert client.hgetall("nothing") == {}
    assert client.type("h") == "hash"


def test_fields_are_counted_with(client: redis.Redis) -> None:
    assert client.hincrby("h", "a", 41) == 42
    assert client.hincrbyfloat("h", "c", 0.1) == 3.6
    with pytest.raises(ResponseError, match="hash value is not an integer"):
        client.hincrby("h", "b")


def test_fields_are_walked_over_and_chosen(client: redis.Redis) -> None:
    assert client.hscan("h") == (0, FIELDS)
    assert client.hscan("h", match="[ab]", count=1) == (0, {"a": "1", "b": "two"})
    assert client.hscan("h", no_values=True) == (0, ["a", "b", "c"])
    client.hset("large", mapping={f"f{n}": n for n in range(2000)})
    assert dict(client.hscan_iter("large", count=100)) == {f"f{n}": str(n) for n in range(2000)}
    assert len(set(client.hscan_iter("large", no_values=True))) == 2000
    assert client.hrandfield("h") in FIELDS
    different: Any = client.hrandfield("h", 9)
    repeating: Any = client.hrandfield("h", -9)
    assert (sorted(different), len(repeating)) == (["a", "b", "c"], 9)
    chosen: Any = client.hrandfield("h", 3, withvalues=True)
    flat = [word for one in chosen for word in (one if isinstance(one, list) else [one])]
    assert dict(zip(flat[::2], flat[1::2], strict=True)) == FIELDS


def test_fields_expire(client: redis.Redis) -> None:
    now_s = int(time.time())
    assert client.hexpire("h", HOUR_S, "a", "x") == [1, -2]
    assert client.hpexpire("h", 1000 * HOUR_S, "b", nx=True) == [1]
    assert client.hexpire("h", HOUR_S, "b", nx=True) == [0]
    assert client.hexpireat("h", now_s + 2 * HOUR_S, "b", gt=True) == [1]
    assert client.hpexpireat("h", 1000 * (now_s + 3 * HOUR_S), "c") == [1]
    (left_s,) = client.httl("h", "a")
    (left_ms,) = client.hpttl("h", "c")
    assert HOUR_S - 60 < left_s <= HOUR_S
    assert 2 * HOUR_S < left_ms / 1000 <= 3 * HOUR_S + 1
    assert client.hexpiretime("h", "b", "x") == [now_s + 2 * HOUR_S, -2]
    assert client.hpexpiretime("h", "c") == [1000 * (now_s + 3 * HOUR_S)]
    assert client.hpersist("h", "c", "c") == [1, -1]
    assert client.hexpire("h", 0, "a", "b", "c") == [2, 2, 2]
    assert client.exists("h") == 0


def test_fields_are_read_and_removed_or_given_a_time(client: redis.Redis) -> None:
    assert client.hgetdel("h", "a", "x") == ["1", None]
    assert client.hgetex("h", "b", "x", ex=HOUR_S) == ["two", None]
    assert HOUR_S - 60 < client.httl("h", "b")[0] <= HOUR_S
    assert client.hgetex("h", "b", persist=True) == ["two"]
    assert client.httl("h", "b") == [-1]
    assert client.hsetex("h", "d", "4", ex=HOUR_S) == 1
    assert client.hsetex("h", mapping={"d": "5"}, data_persist_option=Only.FNX) == 0
    assert client.hsetex("h", mapping={"d": "5"}, data_persist_option=Only.FXX, keepttl=True) == 1
    assert client.httl("h", "d")[0] > 0
    assert client.hget("h", "d") == "5"


async def test_an_asynchronous_client_has_the_same(async_client: redis.asyncio.Redis) -> None:
    client: Any = async_client
    assert await client.hset("h", mapping=FIELDS) == 3
    assert await client.hgetall("h") == FIELDS
    assert await client.hexpire("h", HOUR_S, "a") == [1]
    assert await client.hincrby("h", "a", 1) == 2
    assert await client.httl("h", "b") == [-1]
    assert {name: text async for name, text in client.hscan_iter("h")} == FIELDS | {"a": "2"}
    async with client.pipeline(transaction=True) as pipe:
        pipe.hset("h", "d", 1).hdel("h", "a").hlen("h")
        assert await pipe.execute() == [1, 1, 3]


def test_a_field_is_removed_when_its_time_to_live_is_over(client: redis.Redis) -> None:
    client.hpexpire("h", 1, "a", "b", "c")
    deadline = time.monotonic() + 10
    while client.exists("h"):
        assert time.monotonic() < deadline, "nobody removed it"
    assert client.info("stats")["expired_subkeys"] >= 3
