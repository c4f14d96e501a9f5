"""Sets, sorted sets and places through redis-py, sync and asyncio: the same as from a real Redis.

Every method that redis-py has for these types is called, in both protocols, and what it makes of
the replies is compared.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator
from typing import Any, TypeAlias

import pytest
import redis
import redis.asyncio
from redis.commands.core import GeoCommands, SetCommands, SortedSetCommands
from redis.exceptions import RedisError

from tests.support.programs.servers import RunningServer

pytestmark = [
    pytest.mark.integration,
    pytest.mark.compat,
    pytest.mark.parametrize("protocol", [2, 3], ids=["resp2", "resp3"]),
]

# redis-py gives every reply the types of its sync and its asyncio client at once.
Client: TypeAlias = Any
Call: TypeAlias = "tuple[str, tuple[Any, ...], dict[str, Any]]"

SICILY = (13.361389, 38.115556, "Palermo", 15.087269, 37.502669, "Catania")


def call(name: str, *args: Any, **options: Any) -> Call:
    return name, args, options


SETS: list[Call] = [
    call("sadd", "a", "x", "y", "z", 1),
    call("sadd", "b", "y", "z", "w"),
    call("scard", "a"),
    call("sdiff", "a", "b"),
    call("sdiffstore", "c", "a", "b"),
    call("sinter", "a", "b"),
    call("sinterstore", "c", "a", "b"),
    call("sintercard", 2, ["a", "b"], limit=1),
    call("sunion", "a", "b"),
    call("sunionstore", "c", "a", "b"),
    call("sismember", "a", "x"),
    call("smismember", "a", ["x", "none"]),
    call("smembers", "c"),
    call("smove", "a", "b", "x"),
    call("srem", "b", "x", "none"),
    call("srandmember", "none"),
    call("srandmember", "b", 10),
    call("spop", "b", 10),
    call("spop", "none"),
    call("sscan", "a", match="*"),
    call("smembers", "none"),
]

# Of scores only those that Redis 7.0 prints with the same digits.
SORTED_SETS: list[Call] = [
    call("zadd", "a", {"x": 1, "y": 2.5, "z": 0.125, "w": float("inf")}),
    call("zadd", "b", {"x": 10, "v": -3}),
    call("zadd", "a", {"x": 3}, xx=True, gt=True, ch=True),
    call("zadd", "a", {"x": 3}, incr=True),
    call("zadd", "a", {"x": 3}, incr=True, nx=True),
    call("zadd", "a", {"x": 3}, nx=True, xx=True),
    call("zcard", "a"),
    call("zcount", "a", "-inf", "(3"),
    call("zdiff", ["a", "b"], withscores=True),
    call("zdiffstore", "c", ["a", "b"]),
    call("zincrby", "a", 0.25, "z"),
    call("zinter", ["a", "b"], aggregate="MAX", withscores=True),
    call("zinter", ["a", "b"]),
    call("zinterstore", "c", {"a": 2, "b": 0.5}, aggregate="SUM"),
    call("zintercard", 2, ["a", "b"], limit=3),
    call("zlexcount", "a", "-", "+"),
    call("zunion", ["a", "b"], withscores=True),
    call("zunionstore", "c", ["a", "b"], aggregate="MIN"),
    call("zrange", "c", 0, -1, withscores=True),
    call("zrange", "c", 0, -1, desc=True),
    call("zrange", "c", "-inf", "+inf", byscore=True, offset=1, num=2, withscores=True),
    call("zrange", "c", "+", "-", bylex=True, desc=True),
    call("zrangestore", "d", "c", 1, 2),
    call("zrevrange", "c", 0, 1, withscores=True),
    call("zrangebyscore", "c", 0, 100, withscores=True, start=0, num=2),
    call("zrevrangebyscore", "c", 100, 0, withscores=True),
    call("zrangebylex", "d", "-", "+"),
    call("zrevrangebylex", "d", "+", "-"),
    call("zrank", "c", "x"),
    call("zrevrank", "c", "x"),
    call("zrank", "c", "none"),
    call("zscore", "c", "z"),
    call("zscore", "c", "none"),
    call("zmscore", "c", ["x", "none", "y"]),
    call("zscan", "c"),
    call("zrandmember", "c", 100, withscores=True),
    call("zrandmember", "none"),
    call("zmpop", 2, ["none", "c"], min=True, count=2),
    call("zmpop", 1, ["none"], max=True),
    call("bzmpop", 0.01, 1, ["c"], max=True),
    call("bzmpop", 0.01, 1, ["none"], max=True),
    call("bzpopmin", ["none", "b"], timeout=0.01),
    call("bzpopmax", "b", timeout=0.01),
    call("bzpopmin", "none", timeout=0.01),
    call("zpopmin", "a"),
    call("zpopmax", "a", 2),
    call("zpopmin", "none"),
    call("zrem", "a", "y", "none"),
    call("zadd", "e", {"m1": 0, "m2": 0, "m3": 0, "m4": 0, "m5": 0, "m6": 0}),
    call("zremrangebyrank", "e", 0, 0),
    call("zremrangebyscore", "e", 1, 2),
    call("zremrangebylex", "e", "[m3", "(m5"),
    call("zrange", "e", 0, -1, withscores=True),
]

PLACES: list[Call] = [
    call("geoadd", "geo", SICILY),
    call("geoadd", "geo", (13.361389, 38.2, "Palermo"), ch=True),
    call("geodist", "geo", "Palermo", "Catania", unit="km"),
    call("geodist", "geo", "Palermo", "none"),
    call("geohash", "geo", "Palermo", "none"),
    call("geopos", "geo", "Palermo", "none"),
    call("georadius", "geo", 15, 37, 200, unit="km", withdist=True, withcoord=True, sort="ASC"),
    call("georadius", "geo", 15, 37, 200, unit="km", store="found"),
    call("georadiusbymember", "geo", "Palermo", 200, unit="km", withhash=True, count=1),
    call("geosearch", "geo", longitude=15, latitude=37, radius=200, unit="km", sort="DESC"),
    call("geosearch", "geo", member="Palermo", width=400, height=400, unit="km", withdist=True,
         withcoord=True, withhash=True, sort="ASC"),
    call("geosearch", "geo", member="none", radius=1),
    call("geosearchstore", "found", "geo", member="Palermo", radius=200, unit="km",
         storedist=True),
    call("zrange", "found", 0, -1, withscores=True),
]  # fmt: skip

TABLES = {"sets": SETS, "sorted sets": SORTED_SETS, "places": PLACES}
# What Redis 7.0 does not have; it has its own test below.
NEWER = {"sunioncard", "sdiffcard"}


def comparable(reply: Any) -> Any:
    """Sets have no order; iterators and errors are what they say."""
    if isinstance(reply, RedisError):
        return type(reply), str(reply)
    if isinstance(reply, set):
        return sorted(map(repr, reply))
    return reply


def unordered(name: str, reply: Any) -> Any:
    """A set's members are a list in RESP2, in the order of a table."""
    if name in ("sdiff", "sinter", "sunion", "smembers", "srandmember", "spop") and isinstance(
        reply, list | set
    ):
        return sorted(map(repr, reply))
    if name == "sscan":
        return reply[0], sorted(reply[1])
    return comparable(reply)


