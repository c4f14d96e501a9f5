"""Shares partitions among consumers: each has one consumer at a time, which keeps its order.

A consumer records a heartbeat in a sorted set, and so learns how many consumers are alive. It takes
its share of the partitions and gives back the rest. A lease, a key of the partition with the
consumer's name, marks ownership: another consumer can take the partition after it was given back,
or when the lease expires. A lease and its partition are in one slot; all times are those of the
servers.

A consumer that stalled for longer than its lease may still be handling an entry of a partition that
another one has taken. That entry is handled twice.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import TypeVar

import redis

from rillway.client.partitions import Partitions
from rillway.consumer.nodes import Nodes
from rillway.consumer.worker import INTERRUPTIONS, REFUSALS, Handler, Worker, end, log

T = TypeVar("T")

# How often a lease is renewed within its time.
RENEWALS = 3
# The part of that time that a request may take. A round has five requests in sequence: a node that
# does not answer must not delay the renewal of leases on other nodes until they expire.
PATIENCE = 1 / 12

# KEYS: the set of consumers. ARGV: the consumer, for how long in ms. Returns how many there are.
PRESENT = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
return redis.call('ZCARD', KEYS[1])
"""
# KEYS: the lease. ARGV: the consumer, for how long in ms. Returns 1 if the consumer has it.
HOLD = """
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
"""
RELEASE = """
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
"""


class Shares:
    """The partitions of one consumer, with a worker for each."""

    def __init__(
        self,
        nodes: Nodes,
        stream: Partitions,
        *,
        group: str,
        name: str,
        lease_ms: int,
        make_worker: Callable[[int], Worker],
    ) -> None:
        self._nodes = nodes
        self._stream = stream
        self._group = group
        self._name = name
        self._lease_ms = lease_ms
        self._make_worker = make_worker
        self._stopping = asyncio.Event()
        self._workers: dict[int, Worker] = {}
        self._running: dict[int, asyncio.Task[None]] = {}
        self._renewed: dict[int, float] = {}  # the leases, on the loop's clock

    @property
    def partitions(self) -> list[int]:
        """The present partitions."""
        return sorted(self._running)

    def stop(self) -> None:
        """Stops `run`: each worker finishes its entry, and the partitions go to others."""
        self._stopping.set()

    async def run(self, handle: Handler) -> None:
        """Work on the share until `stop` is called. Raises the workers' errors."""
        try:
            while not self._stopping.is_set():
                try:
                    await self._renew()
                    await self._within(self._nodes.refresh())
                    await self._balance(handle)
                except REFUSALS:
                    raise
                except INTERRUPTIONS as error:
                    log.warning("no partitions are taken or given back: %s", error)
                await self._wait()
            await self._end_all()
        finally:
            for task in self._running.values():
                await end(task)

    async def _wait(self) -> None:
        """Wait until it is time to renew or to stop, or a worker has ended."""
        stopping = asyncio.ensure_future(self._stopping.wait())
        await asyncio.wait(
            {stopping, *self._running.values()},
            timeout=self._lease_ms / 1000 / RENEWALS,
            return_when=asyncio.FIRST_COMPLETED,
        )
        await end(stopping)
        await self._collect()

    async def _collect(self) -> None:
        """Give back the partitions whose workers have ended."""
        for partition in [held for held, task in self._running.items() if task.done()]:
            task = self._running.pop(partition)
            del self._workers[partition], self._renewed[partition]
            try:
                task.result()
            except REFUSALS:
                raise
            except INTERRUPTIONS as error:
                if self._stopping.is_set():
                    raise
                log.warning("%s was given up: %s", self._stream.stream(partition), error)
            with suppress(redis.RedisError, OSError):
                await self._eval(RELEASE, self._stream.owner(partition, self._group), self._name)

    async def _end_all(self) -> None:
        for worker in self._workers.values():
            worker.stop()
        if self._running:
            await asyncio.wait(self._running.values())
        await self._collect()
        consumers = self._stream.consumers(self._group)
        with suppress(redis.RedisError, OSError):
            await self._nodes.execute(consumers, "ZREM", consumers, self._name)

    # -- taking and giving back -------------------------------------------------------------------

    async def _balance(self, handle: Handler) -> None:
        consumers = self._stream.consumers(self._group)
        alive = await self._eval(PRESENT, consumers, self._name, self._lease_ms)
        share = math.ceil(self._stream.partitions / alive)
        for partition in self.partitions[share:]:
            self._workers[partition].stop()
        if len(self._running) < share:
            await self._take(share - len(self._running), handle)

    async def _renew(self) -> None:
        """Renew all leases together; a worker whose lease is lost, or may be, stops."""
        now = asyncio.get_running_loop().time()
        held = self.partitions
        for partition, renewed in zip(held, await self._hold(held), strict=True):
            if renewed:
                self._renewed[partition] = now
            elif renewed is False or now - self._renewed[partition] > self._lease_ms / 1000:
                self._workers[partition].stop()

    async def _take(self, number: int, handle: Handler) -> None:
        """Take up to a number of free partitions, and start their workers."""
        others = [place for place in range(self._stream.partitions) if place not in self._running]
        owners = await asyncio.gather(*map(self._owner, others))
        free = [
            partition
            for partition, owner in zip(others, owners, strict=True)
            if owner in (None, self._name.encode())
        ]
        now = asyncio.get_running_loop().time()
        wanted = free[:number]
        for partition, taken in zip(wanted, await self._hold(wanted), strict=True):
            if taken:
                self._renewed[partition] = now
                worker = self._workers[partition] = self._make_worker(partition)
                self._running[partition] = asyncio.ensure_future(worker.run(handle))

    async def _owner(self, partition: int) -> bytes | bool | None:
        """Return the owner of a partition; False if its node does not answer."""
        key = self._stream.owner(partition, self._group)
        try:
            owner: bytes | None = await self._within(self._nodes.execute(key, "GET", key))
        except INTERRUPTIONS:
            return False
        return owner

    async def _hold(self, partitions: Iterable[int]) -> list[bool | None]:
        """Try to hold leases. Return True for each held one, None if a node does not answer."""

        async def hold(partition: int) -> bool | None:
            key = self._stream.owner(partition, self._group)
            try:
                return bool(await self._eval(HOLD, key, self._name, self._lease_ms))
            except REFUSALS:
                raise
            except INTERRUPTIONS:
                return None

        return await asyncio.gather(*map(hold, partitions))

    async def _eval(self, script: str, key: str, *arguments: str | int) -> int:
        request = self._nodes.execute(key, "EVAL", script, 1, key, *arguments)
        return int(await self._within(request))

    async def _within(self, request: Awaitable[T]) -> T:
        """Return the result. Raises TimeoutError, an OSError, if it takes too long."""
        seconds = self._lease_ms / 1000 * PATIENCE
        try:
            async with asyncio.timeout(seconds):
                return await request
        except TimeoutError as error:
            raise TimeoutError(str(error) or f"no answer in {seconds:.2f} s") from None
