"""Rillway's own commands as methods of redis-py's clients."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import redis
import redis.asyncio

from rillway.client.policies import AsyncPolicyCommands, PolicyCommands, delayed_words
from tests.support.programs.servers import RunningServer

pytestmark = pytest.mark.integration


class Client(PolicyCommands, redis.Redis):
    pass


class AsyncClient(AsyncPolicyCommands, redis.asyncio.Redis):  # type: ignore[misc]  # redis-py
    pass


@pytest.fixture(params=[2, 3])
def client(request: pytest.FixtureRequest, rillway_server: RunningServer) -> Iterator[Any]:
    port = rillway_server.port
    with Client(port=port, protocol=request.param, decode_responses=True) as found:
        found.flushall()
        yield found


@pytest.fixture
async def async_client(rillway_server: RunningServer) -> AsyncIterator[Any]:
    async with AsyncClient(port=rillway_server.port, decode_responses=True) as found:
        await found.flushall()
        yield found


def test_the_policy_of_a_stream_and_of_a_group(client: Any) -> None:
    client.xadd("s", {"a": 1})
    client.xgroup_create("s", "g", "0")
    assert client.xinfo_policy("s") == {}
    assert client.xcfgset_retain("s", retain_ms=60_000, retain_refs="ACKED")
    assert client.xgroup_config("s", "g", ack_wait=1000, backoff=[5, 6], max_pending=9)
    assert client.xinfo_policy("s")["retain-ms"] == 60_000
    found = client.xinfo_policy("s", "g")
    assert (found["ack-wait"], found["backoff"], found["max-pending"]) == (1000, [5, 6], 9)
    assert client.xgroup_config("s", "g", backoff=(), max_pending=0)
    assert client.xgroup_config("s", "g", key_field="k", key_lookahead=9, key_lookahead_key=3)
    found = client.xinfo_policy("s", "g")
    keys = found["key-field"], found["key-lookahead"], found["key-lookahead-key"]
    assert keys == ("k", 9, 3)
    with pytest.raises(redis.ResponseError, match="require each other"):
        client.xgroup_config("s", "g", max_deliveries=3)


def test_delayed_entries(client: Any) -> None:
    ticket = client.xadd_delayed("s", {"a": 1, "b": 2}, delay=3_600_000)
    at = client.xadd_delayed("s", {"a": 3}, at=4_102_444_800_000)
    assert client.xscheduled("s") == [(ticket, {"a": "1", "b": "2"}), (at, {"a": "3"})]
    assert client.xscheduled("s", start=at, count=1)[0].fields == {"a": "3"}
    assert client.xunschedule("s", ticket, at) == 2
    assert client.xadd_delayed("t", {"a": 1}, delay=1, nomkstream=True) is None


@pytest.mark.parametrize("times", [{}, {"delay": 1, "at": 1}])
def test_one_time_is_needed(times: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="one of delay and at"):
        delayed_words("s", {"a": 1}, **times)


def test_what_is_pending_and_deleted(client: Any) -> None:
    first, second, third = (client.xadd("s", {"a": n}) for n in range(3))
    client.xgroup_create("s", "g", "0")
    client.xreadgroup("g", "anna", {"s": ">"})
    assert client.xnack("s", "g", "FAIL", first, delay=60_000, reason="busy") == 1
    assert client.xreason("s", "g", first) == "busy"
    assert client.xreason("s", "g", second) is None
    assert client.xgroup_delconsumer("s", "g", "anna", transfer="bob") == 2
    assert client.xgroup_delconsumer("s", "g", "bob", keep_pending=True) == 2
    assert client.xpending("s", "g")["pending"] == 3
    assert client.xdelrange("s", second, "+", count=1, ref_policy="DELREF") == 1
    assert [entry_id for entry_id, _ in client.xrange("s")] == [first, third]


async def test_all_of_it_with_asyncio(async_client: Any) -> None:
    client = async_client
    entry_id = await client.xadd("s", {"a": 1})
    await client.xgroup_create("s", "g", "0")
    assert await client.xcfgset_retain("s", retain_acked=True)
    assert await client.xgroup_config("s", "g", ack_wait=1000)
    assert (await client.xinfo_policy("s"))["retain-acked"] == "yes"
    assert (await client.xinfo_policy("s", "g"))["ack-wait"] == 1000
    ticket = await client.xadd_delayed("s", {"b": 2}, delay=3_600_000)
    assert await client.xscheduled("s") == [(ticket, {"b": "2"})]
    assert await client.xunschedule("s", ticket) == 1
    await client.xreadgroup("g", "anna", {"s": ">"})
    assert await client.xnack("s", "g", "SILENT", entry_id, reason="busy") == 1
    assert await client.xreason("s", "g", entry_id) == "busy"
    assert await client.xgroup_delconsumer("s", "g", "anna", keep_pending=True) == 0
    assert await client.xdelrange("s", "-", "+") == 1
