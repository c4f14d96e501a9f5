"""A stream in partitions, by redis.asyncio.Redis or redis.asyncio.RedisCluster.

The coroutines are those of sync.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import redis.asyncio

from rillway.client.operations import (
    Entry,
    GroupOperations,
    Operation,
    Request,
    StreamOperations,
    described,
    is_interruption,
)
from rillway.client.partitions import Partitions
from rillway.net.routing import Decision, Step, decide, text_of

if TYPE_CHECKING:
    from rillway.client.tracing import Tracing

T = TypeVar("T")
Operations = TypeVar("Operations")
P = ParamSpec("P")


class AsyncPerformer:
    """Runs operations."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._is_cluster = isinstance(client, redis.asyncio.RedisCluster)

    async def __call__(self, operation: Operation[T]) -> T:
        try:
            step = next(operation)
            while True:
                try:
                    replies = await self._step(step)
                except BaseException as error:
                    step = operation.throw(error)
                else:
                    step = operation.send(replies)
        except StopIteration as end:
            result: T = end.value
            return result

    async def _step(self, step: list[Request] | float) -> list[Any]:
        if isinstance(step, float):
            await asyncio.sleep(step)
            return []
        return await self._send(step)

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


def _performed(
    operation: Callable[Concatenate[Operations, P], Operation[T]],
) -> Callable[Concatenate[Any, P], Awaitable[T]]:
    """Make a method of an operation: it runs that of `self._operations`."""

    async def call(self: Any, *args: P.args, **options: P.kwargs) -> T:
        result: T = await self._perform(operation(self._operations, *args, **options))
        return result

    return described(call, operation)  # type: ignore[no-any-return]


class AsyncStream:
    """A stream in partitions, on a server or a cluster: `partitioned.on(client)`.

    Every method raises redis-py's errors.
    """

    def __init__(
        self, partitioned: Partitions, client: Any, tracing: Tracing | None = None
    ) -> None:
        self.partitioned = partitioned
        self._client = client
        self._operations = StreamOperations(partitioned, client, tracing)
        self._perform = AsyncPerformer(client)

    def __repr__(self) -> str:
        return f"{self.partitioned!r}.on({type(self._client).__name__})"

    add = _performed(StreamOperations.add)
    add_many = _performed(StreamOperations.add_many)
    length = _performed(StreamOperations.length)
    history = _performed(StreamOperations.history)

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

    create = _performed(GroupOperations.create)
    read = _performed(GroupOperations.read)
    ack = _performed(GroupOperations.ack)
    claim = _performed(GroupOperations.claim)
    pending = _performed(GroupOperations.pending)

    async def __aiter__(self) -> AsyncIterator[Entry]:
        after = dict.fromkeys(range(self._operations.stream.partitions), "0")
        while after:
            for entry in await self._perform(self._operations.read_backlog(after, count=10)):
                yield entry
        while True:
            for entry in await self.read(block_ms=0):
                yield entry