def run(client: Client, calls: list[Call]) -> list[Any]:
    replies: list[Any] = [client.flushall()]
    for name, args, options in calls:
        try:
            reply = getattr(client, name)(*args, **options)
        except RedisError as error:
            reply = error
        replies.append(unordered(name, reply))
    return replies


async def run_async(client: Client, calls: list[Call]) -> list[Any]:
    replies: list[Any] = [await client.flushall()]
    for name, args, options in calls:
        try:
            reply = await getattr(client, name)(*args, **options)
        except RedisError as error:
            reply = error
        replies.append(unordered(name, reply))
    return replies


@pytest.fixture
def ours(server: RunningServer, protocol: int) -> Iterator[Client]:
    with redis.Redis(port=server.port, protocol=protocol, decode_responses=True) as client:
        yield client


@pytest.fixture
def theirs(redis_server: RunningServer, protocol: int) -> Iterator[Client]:
    with redis.Redis(port=redis_server.port, protocol=protocol, decode_responses=True) as client:
        yield client


@pytest.fixture
async def ours_async(server: RunningServer, protocol: int) -> AsyncIterator[Client]:
    async with redis.asyncio.Redis(
        port=server.port, protocol=protocol, decode_responses=True
    ) as client:
        yield client


@pytest.mark.parametrize("table", TABLES)
def test_every_method_returns_what_it_returns_of_redis(
    ours: Client, theirs: Client, table: str
) -> None:
    calls = TABLES[table]
    for wanted, found, one in zip(
        run(theirs, calls), run(ours, calls), [None, *calls], strict=True
    ):
        assert found == wanted, one


