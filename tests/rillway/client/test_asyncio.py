"""The asyncio client beside both servers: RESP2 and RESP3, bytes and text."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from typing import Any

import pytest
import redis
import redis.asyncio

from rillway.client import AsyncStream
from tests.rillway.client.test_sync import ORDERS, numbers

pytestmark = pytest.mark.integration


@pytest.fixture(params=itertools.product([2, 3], [False, True]), ids=str)
async def client(request: pytest.FixtureRequest, port: int) -> AsyncIterator[Any]:
    protocol, decoded = request.param
    options = {"protocol": protocol, "decode_responses": decoded}
    async with redis.asyncio.Redis(port=port, **options) as client:
        yield client


@pytest.fixture
def stream(client: Any) -> AsyncStream:
    stream: AsyncStream = ORDERS.on(client)
    return stream


async def test_what_is_added_is_in_the_partition_of_its_key(stream: AsyncStream) -> None:
    first = await stream.add("anna", {"n": 1})
    second, third = await stream.add_many([("anna", {"n": 2}), ("bob", {"n": 3})])
    assert await stream.length() == 3
    assert [entry.id for entry in await stream.history("anna")] == [first, second]
    assert [entry.id for entry in await stream.history("bob")] == [third]


async def test_a_group_reads_claims_and_acknowledges(stream: AsyncStream) -> None:
    billing, other = stream.group("billing", "me"), stream.group("billing", "other")
    assert (await billing.create(), await billing.create()) == (4, 0)
    await stream.add_many((f"k{number}", {"n": number}) for number in range(20))
    entries = await billing.read(block_ms=1_000)
    assert sorted(numbers(entries)) == list(range(20))
    assert await billing.ack(*entries[:5]) == 5
    assert await billing.pending() == 15
    assert sorted(numbers(await other.claim(0, count=20))) == sorted(numbers(entries[5:]))


async def test_iterating_waits_for_what_is_added(stream: AsyncStream) -> None:
    billing = stream.group("billing", "me")
    await billing.create()
    await stream.add("k0", {"n": 0})
    await billing.read()
    handled = []
    async for entry in stream.group("billing", "me"):
        handled += numbers([entry])
        await billing.ack(entry)
        if len(handled) == 5:
            break
        await stream.add(f"k{len(handled)}", {"n": len(handled)})
    assert handled == [0, 1, 2, 3, 4]


async def test_a_read_waits_without_blocking_the_loop(stream: AsyncStream) -> None:
    billing = stream.group("billing", "me")
    await billing.create()
    reading = asyncio.ensure_future(billing.read(block_ms=0))
    await stream.add("anna", {"n": 1})
    assert numbers(await reading) == [1]


async def test_a_key_that_is_no_stream_is_an_error(stream: AsyncStream, client: Any) -> None:
    await client.set(ORDERS.stream(2), "taken")
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        await stream.length()
