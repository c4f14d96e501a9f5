"""A stream in partitions is bound to any client of redis-py."""

from __future__ import annotations

import redis
import redis.asyncio

from rillway.client import AsyncStream, PartitionedStream, Stream


async def test_the_client_decides_whether_methods_are_coroutines() -> None:
    orders = PartitionedStream("orders", partitions=16)
    assert isinstance(orders.on(redis.Redis()), Stream)
    assert isinstance(orders.on(redis.asyncio.Redis()), AsyncStream)


def test_a_bound_stream_shows_how_it_was_made() -> None:
    orders = PartitionedStream("orders", partitions=16)
    shown = "PartitionedStream(name='orders', partitions=16, key_field=None).on(Redis)"
    assert repr(orders.on(redis.Redis())) == repr(orders.on(redis.asyncio.Redis())) == shown
