"""Hashes, lists, sets, sorted sets, places, bits, HyperLogLogs, SORT and LCS through redis-py, sync
and asyncio: as from a real Redis.

Every method that redis-py has for these is called, in both protocols, and what it makes of the
replies is compared.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Iterator
from typing import Any, TypeAlias

import pytest
import redis
import redis.asyncio
from redis.commands.core import (
    GeoCommands,
    HashCommands,
    HyperlogCommands,
    ListCommands,
    SetCommands,
    SortedSetCommands,
)
from redis.exceptions import RedisError

from tests.integration.redis_py.conftest import Client
from tests.support.programs.servers import RunningServer

pytestmark = [
    pytest.mark.integration,
    pytest.mark.compat,
    pytest.mark.parametrize("protocol", [2, 3], ids=["resp2", "resp3"]),
]

Call: TypeAlias = "tuple[str, tuple[Any, ...], dict[str, Any]]"

SICILY = (13.361389, 38.115556, "Palermo", 15.087269, 37.502669, "Catania")


def call(name: str, *args: Any, **options: Any) -> Call:
    return name, args, options


HASHES: list[Call] = [
    call("hset", "h", mapping={"a": "1", "b": "two", "c": "3.5"}),
    call("hset", "h", items=["d", "5", "e", "6"]),
    call("hmset", "h", {"e": "7"}),
    call("hsetnx", "h", "e", "8"),
    call("hget", "h", "e"),
    call("hget", "h", "none"),
    call("hmget", "h", ["a", "none", "b"]),
    call("hgetall", "h"),
    call("hgetall", "none"),
    call("hkeys", "h"),
    call("hvals", "h"),
    call("hlen", "h"),
    call("hstrlen", "h", "b"),
    call("hexists", "h", "a"),
    call("hexists", "h", "none"),
    call("hincrby", "h", "a", 41),
    call("hincrby", "h", "b"),
    call("hincrbyfloat", "h", "c", 0.1),
    call("hscan", "h"),
    call("hscan", "h", match="[ab]", count=1),
    call("hrandfield", "none", 2),
    call("hset", "one", "f", "v"),
    call("hrandfield", "one"),
    call("hrandfield", "one", -3),
    call("hrandfield", "one", 3, withvalues=True),
    call("hdel", "h", "d", "none"),
]

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

LISTS: list[Call] = [
    call("rpush", "a", "x", "y", 1, "x"),
    call("lpush", "a", "z"),
    call("lpushx", "a", "first"),
    call("rpushx", "none", "last"),
    call("llen", "a"),
    call("lrange", "a", 0, -1),
    call("lindex", "a", 1),
    call("lindex", "a", 100),
    call("linsert", "a", "before", "y", "new"),
    call("lset", "a", 0, "second"),
    call("lset", "a", 100, "never"),
    call("lpos", "a", "x", rank=-1),
    call("lpos", "a", "x", count=0),
    call("lpos", "a", "none"),
    call("lrem", "a", 1, "x"),
    call("lpop", "a"),
    call("lpop", "a", 2),
    call("rpop", "a", 1),
    call("rpop", "none"),
    call("lpop", "none", 2),
    call("rpush", "b", *range(20)),
    call("ltrim", "b", 2, 15),
    call("rpoplpush", "b", "c"),
    call("lmove", "b", "c", "LEFT", "RIGHT"),
    call("lmove", "none", "c", "LEFT", "RIGHT"),
    call("lmpop", 2, "none", "b", direction="LEFT", count=3),
    call("lmpop", 1, "none", direction="RIGHT"),
    call("blpop", ["none", "b"], timeout=1),
    call("brpop", "b", timeout=1),
    call("blpop", ["none"], timeout=0.01),
    call("brpoplpush", "b", "c", timeout=1),
    call("brpoplpush", "none", "c", timeout=0.01),
    call("blmove", "b", "c", 1, "LEFT", "LEFT"),
    call("blmpop", 1, 2, "none", "b", direction="RIGHT", count=2),
    call("blmpop", 0.01, 1, "none", direction="RIGHT"),
    call("sort", "c"),
    call("sort", "c", start=0, num=2, desc=True),
    call("sort", "c", by="weight_*", get=["#", "none_*"], groups=True),
    call("sort", "c", alpha=True, store="d"),
    call("sort_ro", "d", desc=True),
    call("sort", "none"),
    call("lrange", "d", 0, -1),
    call("set", "text", "v"),
    call("lpush", "text", "x"),
]

STRINGS: list[Call] = [
    call("setbit", "a", 7, 1),
    call("getbit", "a", 7),
    call("bitcount", "a"),
    call("bitcount", "a", 0, 3, "BIT"),
    call("bitpos", "a", 1),
    call("bitpos", "a", 0, 0, -1),
    call("setbit", "b", 20, 1),
    call("bitop", "OR", "c", "a", "b"),
    call("bitop", "NOT", "d", "a"),
    call("strlen", "c"),
    call("bitfield_ro", "c", "u8", 0, [("i4", 8)]),
    call("pfadd", "h", "x", "y", "z"),
    call("pfadd", "h", "x"),
    call("pfadd", "i", "z", "w"),
    call("pfcount", "h"),
    call("pfcount", "h", "i", "none"),
    call("pfmerge", "j", "h", "i"),
    call("pfcount", "j"),
    call("set", "text", "v"),
    call("pfadd", "text", "v"),
    call("mset", {"one": "ohmytext", "two": "mynewtext"}),
    call("lcs", "one", "two"),
    call("lcs", "one", "two", len=True),
    call("lcs", "one", "two", idx=True, minmatchlen=3, withmatchlen=True),
]

TABLES = {
    "hashes": HASHES,
    "sets": SETS,
    "sorted sets": SORTED_SETS,
    "places": PLACES,
    "lists": LISTS,
    "strings": STRINGS,
}
GROUPS = (HashCommands, SetCommands, SortedSetCommands, GeoCommands, ListCommands, HyperlogCommands)
# What Redis 7.0 does not have; they have a test of their own below.
NEWER = {"sunioncard", "sdiffcard", "hgetdel", "hgetex", "hsetex"}
NEWER |= {"hexpire", "hpexpire", "hexpireat", "hpexpireat", "hexpiretime", "hpexpiretime"}
NEWER |= {"hpersist", "httl", "hpttl", "himport_set"}
UNORDERED = ("sdiff", "sinter", "sunion", "smembers", "srandmember", "spop")


def comparable(name: str, reply: Any) -> Any:
    """Sets have no order, a list in RESP2 that of a table; errors are what they say."""
    if isinstance(reply, RedisError):
        return type(reply), str(reply)
    if isinstance(reply, set) or (name in UNORDERED and isinstance(reply, list)):
        return sorted(map(repr, reply))
    if name == "sscan":
        return reply[0], sorted(reply[1])
    return reply


def run(client: Client, calls: list[Call]) -> list[Any]:
    replies: list[Any] = [client.flushall()]
    for name, args, options in calls:
        try:
            reply = getattr(client, name)(*args, **options)
        except RedisError as error:
            reply = error
        replies.append(comparable(name, reply))
    return replies


async def run_async(client: Client, calls: list[Call]) -> list[Any]:
    replies: list[Any] = [await client.flushall()]
    for name, args, options in calls:
        try:
            reply = await getattr(client, name)(*args, **options)
        except RedisError as error:
            reply = error
        replies.append(comparable(name, reply))
    return replies


@pytest.fixture
def ours(server: RunningServer, protocol: int) -> Iterator[Client]:
    with redis.Redis(port=server.port, protocol=protocol, decode_responses=True) as client:
        yield client


@pytest.fixture
def theirs(redis_server: RunningServer, protocol: int) -> Iterator[Client]:
    with redis.Redis(port=redis_server.port, protocol=protocol, decode_responses=True) as client:
        yield client


@pytest.mark.filterwarnings("ignore:.*hmset:DeprecationWarning")
@pytest.mark.parametrize("table", TABLES)
async def test_every_method_returns_what_it_returns_of_redis(
    server: RunningServer, ours: Client, theirs: Client, protocol: int, table: str
) -> None:
    calls = TABLES[table]
    wanted, found = run(theirs, calls), run(ours, calls)
    client: Client = redis.asyncio.Redis(port=server.port, protocol=protocol, decode_responses=True)
    async with client:
        found_async = await run_async(client, calls)
    for one, *replies in zip([None, *calls], wanted, found, found_async, strict=True):
        assert replies[1] == replies[2] == replies[0], one


def test_no_method_is_left_out(protocol: int) -> None:
    methods = {
        name
        for group in GROUPS
        for name, _ in inspect.getmembers(group, inspect.isfunction)
        if not name.startswith("_") and not name.endswith(("execute_command", "_internal"))
    }
    called = {name for calls in TABLES.values() for name, _, _ in calls}
    assert methods - called == NEWER


def test_what_is_new_for_sets(ours: Client, protocol: int) -> None:
    ours.zadd("a", {"x": 1, "y": 2})
    assert ours.zrank("a", "y", withscore=True) == [1, 2.0]
    assert ours.zrevrank("a", "y", withscore=True) == [0, 2.0]
    assert ours.execute_command("ZUNION", 2, "a", "a", "AGGREGATE", "COUNT", "WITHSCORES")
    ours.sadd("s", "x", "y")
    assert ours.sunioncard(2, ["s", "none"], approx=True) == 2
    assert ours.sdiffcard(2, ["s", "none"], limit=1) == 1


def test_what_is_new_for_hashes(ours: Client, protocol: int) -> None:
    ours.hset("h", mapping={"a": 1, "b": 2, "c": 3})
    hour_s, at_s = 3600, int(time.time()) + 7200
    assert ours.hexpire("h", hour_s, "a", "none") == [1, -2]
    assert ours.hpexpire("h", 1000 * hour_s, "a", nx=True) == [0]
    assert ours.hexpireat("h", at_s, "a", gt=True) == ours.hpexpireat("h", 1000 * at_s, "b") == [1]
    assert 0 < ours.httl("h", "a")[0] <= 7200 and 0 < ours.hpttl("h", "b")[0] <= 7_200_000
    assert ours.hexpiretime("h", "a", "c") == [at_s, -1]
    assert ours.hpexpiretime("h", "b") == [1000 * at_s]
    assert ours.hpersist("h", "b", "b") == [1, -1]
    assert ours.hgetdel("h", "a", "none") == ["1", None]
    assert ours.hgetex("h", "b", ex=hour_s) == ours.hgetex("h", "b", persist=True) == ["2"]
    assert ours.hsetex("h", mapping={"d": "4"}, ex=hour_s) == 1
    assert sorted(ours.hscan("h", no_values=True)[1]) == ["b", "c", "d"]


def test_iterators_walk_over_everything(ours: Client, protocol: int) -> None:
    names = [f"member {number}" for number in range(2000)]
    ours.sadd("s", *names)
    ours.hset("h", mapping=dict.fromkeys(names, "v"))
    assert dict(ours.hscan_iter("h", count=100)) == dict.fromkeys(names, "v")
    ours.zadd("z", {name: number for number, name in enumerate(names)})
    assert sorted(ours.sscan_iter("s", count=100)) == sorted(names)
    assert {name for name, _ in ours.zscan_iter("z", count=100)} == set(names)
    matching = sorted(ours.sscan_iter("s", match="*99"))
    assert matching == sorted(name for name in names if name.endswith("99"))


def test_numbers_of_any_width(ours: Client, theirs: Client, protocol: int) -> None:
    for client in (ours, theirs):
        client.flushall()
        field = client.bitfield("k", default_overflow="SAT")
        field.set("u8", 0, 200).incrby("u8", 0, 100).get("i8", 0).incrby("i5", "#3", -20, "FAIL")
        assert field.execute() == [0, 255, -1, None]


@pytest.mark.filterwarnings("ignore:.*experimental:UserWarning")
def test_what_is_new_for_lists_and_strings(ours: Client, protocol: int) -> None:
    ours.rpush("a", *"12345")
    assert ours.lmovem("a", "b", count=2, mode="COUNT", ordering="BULK") == ["1", "2"]
    assert ours.blmovem("a", "b", 1, count=3, mode="EXACTLY", ordering="OBO") == ["3", "4", "5"]
    assert ours.lrange("b", 0, -1) == list("12345")
    assert ours.set("k", "a") and ours.set("k", "b", ifeq="a")
    assert ours.set("k", "c", ifeq="a") is None and ours.set("k", "c", ifne="b") is None
    assert ours.digest("k") == ours.digest_local(b"b")
    assert ours.set("k", "c", ifdeq=ours.digest("k"), get=True) == "b"
    assert ours.delex("k", ifne="c") == 0 and ours.delex("k", ifeq="c") == 1
    assert ours.msetex({"x": 1, "y": 2}, ex=100) == 1
    assert 0 < ours.ttl("y") <= 100
    assert ours.increx("x", byint=5, ubound=4) == [1, 0]
    assert ours.increx("x", byint=5, ubound=4, saturate=True, persist=True) == [4, 3]
    assert [float(one) for one in ours.increx("x", byfloat="0.5")] == [4.5, 0.5]
    assert ours.bitop("DIFF", "z", "x", "y") == 3


async def test_many_workers_share_a_reliable_queue(server: RunningServer, protocol: int) -> None:
    """Each job moves from the queue to the worker's own list, and none is lost or done twice."""

    def connect() -> Client:
        return redis.asyncio.Redis(port=server.port, protocol=protocol, decode_responses=True)

    async def work(number: int) -> list[str]:
        done: list[str] = []
        async with connect() as worker:
            own = f"work:{number}"
            while (job := await worker.blmove("jobs", own, 10, "LEFT", "RIGHT")) != "stop":
                done.append(job)
                assert await worker.lrem(own, 1, job) == 1
        return done

    workers = [asyncio.create_task(work(number)) for number in range(20)]
    jobs = [f"job {number}" for number in range(400)]
    async with connect() as producer:
        for start in range(0, len(jobs), 7):
            await producer.rpush("jobs", *jobs[start : start + 7])
        await producer.rpush("jobs", *["stop"] * len(workers))
    done = await asyncio.gather(*workers)
    assert sorted(job for one in done for job in one) == sorted(jobs)
