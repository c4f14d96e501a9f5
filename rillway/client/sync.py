"""A stream in partitions, by redis.Redis or redis.RedisCluster."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

import redis

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

if TYPE_CHECKING:
    from rillway.client.tracing import Tracing

T = TypeVar("T")


class Performer:
    """Runs operations."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._is_cluster = isinstance(client, redis.RedisCluster)

    def __call__(self, operation: Operation[T]) -> T:
        replies: Any = None
        while True:
            try:
                step = operation.send(replies)
            except StopIteration as end:
                result: T = end.value
                return result
            if isinstance(step, float):
                time.sleep(step)
                replies = []
            else:
                replies = self._send(step)

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


class Stream:
    """A stream in partitions, on a server or a cluster: `partitioned.on(client)`.

    Every method raises redis-py's errors.
    """

    def __init__(
        self, partitioned: Partitions, client: Any, tracing: Tracing | None = None
    ) -> None:
        self.partitioned = partitioned
        self._client = client
        self._tracing = tracing
        self._perform = Performer(client)

    def __repr__(self) -> str:
        return f"{self.partitioned!r}.on({type(self._client).__name__})"

    def add(self, key: Key, fields: Fields, **options: Unpack[AddOptions]) -> Any:
        """Adds an entry to the partition of its key, by XADD; returns its ID.

        Raises ValueError if there are no fields, or if the field of the key holds another key.
        """
        if self._tracing is None:
            return self._perform(add(self.partitioned, key, fields, options))
        with self._tracing.adding(self._client, self.partitioned.partition(key)) as span:
            entry_id = self._perform(add(self.partitioned, key, span.fields(fields), options))
            span.is_added(entry_id)
            return entry_id

    def add_many(
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
            return self._perform(add_many(self.partitioned, entries, options))
        with self._tracing.adding_many(self._client, create_spans=create_spans) as span:
            traced = ((key, span.fields(fields)) for key, fields in entries)
            ids = self._perform(add_many(self.partitioned, traced, options))
            span.are_added(len(ids))
            return ids

    def length(self) -> int:
        """Returns the number of entries in all partitions."""
        return self._perform(length(self.partitioned))

    def history(
        self, key: Key, start: str = "-", end: str = "+", count: int | None = None
    ) -> list[Entry]:
        """Returns the entries of a key in order, up to `count`, between two IDs as in XRANGE.

        Without a `key_field`, all entries of the key's partition.
        """
        return self._perform(history(self.partitioned, key, start, end, count))

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

    def create(self, start: str = "0") -> int:
        """Creates the group in partitions that lack it; returns their number."""
        return self._perform(self._operations.create(start))

    def read(self, count: int = 10, block_ms: int | None = None) -> list[Entry]:
        """Reads new entries, up to `count` of each partition, in the order of each.

        `block_ms`: how long to wait for some, 0 for ever; None: do not wait.
        """
        return self._perform(self._operations.read(count, block_ms))

    def ack(self, *entries: Entry) -> int:
        """Acknowledges entries; returns how many were pending."""
        return self._perform(self._operations.acknowledge(entries))

    def claim(self, min_idle_ms: int, count: int = 10) -> list[Entry]:
        """Takes over entries, of any consumer, idle that long; up to `count` of each partition."""
        return self._perform(self._operations.claim(min_idle_ms, count))

    def pending(self) -> int:
        """Returns the number of entries delivered and not acknowledged, of all consumers."""
        return self._perform(self._operations.pending())

    def __iter__(self) -> Iterator[Entry]:
        after = dict.fromkeys(range(self._operations.stream.partitions), "0")
        while after:
            yield from self._perform(self._operations.read_backlog(after, count=10))
        while True:
            yield from self.read(block_ms=0)