@pytest.mark.parametrize("table", TABLES)
async def test_every_method_does_so_in_asyncio(
    ours_async: Client, theirs: Client, table: str
) -> None:
    calls = TABLES[table]
    replies = await run_async(ours_async, calls)
    for wanted, found, one in zip(run(theirs, calls), replies, [None, *calls], strict=True):
        assert found == wanted, one


def test_no_method_is_left_out(protocol: int) -> None:
    methods = {
        name
        for group in (SetCommands, SortedSetCommands, GeoCommands)
        for name, _ in inspect.getmembers(group, inspect.isfunction)
        if not name.startswith("_") and name != "execute_command"
    }
    called = {name for calls in TABLES.values() for name, _, _ in calls}
    assert methods - called == NEWER


def test_what_redis_7_0_does_not_have(ours: Client, protocol: int) -> None:
    ours.zadd("a", {"x": 1, "y": 2})
    assert ours.zrank("a", "y", withscore=True) == [1, 2.0]
    assert ours.zrevrank("a", "y", withscore=True) == [0, 2.0]
    assert ours.execute_command("ZUNION", 2, "a", "a", "AGGREGATE", "COUNT", "WITHSCORES")
    ours.sadd("s", "x", "y")
    assert ours.sunioncard(2, ["s", "none"], approx=True) == 2
    assert ours.sdiffcard(2, ["s", "none"], limit=1) == 1


def test_iterators_walk_over_everything(ours: Client, protocol: int) -> None:
    names = [f"member {number}" for number in range(2000)]
    ours.sadd("s", *names)
    ours.zadd("z", {name: number for number, name in enumerate(names)})
    assert sorted(ours.sscan_iter("s", count=100)) == sorted(names)
    assert {name for name, _ in ours.zscan_iter("z", count=100)} == set(names)
    matching = sorted(ours.sscan_iter("s", match="*99"))
    assert matching == sorted(name for name in names if name.endswith("99"))


async def test_many_consumers_share_a_priority_queue(server: RunningServer, protocol: int) -> None:
    """As a queue of delayed jobs does: workers wait, and each job goes to one of them."""
    taken: list[str] = []

    def connect() -> Client:
        return redis.asyncio.Redis(port=server.port, protocol=protocol, decode_responses=True)

    async def work() -> None:
        async with connect() as worker:
            while (job := await worker.bzpopmin(["urgent", "jobs"], timeout=10))[1] != "stop":
                taken.append(job[1])

    workers = [asyncio.create_task(work()) for _ in range(20)]
    async with connect() as producer:
        for number in range(300):
            await producer.zadd("jobs" if number % 3 else "urgent", {f"job {number}": number})
        while await producer.zcard("jobs") or await producer.zcard("urgent"):
            await asyncio.sleep(0.001)
        await producer.zadd("jobs", {"stop": 0})
        for _ in workers[1:]:
            while await producer.zcard("jobs"):
                await asyncio.sleep(0.001)
            await producer.zadd("jobs", {"stop": 0})
    await asyncio.gather(*workers)
    assert sorted(taken) == sorted(f"job {number}" for number in range(300))
