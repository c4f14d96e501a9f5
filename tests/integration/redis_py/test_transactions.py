"""Pipelines and transactions through redis-py, sync and asyncio, in both protocols."""

from __future__ import annotations

import asyncio

import pytest
from redis.exceptions import ResponseError, WatchError

from tests.integration.redis_py.conftest import Client

pytestmark = [
    pytest.mark.integration,
    pytest.mark.parametrize("protocol", [2, 3], ids=["resp2", "resp3"]),
]


def test_a_pipeline_with_a_transaction(client: Client) -> None:
    with client.pipeline() as pipe:
        pipe.set("k", "1").incr("k").xadd("s", {"f": "v"}, id="1-1").xlen("s")
        assert pipe.execute() == [True, 2, "1-1", 1]


def test_errors_inside_a_transaction_belong_to_their_commands(client: Client) -> None:
    client.set("k", "text")
    with client.pipeline() as pipe:
        pipe.incr("k").set("j", "1")
        first, second = pipe.execute(raise_on_error=False)
    assert isinstance(first, ResponseError)
    assert second is True
    assert client.get("j") == "1"


def test_a_watched_key_that_changed_fails_the_transaction(client: Client) -> None:
    client.set("stock", "1")
    with client.pipeline() as pipe:
        pipe.watch("stock")
        assert pipe.get("stock") == "1"
        client.set("stock", "0")
        pipe.multi()
        pipe.set("sold", "1")
        with pytest.raises(WatchError):
            pipe.execute()
    assert client.get("sold") is None


def test_the_transaction_helper_retries_until_no_client_interferes(client: Client) -> None:
    client.set("n", "10")
    attempts = 0

    def double(pipe: Client) -> None:
        nonlocal attempts
        attempts += 1
        value = int(pipe.get("n"))
        if attempts == 1:
            client.incr("n")
        pipe.multi()
        pipe.set("n", value * 2)

    client.transaction(double, "n")
    assert (attempts, client.get("n")) == (2, "22")


async def test_asyncio_counters_lose_no_increment(async_client: Client) -> None:
    workers, increments = 8, 10
    failures = 0

    async def increment() -> None:
        nonlocal failures
        for _ in range(increments):
            while True:
                async with async_client.pipeline() as pipe:
                    await pipe.watch("n")
                    value = int(await pipe.get("n") or 0)
                    pipe.multi()
                    pipe.set("n", value + 1)
                    try:
                        await pipe.execute()
                        break
                    except WatchError:
                        failures += 1

    await asyncio.gather(*(increment() for _ in range(workers)))
    assert await async_client.get("n") == str(workers * increments)
    assert failures > 0, "nobody interfered: the test proves nothing"


async def test_asyncio_pipeline_with_a_transaction(async_client: Client) -> None:
    async with async_client.pipeline() as pipe:
        pipe.set("k", "1").incr("k").xadd("s", {"f": "v"}, id="1-1")
        assert await pipe.execute() == [True, 2, "1-1"]
