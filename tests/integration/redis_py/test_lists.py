"""Lists, bits, HyperLogLogs, SORT and LCS through redis-py, sync and asyncio: as from a real Redis.

Every method that redis-py has for these is called, in both protocols, and what it makes of the
replies is compared.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from typing import Any

import pytest
import redis
import redis.asyncio
from redis.commands.core import HyperlogCommands, ListCommands

from tests.integration.redis_py.test_sets import Call, Client, call, run, run_async
from tests.support.programs.servers import RunningServer

pytestmark = [
    pytest.mark.integration,
    pytest.mark.compat,
    pytest.mark.parametrize("protocol", [2, 3], ids=["resp2", "resp3"]),
]

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

TABLES = {"lists": LISTS, "strings": STRINGS}


@pytest.fixture
def ours(server: RunningServer, protocol: int) -> Iterator[Client]:
    with redis.Redis(port=server.port, protocol=protocol, decode_responses=True) as client:
        yield client


@pytest.fixture
def theirs(redis_server: RunningServer, protocol: int) -> Iterator[Client]:
    with redis.Redis(port=redis_server.port, protocol=protocol, decode_responses=True) as client:
        yield client


def compare(calls: list[Call], wanted: list[Any], found: list[Any]) -> None:
    for one, their_reply, our_reply in zip([None, *calls], wanted, found, strict=True):
        assert our_reply == their_reply, one


@pytest.mark.parametrize("table", TABLES)
def test_every_method_returns_what_it_returns_of_redis(
    ours: Client, theirs: Client, table: str
) -> None:
    calls = TABLES[table]
    compare(calls, run(theirs, calls), run(ours, calls))


@pytest.mark.parametrize("table", TABLES)
async def test_every_method_does_so_in_asyncio(
    server: RunningServer, theirs: Client, protocol: int, table: str
) -> None:
    calls = TABLES[table]
    client: Client = redis.asyncio.Redis(port=server.port, protocol=protocol, decode_responses=True)
    async with client:
        compare(calls, run(theirs, calls), await run_async(client, calls))


def test_no_method_is_left_out(protocol: int) -> None:
    methods = {
        name
        for group in (ListCommands, HyperlogCommands)
        for name, _ in inspect.getmembers(group, inspect.isfunction)
        if not name.startswith("_") and name != "execute_command"
    }
    assert methods <= {name for calls in TABLES.values() for name, _, _ in calls}


def test_numbers_of_any_width(ours: Client, theirs: Client, protocol: int) -> None:
    for client in (ours, theirs):
        client.flushall()
        field = client.bitfield("k", default_overflow="SAT")
        field.set("u8", 0, 200).incrby("u8", 0, 100).get("i8", 0).incrby("i5", "#3", -20, "FAIL")
        assert field.execute() == [0, 255, -1, None]


@pytest.mark.filterwarnings("ignore:.*experimental:UserWarning")
def test_what_redis_7_0_does_not_have(ours: Client, protocol: int) -> None:
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
