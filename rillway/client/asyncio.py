"""A stream in partitions, by redis.asyncio.Redis or redis.asyncio.RedisCluster.

The coroutines are those of sync.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

import redis.asyncio

from rillway.client.operations import (
    AddOptions,
    Entry,
    Fields,
    GroupOperations,
    Key,
    Operation,
    Request,
    add,
    add_many,
    history,
    is_interruption,
    length,
)
from rillway.client.partitions import Partitions
from rillway.net.routing import Decision, Step, decide, text_of

if TYPE_CHECKING:
    from rillway.client.tracing import Tracing

T = TypeVar("T")


class AsyncPerformer:
    """Runs operations."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._is_cluster = isinstance(client, redis.asyncio.RedisCluster)

    async def __call__(self, operation: Operation[T]) -> T:
        replies: Any = None
        while True:
            try:
                step = operation.send(replies)
            except StopIteration as end:
                result: T = end.value
                return result
            if isinstance(step, float):
                await asyncio.sleep(step)
                replies = []
            else:
                replies = await self._send(step)

    async def _send(self, requests: list[Request]) -> list[Any]:
        """Return the replies, from one pipeline for each node. Errors of servers are replies."""
        if len(requests) == 1 and not self._is_cluster:
            return [await self._send_one(requests[0])]
        if self._is_cluster:
            await self._client.initialize()
        async with self._client.pipeline(transaction=False) as pipeline:
            for request in requests:
                pipeline.execute_command(*request, **self._target(request))
            options = {"allow_redirections": False} if self._is_cluster else {}
            replies: list[Any] = await pipeline.execute(raise_on_error=False, **options)
        for place, reply in enumerate(replies):
            if isinstance(reply, redis.ResponseError):
                decision = decide(text_of(reply), "")
                if decision.step in (Step.FOLLOW, Step.ASK):
                    replies[place] = await self._send_to(decision, requests[place])
        for reply in replies:
            if is_interruption(reply):
                raise reply
        return replies

    async def _send_one(self, request: Request) -> Any:
        try:
            return await self._client.execute_command(*request)
        except redis.ResponseError as refusal:
            return refusal

    async def _send_to(self, decision: Decision, request: Request) -> Any:
        """Return the reply of the node that another one named.

        redis-py's asyncio client follows MOVED. After ASK it may send ASKING and the request on
        different connections (8.1), so both are sent here in one pipeline.
        """
        try:
            node = self._client.get_node(*decision.address)
            if decision.step is Step.FOLLOW or node is None:
                return await self._client.execute_command(*request)
            async with self._client.pipeline(transaction=False) as pipeline:
                pipeline.execute_command("ASKING", target_nodes=node)
                pipeline.execute_command(*request, target_nodes=node)
                return (await pipeline.execute(allow_redirections=False))[1]
        except redis.ResponseError as refusal:
            return refusal

    def _target(self, request: Request) -> dict[str, Any]:
        """Return the node of an XREADGROUP: redis-py would ask a node for its keys each time."""
        if not self._is_cluster or request[0] != "XREADGROUP":
            return {}
        return {"target_nodes": self._client.get_node_from_key(request[-2])}


class AsyncStream:
    """A stream in partitions, on a server or a cluster: `partitioned.on(client)`.

    Every method raises redis-py's errors.
    """

    def __init__(
        self, partitioned: Partitions, client: Any, tracing: Tracing | None = None
    ) -> None:
        self.partitioned = partitioned
        self._client = client
        self._tracing = tracing
        self._perform = AsyncPerformer(client)

    def __repr__(self) -> str:
        return f"{self.partitioned!r}.on({type(self._client).__name__})"

    async def add(self, key: Key, fields: Fields, **options: Unpack[AddOptions]) -> Any:
        """Adds an entry to the partition of its key, by XADD; returns its ID.

        Raises ValueError if there are no fields, or if the field of the key holds another key.
        """
        if self._tracing is None:
            return await self._perform(add(self.partitioned, key, fields, options))
        with self._tracing.adding(self._client, self.partitioned.partition(key)) as span:
            entry_id = await self._perform(add(self.partitioned, key, span.fields(fields), options))
            span.is_added(entry_id)
            return entry_id

    async def add_many(
        self,
        entries: Iterable[tuple[Key, Fields]],
        *,
        create_spans: bool = False,
        **options: Unpack[AddOptions],
    ) -> list[Any]:
        """Adds entries, as (key, fields), in pipelines of a thousand; returns their IDs.

        Entries of one key keep their order. `create_spans`: with `trace`, each entry also
        has a span of its own.
        """
        if self._tracing is None:
            return await self._perform(add_many(self.partitioned, entries, options))
        with self._tracing.adding_many(self._client, create_spans=create_spans) as span:
            traced = ((key, span.fields(fields)) for key, fields in entries)
            ids = await self._perform(add_many(self.partitioned, traced, options))
            span.are_added(len(ids))
            return ids

    async def length(self) -> int:
        """Returns the number of entries in all partitions."""
        return await self._perform(length(self.partitioned))

    async def history(
        self, key: Key, start: str = "-", end: str = "+", count: int | None = None
    ) -> list[Entry]:
        """Returns the entries of a key in order, up to `count`, between two IDs as in XRANGE.

        Without a `key_field`, all entries of the key's partition.
        """
        return await self._perform(history(self.partitioned, key, start, end, count))

    def group(self, name: str, consumer: str) -> AsyncGroup:
        """Returns a consumer of a group over all partitions."""
        return AsyncGroup(GroupOperations(self.partitioned, name, consumer), self._perform)


class AsyncGroup:
    """A consumer of a group over all partitions. Every method raises redis-py's errors.

    Iteration yields the entries that are pending for the consumer, then new ones, without end.
    Reads are rounds over all partitions, a pipeline for each node. The order of a key is kept as
    long as one consumer reads: share the partitions by rillway.consumer.Consumer.
    """

    def __init__(self, operations: GroupOperations, perform: AsyncPerformer) -> None:
        self._operations = operations
        self._perform = perform

    async def create(self, start: str = "0") -> int:
        """Creates the group in partitions that lack it; returns their number."""
        return await self._perform(self._operations.create(start))

    async def read(self, count: int = 10, block_ms: int | None = None) -> list[Entry]:
        """Reads new entries, up to `count` of each partition, in the order of each.

        `block_ms`: how long to wait for some, 0 for ever; None: do not wait.
        """
        return await self._perform(self._operations.read(count, block_ms))

    async def ack(self, *entries: Entry) -> int:
        """Acknowledges entries; returns how many were pending."""
        return await self._perform(self._operations.acknowledge(entries))

    async def claim(self, min_idle_ms: int, count: int = 10) -> list[Entry]:
        """Takes over entries, of any consumer, idle that long; up to `count` of each partition."""
        return await self._perform(self._operations.claim(min_idle_ms, count))

    async def pending(self) -> int:
        """Returns the number of entries delivered and not acknowledged, of all consumers."""
        return await self._perform(self._operations.pending())

    async def __aiter__(self) -> AsyncIterator[Entry]:
        after = dict.fromkeys(range(self._operations.stream.partitions), "0")
        while after:
            for entry in await self._perform(self._operations.read_backlog(after, count=10)):
                yield entry
        while True:
            for entry in await self.read(block_ms=0):
                yield entry
