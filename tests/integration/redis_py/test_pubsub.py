"""Messages through redis-py, sync and asyncio, in both protocols."""

from __future__ import annotations

import asyncio
from typing import Any, TypeAlias

import pytest
import redis
import redis.asyncio

from tests.integration.redis_py.conftest import Client
from tests.support.programs.servers import RunningServer
from tests.support.waiting import until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.parametrize("protocol", [2, 3], ids=["resp2", "resp3"]),
]

PubSub: TypeAlias = Any

DEADLINE_SECONDS = 60.0


def next_message(pubsub: PubSub) -> dict[str, Any]:
    """The next message of any kind; fails when none comes."""
    message = pubsub.get_message(timeout=DEADLINE_SECONDS)
    assert message is not None, "no message came"
    return dict(message)


def subscribed(pubsub: PubSub, count: int) -> None:
    for _ in range(count):
        assert next_message(pubsub)["type"].endswith("subscribe")


def test_channels_and_patterns_deliver_in_order(client: Client) -> None:
    with client.pubsub() as pubsub:
        pubsub.subscribe("news")
        pubsub.psubscribe("ne*")
        subscribed(pubsub, 2)
        for number in range(100):
            assert client.publish("news", number) == 2
        received = [next_message(pubsub) for _ in range(200)]
    of_channel = [m["data"] for m in received if m["type"] == "message"]
    of_pattern = [m["data"] for m in received if m["type"] == "pmessage"]
    assert of_channel == of_pattern == [str(number) for number in range(100)]
    assert {m["pattern"] for m in received} == {None, "ne*"}


def test_unsubscribing_from_all_ends_the_subscription(client: Client) -> None:
    with client.pubsub() as pubsub:
        pubsub.subscribe("a", "b")
        subscribed(pubsub, 2)
        assert client.pubsub_numsub("a", "b", "c") == [("a", 1), ("b", 1), ("c", 0)]
        pubsub.unsubscribe()
        subscribed(pubsub, 2)
        assert not pubsub.subscribed
        assert client.publish("a", "m") == 0
        assert client.pubsub_channels() == []


def test_shard_channels(client: Client) -> None:
    with client.pubsub() as pubsub:
        pubsub.ssubscribe("shard")
        subscribed(pubsub, 1)
        assert client.spublish("shard", "m") == 1
        assert client.publish("shard", "m") == 0
        message = next_message(pubsub)
        assert (message["type"], message["channel"], message["data"]) == ("smessage", "shard", "m")
        assert client.pubsub_shardnumsub("shard") == [("shard", 1)]


def test_handlers_in_a_thread_see_every_message(client: Client) -> None:
    seen: list[str] = []
    with client.pubsub() as pubsub:
        pubsub.subscribe(work=lambda message: seen.append(message["data"]))
        thread = pubsub.run_in_thread(sleep_time=0.01)
        until(lambda: client.publish("work", "ready"))
        for number in range(50):
            client.publish("work", number)
        until(lambda: "49" in seen)
        thread.stop()
        thread.join()
    assert seen == ["ready", *(str(number) for number in range(50))]


def test_keyspace_events_of_streams(client: Client) -> None:
    before = client.config_get("notify-keyspace-events")
    client.config_set("notify-keyspace-events", "KEA")
    try:
        with client.pubsub() as pubsub:
            pubsub.psubscribe("__keyspace@0__:orders")
            subscribed(pubsub, 1)
            client.xadd("orders", {"n": "1"})
            client.xgroup_create("orders", "g", "0")
            client.xtrim("orders", maxlen=0)
            client.delete("orders")
            events = [next_message(pubsub)["data"] for _ in range(4)]
        assert events == ["xadd", "xgroup-create", "xtrim", "del"]
    finally:
        client.config_set("notify-keyspace-events", before["notify-keyspace-events"])


async def test_asyncio_fans_out_to_many_subscribers(server: RunningServer, protocol: int) -> None:
    subscribers, messages = 50, 20
    async with redis.asyncio.Redis(
        port=server.port, protocol=protocol, decode_responses=True
    ) as client:

        async def read(ready: asyncio.Semaphore) -> list[str]:
            async with client.pubsub() as pubsub:
                await pubsub.subscribe("ch")
                received: list[str] = []
                while len(received) < messages:
                    message = await pubsub.get_message(timeout=DEADLINE_SECONDS)
                    assert message is not None, "no message came"
                    if message["type"] == "subscribe":
                        ready.release()
                    else:
                        received.append(message["data"])
                return received

        ready = asyncio.Semaphore(0)
        readers = [asyncio.create_task(read(ready)) for _ in range(subscribers)]
        for _ in range(subscribers):
            await asyncio.wait_for(ready.acquire(), DEADLINE_SECONDS)
        for number in range(messages):
            assert await client.publish("ch", number) == subscribers
        expected = [str(number) for number in range(messages)]
        assert await asyncio.gather(*readers) == [expected] * subscribers
