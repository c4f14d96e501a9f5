"""Order by key inside a group, through redis-py: sync and asyncio, RESP2 and RESP3."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from typing import Any

import pytest
import redis
import redis.asyncio

from rillway.client.policies import AsyncPolicyCommands, PolicyCommands
from tests.support.programs.servers import RunningServer

pytestmark = [
    pytest.mark.integration,
    pytest.mark.parametrize("protocol", [2, 3], ids=["resp2", "resp3"]),
]

ENTRIES, KEYS, WORKERS = 300, 12, 4


class Client(PolicyCommands, redis.Redis):
    """A synchronous client."""


class AsyncClient(AsyncPolicyCommands, redis.asyncio.Redis):  # type: ignore[misc]
    """A client of asyncio."""


def entries_of(reply: Any) -> list[tuple[str, dict[str, str]]]:
    """The entries of one stream, of a map (RESP3) or an array (RESP2)."""
    if not reply:
        return []
    if isinstance(reply, dict):
        return [tuple(each) for part in reply["jobs"] for each in part]
    return [tuple(each) for each in reply[0][1]]


def test_a_blocked_reader_gets_a_key_when_it_is_free(
    rillway_server: RunningServer, protocol: int
) -> None:
    with Client(port=rillway_server.port, protocol=protocol, decode_responses=True) as client:
        client.flushall()
        client.xgroup_create("jobs", "g", "0", mkstream=True)
        assert client.xgroup_config("jobs", "g", ack_wait=60_000, key_field="k")
        first, second = (client.xadd("jobs", {"k": "a"}) for _ in range(2))
        got = entries_of(client.xreadgroup("g", "x", {"jobs": ">"}, count=1))
        assert [entry_id for entry_id, _ in got] == [first]
        assert not client.xreadgroup("g", "y", {"jobs": ">"})
        assert client.xinfo_policy("jobs", "g")["reserved"] == 1
        client.xack("jobs", "g", first)
        got = entries_of(client.xreadgroup("g", "y", {"jobs": ">"}, block=10_000))
        assert [entry_id for entry_id, _ in got] == [second]


def test_workers_side_by_side_keep_the_order_of_each_key(
    rillway_server: RunningServer, protocol: int
) -> None:
    done: dict[str, list[int]] = defaultdict(list)
    busy: set[str] = set()

    async def work(name: str) -> None:
        options: dict[str, Any] = {"protocol": protocol, "decode_responses": True}
        async with AsyncClient(port=rillway_server.port, **options) as client:
            while sum(map(len, done.values())) < ENTRIES:
                request = client.xreadgroup("g", name, {"jobs": ">"}, count=3, block=100)
                got = entries_of(await request)
                mine = {fields["k"] for _, fields in got}
                assert not mine & busy
                busy.update(mine)
                for _, fields in got:
                    await asyncio.sleep(0)
                    done[fields["k"]].append(int(fields["n"]))
                busy.difference_update(mine)
                await client.xack("jobs", "g", *(entry_id for entry_id, _ in got or [("0-1", {})]))

    async def run() -> None:
        options: dict[str, Any] = {"protocol": protocol, "decode_responses": True}
        async with AsyncClient(port=rillway_server.port, **options) as client:
            await client.flushall()
            await client.xgroup_create("jobs", "g", "0", mkstream=True)
            await client.xgroup_config("jobs", "g", ack_wait=60_000, key_field="k")
            chance = random.Random(1)
            workers = [asyncio.create_task(work(f"w{number}")) for number in range(WORKERS)]
            for number in range(ENTRIES):
                await client.xadd("jobs", {"n": number, "k": chance.randrange(KEYS)})
            await asyncio.gather(*workers)

    asyncio.run(run())
    assert sum(map(len, done.values())) == ENTRIES
    assert all(numbers == sorted(numbers) for numbers in done.values())
