"""A stream in partitions, by redis.Redis or redis.RedisCluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import redis

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

if TYPE_CHECKING:
    from rillway.client.tracing import Tracing

T = TypeVar("T")
Operations = TypeVar("Operations")
P = ParamSpec("P")


class Performer:
    """Runs operations."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._is_cluster = isinstance(client, redis.RedisCluster)

    def __call__(self, operation: Operation[T]) -> T:
        try:
            step = next(operation)
            while True:
                try:
                    replies = self._step(step)
                except BaseException as error:
                    step = operation.throw(error)
                else:
                    step = operation.send(replies)
        except StopIteration as end:
            result: T = end.value
            return result

    def _step(self, step: list[Request] | float) -> list[Any]:
        if isinstance(step, float):
            time.sleep(step)
            return []
        return self._send(step)

    def _send(self, requests: list[Request]) -> list[Any]:
        """Return the replies, from one pipeline for each node. Errors of servers are replies."""
        if len(requests) == 1:
            return [self._send_one(requests[0])]
        with self._client.pipeline(transaction=False) as pipeline:
            for request in requests:
                pipeline.execute_command(*request, **self._target(request))
            replies: list[Any] = pipeline.execute(raise_on_error=False)
        for reply in replies:
            if is_interruption(reply):
                raise reply
        return replies

    def _send_one(self, request: Request) -> Any:
        try:
            return self._client.execute_command(*request)
        except redis.ResponseError as refusal:
            return refusal

    def _target(self, request: Request) -> dict[str, Any]:
        """Return the node of an XREADGROUP: redis-py would ask a node for its keys each time."""
        if not self._is_cluster or request[0] != "XREADGROUP":
            return {}
        return {"target_nodes": self._client.get_node_from_key(request[-2])}


def _performed(
    operation: Callable[Concatenate[Operations, P], Operation[T]],
) -> Callable[Concatenate[Any, P], T]:
    """Make a method of an operation: it runs that of `self._operations`."""

    def call(self: Any, *args: P.args, **options: P.kwargs) -> T:
        result: T = self._perform(operation(self._operations, *args, **options))
        return result

    return described(call, operation)  # type: ignore[no-any-return]


class Stream:
    """A stream in partitions, on a server or a cluster: `partitioned.on(client)`.

    Every method raises redis-py's errors.
    """

    def __init__(
        self, partitioned: Partitions, client: Any, tracing: Tracing | None = None
    ) -> None:
        self.partitioned = partitioned
        self._client = client
        self._operations = StreamOperations(partitioned, client, tracing)
        self._perform = Performer(client)

    def __repr__(self) -> str:
        return f"{self.partitioned!r}.on({type(self._client).__name__})"

    add = _performed(StreamOperations.add)
    add_many = _performed(StreamOperations.add_many)
    length = _performed(StreamOperations.length)
    history = _performed(StreamOperations.history)

    def group(self, name: str, consumer: str) -> Group:
        """Returns a consumer of a group over all partitions."""
        return Group(GroupOperations(self.partitioned, name, consumer), self._perform)


class Group:
    """A consumer of a group over all partitions. Every method raises redis-py's errors.

    Iteration yields the entries that are pending for the consumer, then new ones, without end.
    Reads are rounds over all partitions, a pipeline for each node. The order of a key is kept as
    long as one consumer reads: share the partitions by rillway.consumer.Consumer.
    """

    def __init__(self, operations: GroupOperations, perform: Performer) -> None:
        self._operations = operations
        self._perform = perform

    create = _performed(GroupOperations.create)
    read = _performed(GroupOperations.read)
    ack = _performed(GroupOperations.ack)
    claim = _performed(GroupOperations.claim)
    pending = _performed(GroupOperations.pending)

    def __iter__(self) -> Iterator[Entry]:
        after = dict.fromkeys(range(self._operations.stream.partitions), "0")
        while after:
            yield from self._perform(self._operations.read_backlog(after, count=10))
        while True:
            yield from self.read(block_ms=0)
