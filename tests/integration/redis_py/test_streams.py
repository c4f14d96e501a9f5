"""Streams through redis-py, sync and asyncio, in both protocols: what real programs do with them.

A producer, consumers in a group, one that crashes and one that claims what it left; and hundreds
of clients that wait on hundreds of keys.
"""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
import redis
import redis.asyncio
from redis.exceptions import ResponseError

from tests.integration.redis_py.conftest import entries_of
from tests.support.programs.servers import RunningServer
from tests.support.waiting import until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.parametrize("protocol", [2, 3], ids=["resp2", "resp3"]),
]

DEADLINE_SECONDS = 30.0
ENTRIES = 1000

Entry = tuple[str, dict[str, str]]


def connect_async(server: RunningServer, protocol: int) -> redis.asyncio.Redis:
    return redis.asyncio.Redis(port=server.port, protocol=protocol, decode_responses=True)


async def wait_in_group(
    client: redis.asyncio.Redis, consumer: str, count: int | None = None
) -> list[Entry]:
    """The new entries of group g of stream s, however long they take."""
    return entries_of(await client.xreadgroup("g", consumer, {"s": ">"}, count=count, block=0), "s")


async def blocked_clients(client: redis.asyncio.Redis, count: int) -> None:
    """Wait until that many clients are blocked."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        while (await client.info("clients"))["blocked_clients"] != count:
            await asyncio.sleep(0.01)


# -- one program -------------------------------------------------------------------------------


def test_a_crashed_consumers_entries_are_claimed_and_nothing_is_lost(
    client: redis.Redis, server: RunningServer, protocol: int
) -> None:
    client.xgroup_create("orders", "billing", id="0", mkstream=True)
    with client.pipeline(transaction=False) as pipe:
        for number in range(ENTRIES):
            pipe.xadd("orders", {"number": number})
        produced = pipe.execute()
    assert len(set(produced)) == ENTRIES
    done: Counter[str] = Counter()

    with redis.Redis(port=server.port, protocol=protocol, decode_responses=True) as crashing:
        reply = crashing.xreadgroup("billing", "first", {"orders": ">"}, count=300)
        taken = entries_of(reply, "orders")
        for entry_id, _ in taken[:200]:
            assert crashing.xack("orders", "billing", entry_id) == 1
            done[entry_id] += 1
    # It has ended with a hundred entries; the second consumer reads the rest, then claims those.
    while reply := client.xreadgroup("billing", "second", {"orders": ">"}, count=64, block=10):
        batch = [entry_id for entry_id, _ in entries_of(reply, "orders")]
        assert client.xack("orders", "billing", *batch) == len(batch)
        done.update(batch)
    assert client.xpending("orders", "billing")["pending"] == 100
    until(lambda: client.xpending_range("orders", "billing", "-", "+", 1, idle=20) != [])
    cursor = "0-0"
    while True:
        cursor, claimed, deleted = client.xautoclaim(
            "orders", "billing", "second", min_idle_time=20, start_id=cursor, count=30
        )
        assert deleted == []
        for entry_id, _ in claimed:
            client.xack("orders", "billing", entry_id)
            done[entry_id] += 1
        if cursor == "0-0":
            break
    assert done == Counter(dict.fromkeys(produced, 1))
    assert client.xpending("orders", "billing")["pending"] == 0
    group = client.xinfo_groups("orders")[0]
    assert (group["entries-read"], group["lag"], group["pending"]) == (ENTRIES, 0, 0)


def test_every_stream_command_through_the_librarys_own_parsers(client: redis.Redis) -> None:
    assert client.xadd("s", {"f": "a"}, id="1-1") == "1-1"
    assert client.xadd("s", {"f": "b"}, id="2-*") == "2-0"
    assert client.xadd("nothing", {"f": "b"}, nomkstream=True) is None
    assert client.xadd("s", {"f": "c"}, id="3-1", maxlen=2, approximate=False) == "3-1"
    assert client.xlen("s") == 2
    both = [("2-0", {"f": "b"}), ("3-1", {"f": "c"})]
    assert client.xrange("s") == both
    assert client.xrevrange("s") == both[::-1]
    assert entries_of(client.xread({"s": "0"}), "s") == both
    assert entries_of(client.xread({"s": "+"}), "s") == both[1:]

    assert client.xgroup_create("s", "g", id="0")
    with pytest.raises(ResponseError, match="BUSYGROUP Consumer Group name already exists"):
        client.xgroup_create("s", "g", id="0")
    assert client.xgroup_createconsumer("s", "g", "idle") == 1
    assert entries_of(client.xreadgroup("g", "c", {"s": ">"}), "s") == both
    summary = client.xpending("s", "g")
    assert summary == {
        "pending": 2,
        "min": "2-0",
        "max": "3-1",
        "consumers": [{"name": "c", "pending": 2}],
    }
    row = client.xpending_range("s", "g", "-", "+", 10, consumername="c")[0]
    assert (row["message_id"], row["consumer"], row["times_delivered"]) == ("2-0", "c", 1)
    assert client.xclaim("s", "g", "d", 0, ["2-0"], justid=True) == ["2-0"]
    assert client.xclaim("s", "g", "d", 0, ["3-1"], idle=5000, retrycount=7)[0][0] == "3-1"
    assert client.xautoclaim("s", "g", "c", 4000, justid=True) == ["3-1"]
    assert client.xack("s", "g", "2-0", "3-1") == 2
    assert client.xgroup_delconsumer("s", "g", "idle") == 0
    assert {c["name"] for c in client.xinfo_consumers("s", "g")} == {"c", "d"}
    assert client.xinfo_groups("s")[0]["last-delivered-id"] == "3-1"
    assert client.xgroup_setid("s", "g", "0")
    assert client.xgroup_destroy("s", "g") == 1

    info = client.xinfo_stream("s")
    assert (info["length"], info["last-generated-id"]) == (2, "3-1")
    full = client.xinfo_stream("s", full=True)
    assert full["entries-added"] == 3
    assert client.xdel("s", "2-0", "9-9") == 1
    assert client.xtrim("s", maxlen=0, approximate=False) == 1
    assert client.xlen("s") == 0


# -- many at once ------------------------------------------------------------------------------


async def test_consumers_of_a_group_share_the_entries_and_claim_from_those_that_crash(
    async_client: redis.asyncio.Redis, server: RunningServer, protocol: int
) -> None:
    await async_client.xgroup_create("jobs", "workers", id="0", mkstream=True)
    done: Counter[str] = Counter()

    async def work(name: str, *, crash_after: int | None = None) -> None:
        client = connect_async(server, protocol)
        handled = 0
        while sum(done.values()) < ENTRIES:
            reply = await client.xreadgroup("workers", name, {"jobs": ">"}, count=10, block=20)
            batch = [entry_id for entry_id, _ in entries_of(reply, "jobs")]
            if not batch and crash_after is None:
                claimed = await client.xautoclaim("jobs", "workers", name, 100, count=50)
                batch = [entry_id for entry_id, _ in claimed[1]]
            if crash_after is not None and handled >= crash_after:
                break  # with this batch in its hands
            if batch:
                assert await client.xack("jobs", "workers", *batch) == len(batch)
                done.update(batch)
                handled += len(batch)
        await client.connection_pool.disconnect()

    async def produce() -> list[str]:
        ids: list[str] = []
        for start in range(0, ENTRIES, 50):
            async with async_client.pipeline(transaction=False) as pipe:
                for number in range(start, start + 50):
                    pipe.xadd("jobs", {"number": number})
                ids += await pipe.execute()
            await asyncio.sleep(0.002)
        return ids

    async with asyncio.timeout(DEADLINE_SECONDS):
        producing = asyncio.create_task(produce())
        await asyncio.gather(
            *(work(f"steady-{n}") for n in range(8)),
            *(work(f"crashing-{n}", crash_after=20) for n in range(2)),
        )
        produced = await producing
    assert done == Counter(dict.fromkeys(produced, 1))
    assert (await async_client.xpending("jobs", "workers"))["pending"] == 0


async def test_hundreds_of_clients_wait_on_hundreds_of_keys(
    async_client: redis.asyncio.Redis,
) -> None:
    keys = [f"stream-{number}" for number in range(300)]

    async def wait_for(key: str) -> list[Entry]:
        return entries_of(await async_client.xread({key: "$"}, block=0), key)

    waits = [asyncio.create_task(wait_for(key)) for key in keys for _ in range(2)]
    await blocked_clients(async_client, len(waits))
    async with async_client.pipeline(transaction=False) as pipe:
        for key in keys:
            pipe.xadd(key, {"for": key})
        ids = await pipe.execute()
    async with asyncio.timeout(DEADLINE_SECONDS):
        received = await asyncio.gather(*waits)
    expected = [[(ids[n // 2], {"for": keys[n // 2]})] for n in range(len(waits))]
    assert received == expected
    assert (await async_client.info("clients"))["blocked_clients"] == 0


async def test_no_entry_is_delivered_to_a_waiter_whose_connection_is_closed(
    async_client: redis.asyncio.Redis, server: RunningServer
) -> None:
    await async_client.xgroup_create("s", "g", mkstream=True)
    leaving = [server.connect() for _ in range(50)]
    for number, waiter in enumerate(leaving):
        name = f"leaving-{number}"
        waiter.write("XREADGROUP", "GROUP", "g", name, "BLOCK", 0, "STREAMS", "s", ">")
    await blocked_clients(async_client, 50)
    staying = asyncio.create_task(wait_in_group(async_client, "staying"))
    await blocked_clients(async_client, 51)
    for waiter in leaving:
        waiter.close()
    entry_id = await async_client.xadd("s", {"f": "v"})
    assert await asyncio.wait_for(staying, DEADLINE_SECONDS) == [(entry_id, {"f": "v"})]
    rows = await async_client.xpending_range("s", "g", "-", "+", 100)
    assert [row["consumer"] for row in rows] == ["staying"]
