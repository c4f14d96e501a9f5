"""An asyncio consumer of a group: of one stream, or of its share of a stream's partitions.

The consumer detects by itself if the server is a cluster (rillway/consumer/nodes.py).
rillway/consumer/worker.py handles a stream, with its guarantees; rillway/consumer/shares.py chooses
the partitions.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from rillway.client.operations import as_bytes
from rillway.client.partitions import Partitions
from rillway.consumer.delays import Delays
from rillway.consumer.entry import delay_ms
from rillway.consumer.nodes import Nodes
from rillway.consumer.shares import Shares
from rillway.consumer.worker import Counts, Handler, Worker, WorkerSettings

if TYPE_CHECKING:
    from rillway.consumer.tracing import Tracing


class Consumer:
    """A consumer of a group: `await Consumer(url, stream=..., group=..., name=...).run(handle)`."""

    def __init__(
        self,
        url: str,
        *,
        stream: str | Partitions,
        group: str,
        name: str,
        start: str = "0",
        count: int = 10,
        block_ms: int = 5_000,
        claim_idle_ms: int | None = None,
        max_deliveries: int | None = None,
        dead_letters: str | None = None,
        lease_ms: int = 6_000,
        trace: bool = False,
        client_options: Mapping[str, Any] | None = None,
    ) -> None:
        """A consumer called `name`; no other running consumer of the group may have that name.

        - `url`: the server, or any node of a cluster;
        - `stream`: its key; or a stream in partitions, of which the group's consumers have equal
          shares: handlers of different partitions then run at the same time;
        - `start`: the ID after which a new group begins: "0" for all entries of the stream, "$" for
          those added from now on;
        - `count`: how many new entries to read at once;
        - `block_ms`: how long one read waits for new entries, 0 for ever;
        - `claim_idle_ms`: take over entries that were idle for this time, this consumer's own
          failures among them. None: failed entries are tried again when it runs next;
        - `max_deliveries` and `dead_letters`: an entry that has failed, or has ended its consumers,
          that number of times goes to that stream. Each partition has a stream of its own for
          dead letters (`orders:dead:{3}`), and `dead_letters` stays None;
        - `lease_ms`: when a consumer is dead for this time, others take its partitions;
        - `trace`: make a span for each entry (rillway/consumer/tracing.py);
        - `client_options`: more arguments for redis-py's connections, as `from_url` has them.

        Raises ValueError for settings that make no sense, and ImportError if `trace` is set and the
        extra `otel` is not installed.
        """
        partitioned = isinstance(stream, Partitions)
        if partitioned and dead_letters is not None:
            raise ValueError("each partition has its own dead letters")
        if not partitioned and (max_deliveries is None) != (dead_letters is None):
            raise ValueError("max_deliveries and dead_letters belong together")
        if dead_letters == stream:
            raise ValueError("dead letters cannot go to the stream that they come from")
        at_least_one = {
            "count": count,
            "claim_idle_ms": claim_idle_ms,
            "max_deliveries": max_deliveries,
            "lease_ms": lease_ms,
        }
        for setting, value in at_least_one.items():
            if value is not None and value < 1:
                raise ValueError(f"{setting} must be at least 1")
        if block_ms < 0:
            raise ValueError("block_ms must not be negative")
        self.name = name
        self.counts = Counts()
        self._trace = trace
        self._nodes = Nodes(url, client_options or {})
        self._settings = WorkerSettings(
            group, name, start, count, block_ms, claim_idle_ms, max_deliveries, lease_ms
        )
        self._stream = stream
        self._work: Worker | Shares
        if isinstance(stream, Partitions):
            self._work = self._shares(stream, lease_ms)
        else:
            self._work = self._worker(stream, dead_letters)

    def stop(self) -> None:
        """Stops `run`, after the running handler has returned and its entry is acknowledged."""
        self._work.stop()

    async def delay(
        self,
        fields: Mapping[Any, Any],
        in_: float | timedelta,
        *,
        key: str | bytes | None = None,
    ) -> None:
        """Add an entry to the stream after a time, in seconds; `key` chooses its partition.

        A server that is no Rillway keeps it in a sorted set (rillway/consumer/delays.py) until a
        running consumer of the stream adds it. Raises ValueError for a negative time, for no
        fields, and for a key that is missing or too many.
        """
        wait_ms = delay_ms(in_)
        if not fields:
            raise ValueError("expected fields: an entry has at least one")
        if (key is None) == isinstance(self._stream, Partitions):
            raise ValueError("a stream in partitions needs a key, and no other does")
        if isinstance(self._stream, Partitions):
            assert key is not None
            stream = self._stream.stream(self._stream.partition(key))
        else:
            stream = self._stream
        await self._nodes.refresh()
        pairs = [(as_bytes(name), as_bytes(value)) for name, value in fields.items()]
        await Delays(self._nodes, stream).add(pairs, wait_ms)

    async def aclose(self) -> None:
        """Close connections that `delay` opened; `run` closes its own when it ends."""
        await self._nodes.aclose()

    @property
    def partitions(self) -> list[int]:
        """The partitions that this consumer has at the moment, if the stream has partitions."""
        return self._work.partitions if isinstance(self._work, Shares) else []

    async def run(self, handle: Handler) -> None:
        """Calls `handle` with entries, one after the other, until `stop` is called.

        In a stream with partitions, only those of the same partition come one after the other.

        An exception in `handle` leaves the entry pending. Lost connections and groups are restored,
        with retries without limit. Raises GiveUp if the handler does, those of redis-py's errors
        that a retry cannot solve (a wrong password, a key that is not a stream), and its
        ConnectionError if, at the end, handled entries could not be acknowledged.
        """
        try:
            await self._work.run(handle)
        finally:
            await self._nodes.aclose()

    def _shares(self, stream: Partitions, lease_ms: int) -> Shares:
        buries = self._settings.max_deliveries is not None

        def make_worker(partition: int) -> Worker:
            return Worker(
                self._nodes,
                stream.stream(partition),
                self._settings,
                self.counts,
                dead_letters=stream.dead_letters(partition) if buries else None,
                tracing=self._tracing(stream.name, partition),
                exclusive=True,
            )

        self._tracing(stream.name, 0)  # fails now if `trace` needs an extra that is missing
        return Shares(
            self._nodes,
            stream,
            group=self._settings.group,
            name=self.name,
            lease_ms=lease_ms,
            make_worker=make_worker,
        )

    def _worker(self, stream: str, dead_letters: str | None) -> Worker:
        tracing = self._tracing(stream)
        return Worker(
            self._nodes,
            stream,
            self._settings,
            self.counts,
            dead_letters=dead_letters,
            tracing=tracing,
        )

    def _tracing(self, stream: str, partition: int | None = None) -> Tracing | None:
        if not self._trace:
            return None
        from rillway.consumer.tracing import Tracing  # needs an extra

        server = self._nodes.options
        return Tracing(
            stream=stream, group=self._settings.group, server=server, partition=partition
        )
