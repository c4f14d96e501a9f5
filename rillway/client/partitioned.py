"""`PartitionedStream`: the public name of a stream in partitions, to be bound to a client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import overload

import redis
import redis.asyncio

from rillway.client.asyncio import AsyncStream
from rillway.client.partitions import Partitions
from rillway.client.sync import Stream


@dataclass(frozen=True)
class PartitionedStream(Partitions):
    """`PartitionedStream("orders", partitions=16)`: names only; `on` binds it to a client.

    The number of partitions must never change: keys would move to other partitions.
    `key_field` names the field that has the key, if entries are to carry it: `add` writes it, and
    `history` then returns the entries of one key only.

    Raises ValueError for a name with braces, which would be the hash tag, or for a number of
    partitions that is not from 1 to 16,384.
    """

    @overload
    def on(
        self,
        client: redis.Redis | redis.RedisCluster,
        *,
        trace: bool = ...,
        inject_always: bool = ...,
    ) -> Stream: ...

    @overload
    def on(
        self,
        client: redis.asyncio.Redis | redis.asyncio.RedisCluster,
        *,
        trace: bool = ...,
        inject_always: bool = ...,
    ) -> AsyncStream: ...

    def on(
        self,
        client: redis.Redis | redis.RedisCluster | redis.asyncio.Redis | redis.asyncio.RedisCluster,
        *,
        trace: bool = False,
        inject_always: bool = False,
    ) -> Stream | AsyncStream:
        """The stream on a server or a cluster, accessed by a redis-py client.

        With a client of redis.asyncio its methods are coroutines.

        - `trace`: make an OpenTelemetry span for each XADD or pipeline, and write its context into
          the entries (rillway/client/tracing.py);
        - `inject_always`: write it also if the span is not sampled.

        Raises ImportError if `trace` is set and the extra `otel` is not installed.
        """
        tracing = None
        if trace:
            from rillway.client.tracing import Tracing  # needs an extra

            tracing = Tracing(self.name, inject_always=inject_always)
        if isinstance(client, redis.asyncio.Redis | redis.asyncio.RedisCluster):
            return AsyncStream(self, client, tracing)
        return Stream(self, client, tracing)
