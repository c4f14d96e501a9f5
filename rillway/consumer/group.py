"""The requests of a consumer to its group: read, claim, acknowledge, move. One or two per method.

Parses the replies, and creates a missing group. consumer.py decides what to read, when to claim and
how to handle failures.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import redis

from rillway.consumer.delays import Delays
from rillway.consumer.entry import Entry, id_order, paired, streams_reply
from rillway.consumer.nodes import Nodes
from rillway.dead_letter import Cause, dead_letter

# The beginnings of errors for a missing stream or group. Redis 7.0 wakes a blocked reader with
# UNBLOCKED when the stream is deleted; "no such key" is XINFO's.
LOST = ("NOGROUP", "UNBLOCKED", "no such key")

# No entry is idle for so long.
NEVER_IDLE_MS = 10**12
# A longer reason is refused.
REASON_BYTES = 512


def is_lost(error: redis.ResponseError) -> bool:
    """Return True if the error means that the stream or the group does not exist."""
    return str(error).startswith(LOST)


class Group:
    """A group's requests for one consumer. Every method raises redis-py's errors."""

    def __init__(self, nodes: Nodes, stream: str, group: str, consumer: str, start: str) -> None:
        self._nodes = nodes
        self._stream = stream
        self._group = group
        self._consumer = consumer
        self._start = start
        # The group's last known position: the last ID that it has delivered.
        self._position: str | None = None

    async def ensure(self) -> None:
        """Creates the group if it is missing, and the stream with it."""
        first_id = await self._first_id()
        try:
            await self._execute("XGROUP", "CREATE", self._stream, self._group, first_id, "MKSTREAM")
        except redis.ResponseError as error:
            if not str(error).startswith("BUSYGROUP"):
                raise
        for flat in await self._execute("XINFO", "GROUPS", self._stream):
            group = dict(paired(flat))
            if group[b"name"] == self._group.encode():
                self._position = group[b"last-delivered-id"].decode()

    async def _execute(self, *words: Any) -> Any:
        return await self._nodes.execute(self._stream, *words)

    async def _first_id(self) -> str:
        """Return the ID after which a missing group begins.

        A lost group continues from its last known position, so that it may repeat entries but skips
        none. If the whole stream was lost and created again, that is its beginning.
        """
        if self._position is None:
            return self._start
        last_id = "0-0"
        try:
            stream = dict(paired(await self._execute("XINFO", "STREAM", self._stream)))
            last_id = stream[b"last-generated-id"].decode()
        except redis.ResponseError as error:
            if not is_lost(error):
                raise
        return self._position if id_order(last_id) >= id_order(self._position) else "0"

    async def read_new(
        self, count: int, block_ms: int | None, *, redelivers: bool = False
    ) -> list[Entry]:
        """Entries not yet delivered to the group. `block_ms`: how long to wait; None: do not.

        `redelivers`: the server also returns entries that were delivered before.
        """
        options = [] if block_ms is None else ["BLOCK", block_ms]
        if redelivers:
            options += ["CLAIM", NEVER_IDLE_MS]  # claims nothing, but replies have deliveries
        found = [
            Entry(entry_id, paired(flat), deliveries, self._stream)
            for entry_id, flat, deliveries in await self._read(">", "COUNT", count, *options)
            if flat is not None
        ]
        for entry in found:
            if self._position is None or id_order(entry.id) > id_order(self._position):
                self._position = entry.id
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
            after, flat, _ = found[0]
            if flat is None:  # deleted from the stream: there is nothing left to handle
                await self.acknowledge([after])
            elif deliveries := await self._deliveries(after):
                return Entry(after, paired(flat), deliveries, self._stream)

    async def _read(
        self, entry_id: str, *options: Any
    ) -> list[tuple[str, list[bytes] | None, int]]:
        reply = await self._execute(
            *("XREADGROUP", "GROUP", self._group, self._consumer, *options),
            *("STREAMS", self._stream, entry_id),
        )
        return list(streams_reply(reply))

    async def _deliveries(self, entry_id: str) -> int:
        """Return how often an entry was delivered, or 0 if it is not pending for this consumer."""
        reply = await self._execute(*self._pending_request(entry_id))
        return int(reply[0][3]) if reply else 0

    def _pending_request(self, entry_id: str) -> tuple[Any, ...]:
        return ("XPENDING", self._stream, self._group, entry_id, entry_id, 1, self._consumer)

    async def find_idle(self, idle_ms: int, count: int) -> list[tuple[str, int]]:
        """Return the first entries, of any consumer, that were idle for this time.

        They are (ID, number of deliveries).
        """
        reply = await self._execute(
            "XPENDING", self._stream, self._group, "IDLE", idle_ms, "-", "+", count
        )
        return [(entry_id.decode(), int(deliveries)) for entry_id, _, _, deliveries in reply]

    async def consumers_with_entries(self) -> list[str]:
        """Return the consumers, including this one, that have pending entries."""
        reply = await self._execute("XINFO", "CONSUMERS", self._stream, self._group)
        facts = [dict(paired(flat)) for flat in reply]
        return [fact[b"name"].decode() for fact in facts if fact[b"pending"]]

    async def find_pending(
        self, start: str, count: int, of: str | None = None
    ) -> list[tuple[str, str, int]]:
        """Return pending entries from an ID on, of one consumer or all, with their deliveries."""
        owner = () if of is None else (of,)
        request = ("XPENDING", self._stream, self._group, start, "+", count, *owner)
        reply = await self._execute(*request)
        return [
            (entry_id.decode(), owner.decode(errors="replace"), int(deliveries))
            for entry_id, owner, _, deliveries in reply
        ]

    async def claim(self, entry_id: str, idle_ms: int, deliveries: int) -> Entry | None:
        """Claims an entry, which counts as a delivery; None if another consumer was faster.

        `deliveries` is the count of `find_idle`. It is still right, because after another claim the
        idle time would be too short.
        """
        reply = await self._execute(
            "XCLAIM", self._stream, self._group, self._consumer, idle_ms, entry_id
        )
        for claimed in filter(None, reply):  # no entry, or nil, if it was deleted
            return Entry(entry_id, paired(claimed[1]), deliveries + 1, self._stream)
        return None

    async def still_owned(self, entry_ids: Sequence[str]) -> list[str]:
        """Return the entries that still belong to this consumer."""
        requests = [self._pending_request(entry_id) for entry_id in entry_ids]
        replies = await self._nodes.execute_all(self._stream, requests)
        return [entry_id for entry_id, reply in zip(entry_ids, replies, strict=True) if reply]

    async def set_idle(self, entry_ids: Sequence[str], idle_ms: int) -> None:
        """Sets the idle time of this consumer's entries; does not count as a delivery."""
        request = ("XCLAIM", self._stream, self._group, self._consumer, 0, *entry_ids)
        await self._execute(*request, "IDLE", idle_ms, "JUSTID")

    async def take_delivery_back(self, entry_ids: Sequence[str]) -> None:
        """Sets the number of deliveries of this consumer's entries to 0."""
        request = ("XCLAIM", self._stream, self._group, self._consumer, 0, *entry_ids)
        await self._execute(*request, "RETRYCOUNT", 0, "JUSTID")

    async def acknowledge(self, entry_ids: Sequence[str]) -> int:
        """Acknowledges entries; returns how many of them were pending."""
        return int(await self._execute("XACK", self._stream, self._group, *entry_ids))

    async def give_back(
        self, entry_ids: Sequence[str], mode: str, reason: str = "", delay_ms: int | None = None
    ) -> None:
        """Gives entries back to a group whose server delivers them again (XNACK)."""
        options: list[Any] = [] if delay_ms is None else ["DELAY", delay_ms]
        if reason:
            options += ["REASON", reason.encode(errors="backslashreplace")[:REASON_BYTES]]
        await self._execute(
            *("XNACK", self._stream, self._group, mode, "IDS", len(entry_ids), *entry_ids), *options
        )

    async def postpone(self, entry: Entry, delays: Delays, delay_ms: int) -> None:
        """Adds the entry to its stream later and acknowledges it now, both or neither."""
        added = await delays.requests(entry.pairs, delay_ms)
        acknowledged = ("XACK", self._stream, self._group, entry.id)
        await self._nodes.transaction(self._stream, [*added, acknowledged])

    async def move(self, entry: Entry, target: str, cause: Cause, reason: str) -> int:
        """Adds the entry to another stream and acknowledges it here, both or neither.

        Returns the reply of XACK. Raises TypeError if `target` is not a stream: in a transaction
        the XADD would fail, but the XACK would run.
        """
        kind = await self._nodes.execute(target, "TYPE", target)
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
            cause=cause,
            error=reason,
        )
        requests = [
            ("XADD", target, "*", *words),
            ("XACK", self._stream, self._group, entry.id),
        ]
        _, acknowledged = await self._nodes.transaction(self._stream, requests)
        return int(acknowledged)

    async def _delivered_ms(self, entry_id: str) -> int | None:
        """Return when an entry was last delivered or renewed; None if it is not pending."""
        requests: list[tuple[Any, ...]] = [self._pending_request(entry_id), ("TIME",)]
        pending, (seconds, microseconds) = await self._nodes.execute_all(self._stream, requests)
        if not pending:
            return None
        return int(seconds) * 1000 + int(microseconds) // 1000 - int(pending[0][2])
