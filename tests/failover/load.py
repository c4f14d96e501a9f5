"""Producers and consumers that work on while primaries die, and a record of their replies.

Messages are numbered. A producer sends a message again until it is acknowledged, so one may be in
the stream twice; that is what "at least once" means.

Where all servers are Rillways, the groups have a policy: no consumer takes anything over, some
entries are left lying, and some messages are delayed.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from redis.exceptions import RedisError

from tests.failover.cluster import Cluster, Failed, direct_client, wait_for

WAITED = b"waited"  # the stream of those who wait for a replica with each write
PLAIN = b"plain"  # of those who do not
STREAMS = (WAITED, PLAIN)
GROUP = "workers"
PAUSE_SECONDS = 0.003
RETRY_SECONDS = 0.02
WAIT_MS = 500
BLOCK_MS = 200
CLAIM_SECONDS = 1.0
CLAIM_IDLE_MS = 2000
DRAIN_SECONDS = 30.0
POLICY = ("ACK-WAIT", CLAIM_IDLE_MS, "MAX-DELIVERIES", 100, "DEAD-LETTER", "dead")
DELAY_MS = 500
EACH_DELAYED = 10  # one message in so many is delayed
EACH_LEFT = 50  # one read in so many is left to the deadline

Message: TypeAlias = tuple[bytes, bytes, int]  # stream, producer, number


class Ledger:
    """What was acknowledged, and when; what was processed, and how often."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._acknowledged: dict[Message, float] = {}
        self._processed: Counter[Message] = Counter()

    def acknowledge(self, message: Message) -> None:
        with self._lock:
            self._acknowledged[message] = time.monotonic()

    def process(self, message: Message) -> None:
        with self._lock:
            self._processed[message] += 1

    def acknowledged(self) -> dict[Message, float]:
        with self._lock:
            return dict(self._acknowledged)

    def processed(self) -> Counter[Message]:
        with self._lock:
            return self._processed.copy()

    def has_acknowledged_after(self, moment: float) -> bool:
        """For a stream of each kind."""
        with self._lock:
            late = {message[0] for message, at in self._acknowledged.items() if at > moment}
        return late == set(STREAMS)

    def longest_gap(self, begin: float) -> float:
        """The longest time since `begin` in which no write was acknowledged."""
        moments = sorted(at for at in self.acknowledged().values() if at > begin)
        return max(map(float.__sub__, moments, [begin, *moments]), default=0.0)


