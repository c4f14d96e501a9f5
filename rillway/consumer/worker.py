"""An asyncio consumer of a group: handles its backlog, then new entries and claimed idle ones.

Guarantees: an entry is acknowledged only after its handler has returned, so every entry is handled
at least once, even if consumers crash. With a delivery limit, an entry that cannot be handled goes
to the dead-letter stream; no entry is dropped.

Leaves out: handling several entries at once (run more consumers), and exactly-once processing,
which a consumer alone cannot guarantee: it may crash after the handler's work is done and before
the acknowledgement.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import redis
import redis.asyncio
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from rillway.consumer.entry import Entry
from rillway.consumer.group import Group, is_lost

if TYPE_CHECKING:
    from rillway.consumer.tracing import Tracing

Handler: TypeAlias = Callable[[Entry], Awaitable[None]]

SOCKET_TIMEOUT_SECONDS = 10.0
# The share of the socket's timeout that a read may block: longer would count as a lost connection.
LONGEST_BLOCK = 0.5
# How often leases are renewed and idle entries are searched, within the idle time.
RENEWALS, CLAIMS = 3, 2
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.05, 5.0
# The time at the end to acknowledge entries that were handled while the connection was lost.
CLOSING_SECONDS = 5.0
CANCEL_SECONDS = 0.05

INTERRUPTIONS = (redis.ConnectionError, redis.TimeoutError, OSError)
# Subclasses of ConnectionError in redis-py, for which waiting does not help.
REFUSALS = (redis.AuthenticationError, redis.exceptions.AuthorizationError)

log = logging.getLogger("rillway.consumer")


class GiveUp(Exception):
    """Raised by a handler that cannot handle anything: the entry stays pending, `run` raises it."""


@dataclass(slots=True)
class Counts:
    """A consumer's counters; all count entries, except `interruptions`."""

    new: int = 0  #: delivered for the first time
    backlog: int = 0  #: delivered to this consumer before, and not acknowledged
    claimed: int = 0  #: taken over, from others or from itself, because they were left idle
    acknowledged: int = 0  #: handled, and acknowledged by this consumer
    failed: int = 0  #: handlers that raised
    dead_lettered: int = 0  #: moved to the dead letters
    lost: int = 0  #: taken over by others before their turn came
    interruptions: int = 0  #: of the connection, or a group that had to be made again


