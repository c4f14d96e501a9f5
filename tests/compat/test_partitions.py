"""Consumers of a stream in partitions on a cluster, while slots move and a primary dies."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest
import redis
import redis.asyncio
from redis.crc import key_slot

from rillway.client import Entry as ClientEntry
from rillway.client import PartitionedStream
from rillway.consumer import Consumer, Entry, GiveUp
from rillway.consumer.nodes import Nodes
from tests.support.programs.cluster import Cluster, Node, wait_until

pytestmark = pytest.mark.compat

KINDS = ["rillway", "redis", "rillway", "redis", "rillway", "redis"]
PARTITIONS, KEYS, GROUP = 12, 30, "billing"
LEASE_MS = 1_500
DEADLINE_SECONDS = 60.0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("partitions"), KINDS)
    try:
        made.create()
        yield made
    finally:
        made.close()


@pytest.fixture
async def client(cluster: Cluster) -> AsyncIterator[Any]:
    async with redis.asyncio.RedisCluster(**address(cluster.nodes[0])) as client:
        yield client


@pytest.fixture
async def nodes(cluster: Cluster) -> AsyncIterator[Nodes]:
    nodes = Nodes(url(cluster), {})
    yield nodes
    await nodes.aclose()


def address(node: Node) -> dict[str, Any]:
    return {"host": "127.0.0.1", "port": node.server.port}


def url(cluster: Cluster) -> str:
    return f"redis://{cluster.nodes[0].address}"


class Work:
    """Entries of 30 keys, numbered, and what consumers make of them."""

    def __init__(self, stream: PartitionedStream, client: Any, nodes: Nodes | None = None) -> None:
        self.stream = stream.on(client)
        self.nodes = nodes
        self.added: dict[str, int] = defaultdict(int)
        self.handled: dict[str, list[int]] = defaultdict(list)
        self.not_pending: list[str] = []

    async def add(self, rounds: int) -> None:
        """Adds an entry of each key in each round."""
        for _ in range(rounds):
            entries = []
            for number in range(KEYS):
                key = f"customer-{number}"
                entries.append((key, {"key": key, "n": self.added[key]}))
                self.added[key] += 1
            await self.stream.add_many(entries)

    async def handle(self, entry: Entry) -> None:
        """Notes the entry, which must not be acknowledged yet."""
        number = int(entry.fields[b"n"])
        self.handled[entry.fields[b"key"].decode()].append(number)
        if self.nodes is not None and number % 10 == 0:
            words = ("XPENDING", entry.stream, GROUP, entry.id, entry.id, 1)
            if not await self.nodes.execute(entry.stream, *words):
                self.not_pending.append(entry.id)

    def is_done(self) -> bool:
        return all(set(self.handled[key]) == set(range(n)) for key, n in self.added.items())

    def first_times(self, key: str) -> list[int]:
        """The numbers of a key in the order in which they were first handled."""
        return list(dict.fromkeys(self.handled[key]))

    def check_order(self) -> None:
        for key in self.added:
            assert self.first_times(key) == list(range(self.added[key])), key


@asynccontextmanager
async def consumers(
    cluster: Cluster, work: Work, names: str = "ab", **options: Any
) -> AsyncIterator[list[Consumer]]:
    made = [
        Consumer(
            url(cluster),
            stream=work.stream.partitioned,
            group=GROUP,
            name=name,
            lease_ms=LEASE_MS,
            **options,
        )
        for name in names
    ]
    running = [asyncio.ensure_future(consumer.run(work.handle)) for consumer in made]
    try:
        yield made
    finally:
        for consumer in made:
            consumer.stop()
        await asyncio.gather(*running)


async def until(holds: Callable[[], bool], what: Callable[[], Any] = str) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, what()
        await asyncio.sleep(0.02)


def all_are_held(made: list[Consumer]) -> bool:
    return sorted(p for consumer in made for p in consumer.partitions) == list(range(PARTITIONS))


async def test_slots_move_under_running_consumers(
    cluster: Cluster, client: Any, nodes: Nodes
) -> None:
    work = Work(PartitionedStream("moving", PARTITIONS), client, nodes)
    async with consumers(cluster, work) as made:
        await until(lambda: all_are_held(made))
        await until(lambda: all(consumer.partitions for consumer in made))
        moves = asyncio.ensure_future(asyncio.to_thread(move_slots, cluster))
        while not moves.done():
            await work.add(1)
            await asyncio.sleep(0.01)
        await moves
        await work.add(5)
        await until(work.is_done, lambda: (made[0].counts, made[1].counts))
    work.check_order()
    assert work.not_pending == []
    assert await work.stream.group(GROUP, "me").pending() == 0
    total = sum(work.added.values())
    assert await work.stream.length() == total
    assert sum(consumer.counts.acknowledged for consumer in made) == total


def move_slots(cluster: Cluster, rounds: int = 2) -> None:
    """The slots of all partitions go round the three primaries, with their keys."""
    primaries = cluster.nodes[:3]
    for _ in range(rounds):
        for slot in {key_slot(str(partition).encode()) for partition in range(PARTITIONS)}:
            (source,) = [node for node in primaries if has_slot(node, slot)]
            target = primaries[(primaries.index(source) + 1) % len(primaries)]
            move_slot(slot, source, target)
            for node in primaries:
                node.client.execute_command("CLUSTER SETSLOT", slot, "NODE", target.id)


def move_slot(slot: int, source: Node, target: Node) -> None:
    """As redis-cli does, with a moment for each key in which the slot is on both nodes."""
    target.client.execute_command("CLUSTER SETSLOT", slot, "IMPORTING", source.id)
    source.client.execute_command("CLUSTER SETSLOT", slot, "MIGRATING", target.id)
    while keys := source.client.execute_command("CLUSTER GETKEYSINSLOT", slot, 1):
        source.client.migrate("127.0.0.1", target.server.port, keys, 0, 5_000)
        time.sleep(0.02)
    target.client.execute_command("CLUSTER SETSLOT", slot, "NODE", target.id)


def has_slot(node: Node, slot: int) -> bool:
    for start, end, (_, port, *_), *_ in node.client.execute_command("CLUSTER", "SLOTS"):
        if start <= slot <= end:
            return bool(port == node.server.port)
    return False


async def test_the_partitions_of_a_consumer_that_ends_go_to_the_others(
    cluster: Cluster, client: Any, nodes: Nodes
) -> None:
    work = Work(PartitionedStream("shared", PARTITIONS), client, nodes)
    async with consumers(cluster, work, "a") as (first,):
        await until(lambda: len(first.partitions) == PARTITIONS)
        await work.add(10)
        async with consumers(cluster, work, "bc") as (second, third):
            await until(lambda: len(second.partitions) == len(third.partitions) == 4)
            await work.add(10)
            await until(work.is_done)
        await until(lambda: len(first.partitions) == PARTITIONS)
        await work.add(10)
        await until(work.is_done)
    work.check_order()


async def test_a_replica_takes_over_under_running_consumers(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path / "nodes", KINDS)
    try:
        await asyncio.to_thread(cluster.create)
        async with redis.asyncio.RedisCluster(**address(cluster.nodes[1])) as client:
            work = Work(PartitionedStream("orders", PARTITIONS), client)
            # The consumers know one node only, which is the one that dies.
            async with consumers(cluster, work) as made:
                await until(lambda: all_are_held(made))
                await work.add(20)
                victim = cluster.nodes[0]
                heir = cluster.replica_of(victim)
                victim.client.execute_command("WAIT", 1, 5_000)
                victim.kill()
                await asyncio.to_thread(wait_until, lambda: heir.client.role()[0] == "master")
                await add_once_it_works(work)
                await until(work.is_done, lambda: (made[0].counts, made[1].counts))
            work.check_order()
            assert await work.stream.group(GROUP, "me").pending() == 0
    finally:
        cluster.close()


async def add_once_it_works(work: Work) -> None:
    """The other nodes take a moment to learn of the new primary."""
    for _ in range(100):
        try:
            await work.stream.length()
        except redis.RedisError:
            await asyncio.sleep(0.1)
        else:
            break
    await work.add(20)


@pytest.mark.parametrize("protocol", [2, 3])
def test_the_sync_client_reads_and_acknowledges_over_all_nodes(
    cluster: Cluster, protocol: int
) -> None:
    with redis.RedisCluster(**address(cluster.nodes[0]), protocol=protocol) as client:
        stream = PartitionedStream(f"sync-{protocol}", PARTITIONS, key_field="key").on(client)
        billing = stream.group(GROUP, "worker-1")
        assert billing.create() == PARTITIONS
        ids = stream.add_many((f"k{number % 7}", {"n": number}) for number in range(70))
        entries = billing.read(count=100, block_ms=1_000)
        check_read(entries, ids)
        assert billing.pending() == 70
        assert billing.claim(0, count=100) == entries
        assert billing.ack(*entries) == 70
        assert (billing.pending(), stream.length()) == (0, 70)
        assert [int(e.fields[b"n"]) for e in stream.history("k3")] == list(range(3, 70, 7))


@pytest.mark.parametrize("protocol", [2, 3])
async def test_the_asyncio_client_reads_and_acknowledges_over_all_nodes(
    cluster: Cluster, protocol: int
) -> None:
    node = address(cluster.nodes[0])
    async with redis.asyncio.RedisCluster(**node, protocol=protocol) as client:
        stream = PartitionedStream(f"async-{protocol}", PARTITIONS, key_field="key").on(client)
        billing = stream.group(GROUP, "worker-1")
        assert await billing.create() == PARTITIONS
        ids = await stream.add_many((f"k{number % 7}", {"n": number}) for number in range(70))
        entries = await billing.read(count=100, block_ms=1_000)
        check_read(entries, ids)
        assert await billing.claim(0, count=100) == entries
        assert await billing.ack(*entries) == 70
        assert (await billing.pending(), await stream.length()) == (0, 70)
        assert [int(e.fields[b"n"]) for e in await stream.history("k3")] == list(range(3, 70, 7))


def check_read(entries: list[ClientEntry], ids: list[bytes]) -> None:
    numbers: dict[int, list[int]] = defaultdict(list)
    for entry in entries:
        numbers[entry.partition].append(int(entry.fields[b"n"]))
    assert sorted(entry.id for entry in entries) == sorted(ids)
    assert all(found == sorted(found) for found in numbers.values())


async def test_dead_letters_of_another_slot_are_refused_at_once(cluster: Cluster) -> None:
    consumer = Consumer(
        url(cluster), stream="o", group=GROUP, name="c", max_deliveries=2, dead_letters="d"
    )
    with pytest.raises(GiveUp, match="different slots"):
        await consumer.run(AsyncMock())


@pytest.mark.parametrize("partitions", [None, PARTITIONS], ids=["one stream", "partitions"])
def test_rillway_consume_finds_out_that_it_is_a_cluster(
    cluster: Cluster, partitions: int | None
) -> None:
    name = f"consumed-{partitions}"
    with redis.RedisCluster(**address(cluster.nodes[0])) as client:
        if partitions:
            stream = PartitionedStream(name, partitions).on(client)
            stream.add_many((f"k{number}", {"n": number}) for number in range(20))
        else:
            for number in range(20):
                client.xadd(name, {"n": number})
        slot = key_slot(name.encode())
        stranger = next(node for node in cluster.nodes if not has_slot(node, slot))
        lines = [json.loads(line) for line in consume(stranger, name, partitions).splitlines()]
        assert sorted(int(line["fields"]["n"]) for line in lines) == list(range(20))
        if partitions:
            assert {line["stream"] for line in lines} <= set(stream.partitioned.streams)
            assert stream.group(GROUP, "me").pending() == 0
        else:
            assert client.xpending(name, GROUP)["pending"] == 0


def consume(node: Node, name: str, partitions: int | None) -> str:
    words = [
        "--stream",
        name,
        "--group",
        GROUP,
        "--consumer",
        "c",
        "--url",
        f"redis://{node.address}",
    ]
    if partitions:
        words += ["--partitions", str(partitions)]
    process = subprocess.Popen(
        [sys.executable, "-m", "rillway", "consume", *words, "--", "cat"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        lines = [process.stdout.readline() for _ in range(20)]
    finally:
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    return "".join(lines) + rest