class Worker(threading.Thread):
    """Repeats one action until `stop` is set. Redis errors are expected."""

    def __init__(self, cluster: Cluster, ledger: Ledger, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self.cluster = cluster
        self.ledger = ledger
        self.failure: Exception | None = None
        self._is_over = threading.Event()

    def run(self) -> None:
        client = self.cluster.client()
        try:
            while not self._is_over.is_set():
                try:
                    self.work(client)
                except RedisError:
                    time.sleep(RETRY_SECONDS)
        except Exception as failure:
            self.failure = failure

    def work(self, client: Any) -> None:
        raise NotImplementedError

    def end(self) -> None:
        self._is_over.set()
        self.join()
        if self.failure is not None:
            raise Failed(f"{self.name}: {self.failure!r}")


class Producer(Worker):
    """Sends messages, one after the other, each until it is acknowledged."""

    number = 0

    def work(self, client: Any) -> None:
        name = self.name.encode()
        stream = WAITED if self.is_waiting else PLAIN
        is_late = self.cluster.has_policies and self.number % EACH_DELAYED == 0
        delay = DELAY_MS if is_late else None
        if send(client, stream, name, self.number, is_waiting=self.is_waiting, delay_ms=delay):
            self.ledger.acknowledge((stream, name, self.number))
            self.number += 1
        time.sleep(PAUSE_SECONDS)

    @property
    def is_waiting(self) -> bool:
        return self.name.startswith("waiting")


class Consumer(Worker):
    """Reads as a member of the group, acknowledges, and takes over what has lain for too long.

    With a policy it leaves the latter to the server, and some of what it was given, too.
    """

    claimed = 0.0
    reads = 0

    def work(self, client: Any) -> None:
        streams = dict.fromkeys(STREAMS, ">")
        found = client.xreadgroup(GROUP, self.name, streams, count=20, block=BLOCK_MS)
        if self.cluster.has_policies and found:
            self.reads += 1
            if self.reads % EACH_LEFT == 0:
                return
        for stream, entries in found or []:
            self.process(client, stream, entries)
        if not self.cluster.has_policies and time.monotonic() > self.claimed + CLAIM_SECONDS:
            for stream in STREAMS:
                _, entries, _ = client.xautoclaim(stream, GROUP, self.name, CLAIM_IDLE_MS)
                self.process(client, stream, entries)
            self.claimed = time.monotonic()

    def process(self, client: Any, stream: bytes, entries: list[Any]) -> None:
        for _, fields in entries:
            self.ledger.process(message_of(stream, fields))
        if entries:
            client.xack(stream, GROUP, *(entry_id for entry_id, _ in entries))


def message_of(stream: bytes, fields: dict[bytes, bytes]) -> Message:
    return stream, fields[b"by"], int(fields[b"n"])


def send(
    client: Any, stream: bytes, name: bytes, number: int, *, is_waiting: bool,
    delay_ms: int | None = None,
) -> bool:  # fmt: skip
    """Whether the message is acknowledged. Raises RedisError."""
    when = ["*"] if delay_ms is None else ["DELAY", delay_ms, "*"]
    request = ["XADD", stream, *when, "by", name, "n", number]
    if not is_waiting:
        client.execute_command(*request)
        return True
    with client.pipeline(transaction=False) as pipeline:
        pipeline.execute_command(*request)
        pipeline.wait(1, WAIT_MS)
        return bool(pipeline.execute()[1] >= 1)


def insist(port: int, name: bytes, ledger: Ledger, until: Callable[[], bool]) -> None:
    """Write to a server that was the primary, until it refuses to be that any more."""
    number = 0
    with direct_client(port) as client:
        while not until():
            for stream in STREAMS:
                try:
                    if send(client, stream, name, number, is_waiting=stream == WAITED):
                        ledger.acknowledge((stream, name, number))
                except RedisError:
                    time.sleep(RETRY_SECONDS)
            number += 1


@contextmanager
def under_load(cluster: Cluster, ledger: Ledger) -> Iterator[None]:
    """Producers and consumers. At the end the consumers work off what is left."""
    client = cluster.client()
    for stream in STREAMS:
        client.xgroup_create(stream, GROUP, "0", mkstream=True)
        if cluster.has_policies:
            client.execute_command("XGROUP", "CONFIG", stream, GROUP, *POLICY)
    client.wait(len(cluster.nodes) - 1, 0)
    producers = [Producer(cluster, ledger, n) for n in ("waiting-1", "waiting-2", "plain-1")]
    consumers = [Consumer(cluster, ledger, f"consumer-{number}") for number in (1, 2)]
    for worker in (*producers, *consumers):
        worker.start()
    try:
        yield
    finally:
        for producer in producers:
            producer.end()
    wait_for(
        lambda: is_drained(client, has_policies=cluster.has_policies),
        "the group does not come to an end", DRAIN_SECONDS,
    )  # fmt: skip
    for consumer in consumers:
        consumer.end()


def is_drained(client: Any, *, has_policies: bool) -> bool:
    """Whether every entry has appeared, is delivered and acknowledged."""
    try:
        for stream in STREAMS:
            if has_policies and client.execute_command("XSCHEDULED", stream):
                return False
            last = client.xinfo_stream(stream)["last-generated-id"]
            [group] = client.xinfo_groups(stream)
            if group["pending"] or group["last-delivered-id"] != last:
                return False
    except RedisError:
        return False
    return True


def messages(client: Any) -> set[Message]:
    """What is in the streams."""
    return {message_of(stream, fields) for stream in STREAMS for _, fields in client.xrange(stream)}