class Consumer:
    """A consumer of a group: `await Consumer(url, stream=..., group=..., name=...).run(handle)`."""

    def __init__(
        self,
        url: str,
        *,
        stream: str,
        group: str,
        name: str,
        start: str = "0",
        count: int = 10,
        block_ms: int = 5_000,
        claim_idle_ms: int | None = None,
        max_deliveries: int | None = None,
        dead_letters: str | None = None,
        trace: bool = False,
        client_options: Mapping[str, Any] | None = None,
    ) -> None:
        """A consumer called `name`; no other running consumer of the group may have that name.

        - `start`: the ID after which a new group begins: "0" for all entries of the stream, "$" for
          those added from now on;
        - `count`: how many new entries to read at once;
        - `block_ms`: how long one read waits for new entries, 0 for ever;
        - `claim_idle_ms`: take over entries that were idle for this time, this consumer's own
          failures among them. None: failed entries are tried again when it runs next;
        - `max_deliveries` and `dead_letters`: an entry that has failed, or has ended its consumers,
          that number of times goes to that stream;
        - `trace`: make a span for each entry (rillway/consumer/tracing.py);
        - `client_options`: more arguments for redis-py's `from_url`.

        Raises ValueError for settings that make no sense, and ImportError if `trace` is set and the
        extra `otel` is not installed.
        """
        if (max_deliveries is None) != (dead_letters is None):
            raise ValueError("max_deliveries and dead_letters belong together")
        if dead_letters == stream:
            raise ValueError("dead letters cannot go to the stream that they come from")
        at_least_one = {
            "count": count,
            "claim_idle_ms": claim_idle_ms,
            "max_deliveries": max_deliveries,
        }
        for setting, value in at_least_one.items():
            if value is not None and value < 1:
                raise ValueError(f"{setting} must be at least 1")
        if block_ms < 0:
            raise ValueError("block_ms must not be negative")
        self.name = name
        self.counts = Counts()
        self._count = count
        self._block_ms = block_ms
        self._claim_idle_ms = claim_idle_ms
        self._max_deliveries = max_deliveries
        self._dead_letters = dead_letters
        self._client = _client(url, client_options or {})
        self._group = Group(self._client, stream, group, name, start)
        self._tracing: Tracing | None = None
        if trace:
            from rillway.consumer.tracing import Tracing  # needs an extra

            server = self._client.connection_pool.connection_kwargs
            self._tracing = Tracing(stream=stream, group=group, server=server)
        self._stopping = asyncio.Event()
        self._held: deque[Entry] = deque()  # delivered, not yet handled; the first is in progress
        self._done: list[str] = []  # handled, not yet acknowledged
        self._renewed = self._next_claim = 0.0  # on the loop's clock
        self._attempts = 0

    def stop(self) -> None:
        """Stops `run`, after the running handler has returned and its entry is acknowledged."""
        self._stopping.set()

    async def run(self, handle: Handler) -> None:
        """Calls `handle` with entries, one after the other, until `stop` is called.

        An exception in `handle` leaves the entry pending. Lost connections and groups are restored,
        with retries without limit. Raises GiveUp if the handler does, those of redis-py's errors
        that a retry cannot solve (a wrong password, a key that is not a stream), and its
        ConnectionError if, at the end, handled entries could not be acknowledged.
        """
        try:
            while not self._stopping.is_set():
                try:
                    await self._open()
                    await self._consume(handle)
                except REFUSALS:
                    raise
                except INTERRUPTIONS as error:
                    await self._pause(error)
                except redis.ResponseError as error:
                    if not is_lost(error):
                        raise
                    await self._pause(error)
            await self._close()
        finally:
            await self._client.aclose()

    # -- the connection ---------------------------------------------------------------------------

    async def _open(self) -> None:
        # First, so that the backlog does not contain handled entries.
        await self._settle()
        await self._group.ensure()

    async def _pause(self, error: Exception) -> None:
        """Waits before the next attempt: exponential backoff with jitter."""
        # They are pending, so the backlog, which is read after every interruption, returns them.
        self._held.clear()
        self.counts.interruptions += 1
        seconds = min(FIRST_PAUSE_SECONDS * 2**self._attempts, LONGEST_PAUSE_SECONDS)
        seconds *= random.uniform(0.5, 1.0)
        self._attempts += 1
        log.warning("interrupted, trying again in %.1f s: %s", seconds, error)
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)

    async def _close(self) -> None:
        """Acknowledges handled entries, and releases those that were not begun."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + CLOSING_SECONDS
        while self._done:
            try:
                await self._settle()
            except INTERRUPTIONS:
                if clock() > deadline:
                    raise
                await asyncio.sleep(FIRST_PAUSE_SECONDS)
        if self._held and self._claim_idle_ms:
            # Best effort: if it fails, other consumers find the entries idle later.
            with suppress(redis.RedisError, OSError):
                owned = await self._group.still_owned([entry.id for entry in self._held])
                if owned:
                    await self._group.set_idle(owned, self._claim_idle_ms)

    # -- reading ----------------------------------------------------------------------------------

    async def _consume(self, handle: Handler) -> None:
        """Reads and handles entries until `stop` is called."""
        await self._work_off_backlog(handle)
        while not self._stopping.is_set():
            if self._claim_idle_ms and self._now() >= self._next_claim:
                await self._claim_idle(self._claim_idle_ms, handle)
            entries = await self._read_new()
            self._attempts = 0
            self.counts.new += len(entries)
            await self._work_off(entries, handle)

    async def _work_off_backlog(self, handle: Handler) -> None:
        after = "0"
        while not self._stopping.is_set():
            entry = await self._group.read_backlog(after)
            if entry is None:
                return
            after = entry.id
            self.counts.backlog += 1
            await self._work_off([entry], handle)

    async def _claim_idle(self, idle_ms: int, handle: Handler) -> None:
        """Claims some idle entries, each just before it is handled.

        XAUTOCLAIM would claim them all at once, and does not return their delivery counts.
        """
        found = await self._group.find_idle(idle_ms, self._count)
        for entry_id, deliveries in found:
            if self._stopping.is_set():
                return
            entry = await self._group.claim(entry_id, idle_ms, deliveries)
            if entry is not None:
                self.counts.claimed += 1
                await self._work_off([entry], handle)
        if len(found) < self._count:  # else there may be more
            self._next_claim = self._now() + idle_ms / 1000 / CLAIMS

    async def _read_new(self) -> list[Entry]:
        """New entries; none if it is time to stop, to claim or to read again."""
        reading = asyncio.ensure_future(self._group.read_new(self._count, self._longest_block()))
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait({reading, stopping}, return_when=asyncio.FIRST_COMPLETED)
            return reading.result() if reading.done() else []
        finally:
            await _end(reading)
            await _end(stopping)

    def _longest_block(self) -> int | None:
        """Return the longest time in ms that a read may block now, or None if it must not block."""
        options = self._client.connection_pool.connection_kwargs  # the URL may have set it
        timeout_seconds = options["socket_timeout"] or SOCKET_TIMEOUT_SECONDS
        limits = [int(timeout_seconds * 1000 * LONGEST_BLOCK)]
        if self._block_ms:
            limits.append(self._block_ms)
        if self._claim_idle_ms:
            limits.append(int((self._next_claim - self._now()) * 1000))
        block_ms = min(limits)
        return block_ms if block_ms > 0 else None

    # -- handling ---------------------------------------------------------------------------------

    async def _work_off(self, entries: Sequence[Entry], handle: Handler) -> None:
        self._held.extend(entries)
        self._renewed = self._now()
        while self._held and not self._stopping.is_set():
            # A handler that blocks the loop (it should not) delays renewals as well.
            if self._is_due_for_renewal():
                await self._renew(first=0)
            if self._held:
                await self._handle(self._held[0], handle)
                self._held.popleft()

    async def _handle(self, entry: Entry, handle: Handler) -> None:
        if self._max_deliveries and entry.deliveries > self._max_deliveries:
            # Each time its consumer ended while handling it; `deliveries` counts the failures.
            failed = Entry(entry.id, entry.pairs, entry.deliveries - 1)
            await self._bury(failed, "no handler ever returned")
            return
        renewing = asyncio.ensure_future(self._renew_regularly())
        try:
            with self._tracing.handling(entry) if self._tracing else nullcontext():
                await handle(entry)
        except GiveUp:
            raise
        except Exception as error:
            self.counts.failed += 1
            reason = str(error) or type(error).__name__
            log.warning("%s failed, delivery %d: %s", entry.id, entry.deliveries, reason)
            if self._max_deliveries and entry.deliveries >= self._max_deliveries:
                await self._bury(entry, reason)
            return
        finally:
            await _end(renewing)
        self._done.append(entry.id)
        await self._settle()

    async def _settle(self) -> None:
        """Acknowledges handled entries."""
        if self._done:
            self.counts.acknowledged += await self._group.acknowledge(self._done)
            self._done.clear()

    async def _bury(self, entry: Entry, reason: str) -> None:
        assert self._dead_letters is not None
        try:
            moved = await self._group.move(entry, self._dead_letters, reason)
        except TypeError as error:
            raise GiveUp(f"dead letters: {error}") from error
        self.counts.dead_lettered += moved
        log.warning("%s went to %s: %s", entry.id, self._dead_letters, reason)

    # -- leases -----------------------------------------------------------------------------------

    def _is_due_for_renewal(self) -> bool:
        if not self._claim_idle_ms:
            return False
        return self._now() - self._renewed >= self._claim_idle_ms / 1000 / RENEWALS

    async def _renew_regularly(self) -> None:
        """While a handler runs, renews its entry and the waiting ones: none becomes idle."""
        while self._claim_idle_ms:
            await asyncio.sleep(self._claim_idle_ms / 1000 / RENEWALS)
            # If the connection is lost, the acknowledgement will detect it.
            with suppress(redis.RedisError, OSError):
                await self._renew(first=1)

    async def _renew(self, first: int) -> None:
        """Resets the idle time of the held entries, and drops those that others have claimed.

        `first`: the index of the first that may be dropped; an entry in progress may not.
        """
        held = [entry.id for entry in self._held]
        owned = await self._group.still_owned(held)
        if owned:
            await self._group.set_idle(owned, 0)
        self._renewed = self._now()
        lost = set(held[first:]).difference(owned)
        self.counts.lost += len(lost)
        self._held = deque(entry for entry in self._held if entry.id not in lost)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()


async def _end(task: asyncio.Future[Any]) -> None:
    """Cancels a task until it is over.

    One cancellation may not suffice: before Python 3.12 asyncio.wait_for, with which redis-py
    sends, swallows a cancellation at the moment when sending completes.
    """
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=CANCEL_SECONDS)
    if not task.cancelled():
        task.exception()  # retrieved, so that asyncio does not log it


def _client(url: str, options: Mapping[str, Any]) -> redis.asyncio.Redis:
    """A client of its own for each consumer.

    Without redis-py's retries: a repeated XREADGROUP would hide that the entries of the first, lost
    reply are now in the backlog.
    """
    return redis.asyncio.Redis.from_url(
        url,
        **{
            "socket_timeout": SOCKET_TIMEOUT_SECONDS,
            "socket_keepalive": True,
            **options,
            "retry": Retry(NoBackoff(), 0),
            "protocol": 2,
            "decode_responses": False,
        },
    )
