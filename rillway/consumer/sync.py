"""A consumer for handlers that are plain functions: the asyncio one, in a loop of its own.

The handler runs in a thread beside the loop, which renews the entry meanwhile, however long the
handler blocks. One entry is handled at a time; in a stream with partitions, one in each partition.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from datetime import timedelta
from functools import partial
from typing import Any, TypeAlias

from rillway.consumer.consumer import Consumer
from rillway.consumer.entry import Entry
from rillway.consumer.worker import Counts

PlainHandler: TypeAlias = Callable[[Entry], None]


class SyncConsumer:
    """A consumer of a group: `SyncConsumer(url, stream=..., group=..., name=...).run(handle)`."""

    def __init__(self, url: str, **settings: Any) -> None:
        """Settings as of `Consumer`. Raises ValueError and ImportError as it does."""
        self._make = partial(Consumer, url, **settings)
        self._consumer = self._make()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_stopped = False

    @property
    def counts(self) -> Counts:
        return self._consumer.counts

    @property
    def partitions(self) -> list[int]:
        """The partitions that this consumer has at the moment, if the stream has partitions."""
        return self._consumer.partitions

    def run(self, handle: PlainHandler) -> None:
        """Calls `handle` with entries until `stop` is called; raises what `Consumer.run` raises."""

        async def handle_in_thread(entry: Entry) -> None:
            await asyncio.to_thread(handle, entry)

        async def run() -> None:
            self._loop = asyncio.get_running_loop()
            if self._is_stopped:
                self._consumer.stop()
            await self._consumer.run(handle_in_thread)

        try:
            asyncio.run(run())
        finally:
            self._loop = None

    def stop(self) -> None:
        """Stops `run`, after running handlers have returned; from any thread or signal handler."""
        self._is_stopped = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._consumer.stop)

    def delay(
        self,
        fields: Mapping[Any, Any],
        in_: float | timedelta,
        *,
        key: str | bytes | None = None,
    ) -> None:
        """Add an entry to the stream after a time, in seconds, as `Consumer.delay`."""

        async def add(consumer: Consumer) -> None:
            await consumer.delay(fields, in_, key=key)

        async def add_alone() -> None:
            alone = self._make()
            try:
                await add(alone)
            finally:
                await alone.aclose()

        if self._loop is None:
            asyncio.run(add_alone())
        else:
            self._wait(add(self._consumer), self._loop)

    @staticmethod
    def _wait(work: Coroutine[Any, Any, None], loop: asyncio.AbstractEventLoop) -> None:
        asyncio.run_coroutine_threadsafe(work, loop).result()
