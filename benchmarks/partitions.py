"""A stream in partitions: latency, connections and rates, on one server and on a cluster.

    SERVED=$PWD/.run/compiled PYTHONPATH=. python benchmarks/partitions.py [--nodes 1 3]

SERVED: the server that `make compiled` has built; without it, the sources are measured. The nodes
of a cluster, the producer and the consumer share the cores of the machine.

- Waiting: 16 partitions with one consumer. Latency is from before XADD to the handler, of 300
  entries at 100 a second. Connections are those of the consumer, to all nodes; requests are those
  that it makes while nothing comes. `Consumer` has a blocked read for each partition, a group of
  rillway.client asks in rounds.
- Handling: entries a second of one `Consumer`, by the number of partitions, where each entry takes
  5 ms of waiting, as a request to another service does.
- Adding: entries a second with one request for each, and by add_many.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import redis
import redis.asyncio

from benchmarks.machine import description
from rillway.client import PartitionedStream
from rillway.consumer import Consumer, Entry
from tests.support.programs.ports import free_port
from tests.support.programs.servers import RunningServer, start_rillway

GROUP, PARTITIONS = "billing", 16
ENTRIES, PAUSE_SECONDS = 300, 0.01
IDLE_SECONDS = 3.0
HANDLER_SECONDS, HANDLED = 0.005, 1_000
ADDED_SINGLY, ADDED_TOGETHER = 5_000, 100_000
SLOTS = 16_384


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 3])
    print(", ".join(f"{name}: {value}" for name, value in description().items()))
    for number in parser.parse_args().nodes:
        with tempfile.TemporaryDirectory() as folder, running(number, Path(folder)) as servers:
            print(f"\n{number} node{'s' * (number > 1)}")
            measure(servers)


def measure(servers: list[RunningServer]) -> None:
    ways: dict[str, Callable[[list[RunningServer], list[float]], Way]] = {
        "Consumer": ConsumerWay,
        "asyncio group": AsyncGroupWay,
        "sync group": GroupWay,
    }
    print(f"  {'waiting':14} median ms  p99 ms  connections  requests/s")
    for name, make in ways.items():
        print(f"  {name:14} {asyncio.run(waiting(servers, make))}")
    rates = [asyncio.run(handling(servers, partitions)) for partitions in (1, 4, 16)]
    print("  handled/s with 1, 4, 16 partitions:", ", ".join(f"{rate:,.0f}" for rate in rates))
    singly, together = adding(servers)
    print(f"  added/s singly: {singly:,.0f}, by add_many: {together:,.0f}")


# -- waiting --------------------------------------------------------------------------------------


class Way:
    """A way to consume: `seconds` gets how long each entry took."""

    stream = PartitionedStream("waiting", PARTITIONS)

    def __init__(self, servers: list[RunningServer], seconds: list[float]) -> None:
        self.servers = servers
        self.seconds = seconds

    def note(self, sent: bytes) -> None:
        self.seconds.append(time.perf_counter() - float(sent))

    async def run(self) -> None:
        raise NotImplementedError

    def stop(self) -> None:
        raise NotImplementedError


class ConsumerWay(Way):
    def __init__(self, servers: list[RunningServer], seconds: list[float]) -> None:
        super().__init__(servers, seconds)
        self._consumer = Consumer(url(servers), stream=self.stream, group=GROUP, name="c")
        self.stop = self._consumer.stop  # type: ignore[method-assign]

    async def run(self) -> None:
        async def handle(entry: Entry) -> None:
            self.note(entry.fields[b"sent"])

        await self._consumer.run(handle)


class AsyncGroupWay(Way):
    is_stopped = False

    async def run(self) -> None:
        async with async_client(self.servers) as client:
            group = self.stream.on(client).group(GROUP, "a")
            await group.create()
            while not self.is_stopped:
                entries = await group.read(block_ms=200)
                for entry in entries:
                    self.note(entry.fields[b"sent"])
                await group.ack(*entries)

    def stop(self) -> None:
        self.is_stopped = True


class GroupWay(AsyncGroupWay):
    async def run(self) -> None:
        await asyncio.to_thread(self._run)

    def _run(self) -> None:
        with sync_client(self.servers) as client:
            group = self.stream.on(client).group(GROUP, "s")
            group.create()
            while not self.is_stopped:
                entries = group.read(block_ms=200)
                for entry in entries:
                    self.note(entry.fields[b"sent"])
                group.ack(*entries)


async def waiting(
    servers: list[RunningServer], make: Callable[[list[RunningServer], list[float]], Way]
) -> str:
    flush(servers)
    seconds: list[float] = []
    before = figure(servers, "clients", "connected_clients")
    way = make(servers, seconds)
    running = asyncio.ensure_future(way.run())
    await asyncio.sleep(IDLE_SECONDS / 3)
    connections = figure(servers, "clients", "connected_clients") - before
    requests = -figure(servers, "stats", "total_commands_processed")
    await asyncio.sleep(IDLE_SECONDS)
    requests += figure(servers, "stats", "total_commands_processed") - len(servers)
    producer = threading.Thread(target=produce, args=(servers, way.stream))
    producer.start()
    while len(seconds) < ENTRIES:
        await asyncio.sleep(0.05)
    producer.join()
    way.stop()
    await running
    median, p99 = statistics.median(seconds), statistics.quantiles(seconds, n=100)[98]
    rate = requests / IDLE_SECONDS
    return f"{median * 1000:9.2f}  {p99 * 1000:6.2f}  {connections:11}  {rate:10,.0f}"


def produce(servers: list[RunningServer], stream: PartitionedStream) -> None:
    with sync_client(servers) as client:
        orders = stream.on(client)
        for number in range(ENTRIES):
            orders.add(f"customer-{number}", {"sent": time.perf_counter()})
            time.sleep(PAUSE_SECONDS)


# -- rates ----------------------------------------------------------------------------------------


async def handling(servers: list[RunningServer], partitions: int) -> float:
    flush(servers)
    stream = PartitionedStream("handling", partitions)
    with sync_client(servers) as client:
        stream.on(client).add_many(
            (f"customer-{number}", {"n": number}) for number in range(HANDLED)
        )
    consumer = Consumer(url(servers), stream=stream, group=GROUP, name="c", count=100)

    async def handle(entry: Entry) -> None:
        await asyncio.sleep(HANDLER_SECONDS)

    began = time.perf_counter()
    running = asyncio.ensure_future(consumer.run(handle))
    while consumer.counts.acknowledged < HANDLED:
        await asyncio.sleep(0.005)
    seconds = time.perf_counter() - began
    consumer.stop()
    await running
    return HANDLED / seconds


def adding(servers: list[RunningServer]) -> tuple[float, float]:
    flush(servers)
    with sync_client(servers) as client:
        orders = PartitionedStream("adding", PARTITIONS).on(client)
        keys = [f"customer-{number % 1000}" for number in range(ADDED_TOGETHER)]
        singly = timed(lambda: [orders.add(key, {"n": 1}) for key in keys[:ADDED_SINGLY]])
        together = timed(lambda: orders.add_many((key, {"n": 1}) for key in keys))
    return ADDED_SINGLY / singly, ADDED_TOGETHER / together


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


# -- servers --------------------------------------------------------------------------------------


@contextmanager
def running(number: int, folder: Path) -> Iterator[list[RunningServer]]:
    """One server, or the nodes of a cluster with equal shares of the slots."""
    servers = []
    try:
        for place in range(number):
            directives = ["--cluster-enabled", "yes", "--cluster-port", str(free_port())]
            node = folder / str(place)
            node.mkdir()
            servers.append(start_rillway(node, *(directives if number > 1 else [])))
        if number > 1:
            make_cluster(servers)
        yield servers
    finally:
        for server in servers:
            server.stop()


def make_cluster(servers: list[RunningServer]) -> None:
    clients: list[Any] = [redis.Redis(port=server.port) for server in servers]
    for place, client in enumerate(clients):
        first, after = (SLOTS * edge // len(servers) for edge in (place, place + 1))
        client.execute_command("CLUSTER ADDSLOTSRANGE", first, after - 1)
        bus_port = client.config_get("cluster-port")["cluster-port"]
        clients[0].execute_command("CLUSTER MEET", "127.0.0.1", servers[place].port, bus_port)
    for client in clients:
        while client.execute_command("CLUSTER INFO")["cluster_state"] != "ok":
            time.sleep(0.05)
        client.close()


def url(servers: list[RunningServer]) -> str:
    return f"redis://127.0.0.1:{servers[0].port}"


def sync_client(servers: list[RunningServer]) -> Any:
    kind: Any = redis.Redis if len(servers) == 1 else redis.RedisCluster
    return kind(host="127.0.0.1", port=servers[0].port)


def async_client(servers: list[RunningServer]) -> Any:
    kind: Any = redis.asyncio.Redis if len(servers) == 1 else redis.asyncio.RedisCluster
    return kind(host="127.0.0.1", port=servers[0].port)


def flush(servers: list[RunningServer]) -> None:
    for server in servers:
        with redis.Redis(port=server.port) as client:
            client.flushall()


def figure(servers: list[RunningServer], section: str, name: str) -> int:
    """The sum over all nodes; this request's connection counts as well."""
    total = 0
    for server in servers:
        with redis.Redis(port=server.port) as client:
            facts: Any = client.info(section)
            total += int(facts[name])
    return total


if __name__ == "__main__":
    main()
