"""The requests of a consumer to its group: read, claim, acknowledge, move. One or two per method.

Parses the replies, and creates a missing group. consumer.py decides what to read, when to claim and
how to handle failures.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import redis
import redis.asyncio

from rillway.consumer.entry import Entry, id_order, paired, streams_reply
from rillway.dead_letter import dead_letter

# The beginnings of errors for a missing stream or group. Redis 7.0 wakes a blocked reader with
# UNBLOCKED when the stream is deleted; "no such key" is XINFO's.
LOST = ("NOGROUP", "UNBLOCKED", "no such key")


def is_lost(error: redis.ResponseError) -> bool:
    """Return True if the error means that the stream or the group does not exist."""
    return str(error).startswith(LOST)


class Group:
    """A group's requests for one consumer. Every method raises redis-py's errors."""

    def __init__(
        self, client: redis.asyncio.Redis, stream: str, group: str, consumer: str, start: str
    ) -> None:
        # redis-py's annotations cover every protocol and setting; the callbacks below fix one.
        self._client: Any = client
        self._stream = stream
        self._group = group
        self._consumer = consumer
        self._start = start
        # The group's last known position: the last ID that it has delivered.
        self._position: str | None = None
        for command in ("XREADGROUP", "XPENDING", "XCLAIM"):
            self._client.set_response_callback(command, _unchanged)

    async def ensure(self) -> None:
        """Creates the group if it is missing, and the stream with it."""
        first_id = await self._first_id()
        try:
            await self._client.xgroup_create(self._stream, self._group, first_id, mkstream=True)
        except redis.ResponseError as error:
            if not str(error).startswith("BUSYGROUP"):
                raise
        for group in await self._client.xinfo_groups(self._stream):
            if group["name"] == self._group.encode():
                self._position = group["last-delivered-id"].decode()

    async def _first_id(self) -> str:
        """The ID after which a missing group begins.

        A lost group continues from its last known position, so that it may repeat entries but skips
        none. If the whole stream was lost and created again, that is its beginning.
        """
        if self._position is None:
            return self._start
        last_id = "0-0"
        try:
            stream = await self._client.xinfo_stream(self._stream)
            last_id = stream["last-generated-id"].decode()
        except redis.ResponseError as error:
            if not is_lost(error):
                raise
        return self._position if id_order(last_id) >= id_order(self._position) else "0"

    async def read_new(self, count: int, block_ms: int | None) -> list[Entry]:
        """Entries not yet delivered to the group. `block_ms`: how long to wait; None: do not."""
        block = [] if block_ms is None else ["BLOCK", block_ms]
        found = [
            Entry(entry_id, paired(flat))
            for entry_id, flat in await self._read(">", "COUNT", count, *block)
            if flat is not None
        ]
        if found:
            self._position = found[-1].id
        return found

    async def read_backlog(self, after: str) -> Entry | None:
        """The next entry of this consumer's backlog: delivered to it, but not acknowledged.

        One at a time: each read counts as another delivery, and an entry that was never tried must
        not reach the limit because another entry ends the process each time.
        """
        while True:
            found = list(await self._read(after, "COUNT", 1))
            if not found:
                return None
            after, flat = found[0]
            if flat is None:  # deleted from the stream: there is nothing left to handle
                await self.acknowledge([after])
            elif deliveries := await self._deliveries(after):
                return Entry(after, paired(flat), deliveries)

    async def _read(self, entry_id: str, *options: Any) -> list[tuple[str, list[bytes] | None]]:
        reply = await self._client.execute_command(
            *("XREADGROUP", "GROUP", self._group, self._consumer, *options),
            *("STREAMS", self._stream, entry_id),
        )
        return list(streams_reply(reply))

    async def _deliveries(self, entry_id: str) -> int:
        """Return how often an entry was delivered, or 0 if it is not pending for this consumer."""
        reply = await self._client.execute_command(*self._pending_request(entry_id))
        return int(reply[0][3]) if reply else 0

    def _pending_request(self, entry_id: str) -> tuple[Any, ...]:
        return ("XPENDING", self._stream, self._group, entry_id, entry_id, 1, self._consumer)

    async def find_idle(self, idle_ms: int, count: int) -> list[tuple[str, int]]:
        """The first entries, of any consumer, that were idle for that long.

        As (ID, number of deliveries).
        """
        reply = await self._client.execute_command(
            "XPENDING", self._stream, self._group, "IDLE", idle_ms, "-", "+", count
        )
        return [(entry_id.decode(), int(deliveries)) for entry_id, _, _, deliveries in reply]

    async def claim(self, entry_id: str, idle_ms: int, deliveries: int) -> Entry | None:
        """Claims an entry, which counts as a delivery; None if another consumer was faster.

        `deliveries` is the count of `find_idle`. It is still right, because after another claim the
        idle time would be too short.
        """
        reply = await self._client.execute_command(
            "XCLAIM", self._stream, self._group, self._consumer, idle_ms, entry_id
        )
        for claimed in filter(None, reply):  # no entry, or nil, where it was deleted
            return Entry(entry_id, paired(claimed[1]), deliveries + 1)
        return None

    async def still_owned(self, entry_ids: Sequence[str]) -> list[str]:
        """The entries that still belong to this consumer."""
        async with self._client.pipeline(transaction=False) as pipeline:
            for entry_id in entry_ids:
                pipeline.execute_command(*self._pending_request(entry_id))
            replies = await pipeline.execute()
        return [entry_id for entry_id, reply in zip(entry_ids, replies, strict=True) if reply]

    async def set_idle(self, entry_ids: Sequence[str], idle_ms: int) -> None:
        """Sets the idle time of this consumer's entries; does not count as a delivery."""
        request = ("XCLAIM", self._stream, self._group, self._consumer, 0, *entry_ids)
        await self._client.execute_command(*request, "IDLE", idle_ms, "JUSTID")

    async def acknowledge(self, entry_ids: Sequence[str]) -> int:
        """Acknowledges entries; returns how many of them were pending."""
        acknowledged: int = await self._client.xack(self._stream, self._group, *entry_ids)
        return acknowledged

    async def move(self, entry: Entry, target: str, reason: str) -> int:
        """Adds the entry to another stream and acknowledges it here, both or neither.

        Returns the reply of XACK. Raises TypeError if `target` is not a stream: in a transaction
        the XADD would fail, but the XACK would run.
        """
        kind = await self._client.type(target)
        if kind not in (b"stream", b"none"):
            raise TypeError(f"the key {target} is a {kind.decode()}, not a stream")
        words = dead_letter(
            [word for pair in entry.pairs for word in pair],
            stream=self._stream,
            group=self._group,
            consumer=self._consumer.encode(),
            entry_id=entry.id,
            deliveries=entry.deliveries,
            delivered_ms=await self._delivered_ms(entry.id),
            error=reason,
        )
        async with self._client.pipeline(transaction=True) as pipeline:
            pipeline.execute_command("XADD", target, "*", *words)
            pipeline.xack(self._stream, self._group, entry.id)
            _, acknowledged = await pipeline.execute()
        return int(acknowledged)

    async def _delivered_ms(self, entry_id: str) -> int | None:
        """When an entry of this consumer was last delivered or renewed; None if not pending."""
        async with self._client.pipeline(transaction=False) as pipeline:
            pipeline.execute_command(*self._pending_request(entry_id))
            pipeline.time()
            pending, (seconds, microseconds) = await pipeline.execute()
        if not pending:
            return None
        return int(seconds) * 1000 + int(microseconds) // 1000 - int(pending[0][2])


def _unchanged(response: Any, **options: Any) -> Any:
    return response
