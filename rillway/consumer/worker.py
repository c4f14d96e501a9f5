"""A consumer of one stream: handles its backlog, then new entries and claimed idle ones.

Guarantees: an entry is acknowledged only after its handler has returned, so every entry is handled
at least once, even if consumers crash. With a delivery limit, an entry that cannot be handled goes
to the dead-letter stream; no entry is dropped.

An *exclusive* worker has the stream to itself (rillway/consumer/shares.py). It begins with all
pending entries, whoever had them, in the order of their IDs: so the entries of a dead owner are
handled before later ones, without waiting. Its reads end before its lease can expire, so that a
dead owner's read receives nothing meant for its successor. From time to time it looks for strays:
entries that a stalled former owner read too late.

Leaves out concurrent handling (run more consumers), and exactly-once processing, which a consumer
alone cannot guarantee: it may crash between the handler's work and the acknowledgement.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import redis
import redis.asyncio

from rillway.consumer.delays import Delays
from rillway.consumer.entry import Entry
from rillway.consumer.group import Group, is_lost
from rillway.consumer.nodes import Nodes
from rillway.consumer.policy import Policy, policy_of
from rillway.dead_letter import Cause

if TYPE_CHECKING:
    from rillway.consumer.tracing import Tracing

Handler: TypeAlias = Callable[[Entry], Awaitable[None]]

# The share of the socket's timeout that a read may block: longer looks like a lost connection.
LONGEST_BLOCK = 0.5
# A read of an exclusive worker blocks for at most half of the lease: when the read begins, up to a
# third of the lease may have passed since it was renewed.
LEASE_SHARE = 2
# How often leases are renewed and idle entries are searched, within the idle time.
RENEWALS, CLAIMS = 3, 2
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.05, 5.0
# How often entries are searched that another process delayed, on a server without delays.
DELAY_LOOK_SECONDS = 1.0
# The time at the end to acknowledge entries that were handled while the connection was lost.
CLOSING_SECONDS = 5.0
CANCEL_SECONDS = 0.05

INTERRUPTIONS = (
    redis.ConnectionError,
    redis.TimeoutError,
    OSError,
    # A cluster that waits for a new primary, and keys of a slot that are half moved.
    redis.exceptions.ClusterDownError,
    redis.exceptions.TryAgainError,
)
# Subclasses of ConnectionError in redis-py, for which waiting does not help.
REFUSALS = (redis.AuthenticationError, redis.exceptions.AuthorizationError)

log = logging.getLogger("rillway.consumer")


class GiveUp(Exception):
    """Raised by a handler that cannot handle anything: the entry stays pending, `run` raises it."""


class HandlerFailed(Exception):
    """A failure that its text says all about, such as the end of a command."""


@dataclass(slots=True)
class Counts:
    """A consumer's counters; all count entries, except `interruptions`."""

    new: int = 0  #: delivered for the first time
    backlog: int = 0  #: delivered to this consumer before, and not acknowledged
    claimed: int = 0  #: taken over, from others or from itself, because they were left idle
    acknowledged: int = 0  #: handled, and acknowledged by this consumer
    failed: int = 0  #: handlers that raised
    dead_lettered: int = 0  #: moved to the dead letters
    postponed: int = 0  #: given back by `Entry.retry`, to be delivered later
    lost: int = 0  #: taken over by others before they were handled
    interruptions: int = 0  #: lost connections, and groups that had to be created again


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """The settings that all workers of a consumer share; consumer.py explains them."""

    group: str
    name: str
    start: str
    count: int
    block_ms: int
    claim_idle_ms: int | None
    max_deliveries: int | None
    lease_ms: int


class Worker:
    """A consumer of one stream."""

    def __init__(
        self,
        nodes: Nodes,
        stream: str,
        settings: WorkerSettings,
        counts: Counts,
        *,
        dead_letters: str | None,
        tracing: Tracing | None,
        exclusive: bool = False,
    ) -> None:
        self.counts = counts
        self._nodes = nodes
        self._stream = stream
        self._settings = settings
        self._policy = Policy()
        self._delays = Delays(nodes, stream)
        self._dead_letters = dead_letters
        self._exclusive = exclusive
        self._group = Group(nodes, stream, settings.group, settings.name, settings.start)
        self._tracing = tracing
        self._stopping = asyncio.Event()
        self._held: deque[Entry] = deque()  # delivered, not yet handled; the first is in progress
        self._done: list[str] = []  # handled, not yet acknowledged
        self._renewed = self._next_claim = self._next_look = 0.0  # on the loop's clock
        self._next_delay_look = 0.0
        self._next_due_ms: int | None = None  # until the next delayed entry is to be added
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

    # -- the connection ---------------------------------------------------------------------------

    async def _open(self) -> None:
        await self._nodes.refresh()
        if self._dead_letters and self._nodes.are_apart(self._stream, self._dead_letters):
            raise GiveUp(
                f"{self._stream} and {self._dead_letters} are in different slots of the cluster: "
                f"name them {{{self._stream}}} and {{{self._stream}}}:dead, for instance"
            )
        # First, so that the backlog does not contain handled entries.
        await self._settle()
        await self._group.ensure()
        self._policy = await policy_of(self._nodes, self._stream, self._settings.group)
        self._delays = Delays(self._nodes, self._stream)  # perhaps of another kind of server
        self._next_delay_look = 0.0

    @property
    def _claim_idle_ms(self) -> int | None:
        """After this time this worker claims an entry that another left. None: never.

        A server that delivers such entries again does it in place of the worker.
        """
        return None if self._policy.redelivers else self._settings.claim_idle_ms

    @property
    def _lease_ms(self) -> int | None:
        """After this time, entries that this worker holds go to others, unless it renews them."""
        return self._policy.ack_wait_ms or self._settings.claim_idle_ms

    @property
    def _max_deliveries(self) -> int | None:
        """The number of deliveries after which this worker moves an entry to the dead letters.

        A server that does that itself does it in place of the worker.
        """
        return None if self._policy.max_deliveries else self._settings.max_deliveries

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
                with suppress(*INTERRUPTIONS):
                    await self._nodes.refresh()
        if self._held and (self._lease_ms or self._exclusive):
            # Best effort: if it fails, other consumers find the entries idle later.
            with suppress(redis.RedisError, OSError):
                await self._give_back()

    async def _give_back(self) -> None:
        """Let others have at once the entries that were read and not begun."""
        owned = await self._group.still_owned([entry.id for entry in self._held])
        if self._policy.redelivers:
            if owned:
                await self._group.give_back(owned, "SILENT")
            return
        if owned and self._claim_idle_ms:
            await self._group.set_idle(owned, self._claim_idle_ms)
        if self._exclusive:
            # The next owner's claim is the delivery that counts.
            fresh = {entry.id for entry in self._held if entry.deliveries == 1}
            if untried := [entry_id for entry_id in owned if entry_id in fresh]:
                await self._group.take_delivery_back(untried)

    # -- reading ----------------------------------------------------------------------------------

    async def _consume(self, handle: Handler) -> None:
        """Reads and handles entries until `stop` is called."""
        if self._exclusive:
            await self._work_off_pending(handle)
        else:
            await self._work_off_backlog(handle)
        while not self._stopping.is_set():
            if self._exclusive and self._now() >= self._next_look:
                await self._look_for_strays(handle)
            if self._claim_idle_ms and self._now() >= self._next_claim:
                await self._claim_idle(self._claim_idle_ms, handle)
            if not self._delays.are_here and self._now() >= self._next_delay_look:
                await self._delays.look()  # another process may have delayed something
                self._next_delay_look = self._now() + DELAY_LOOK_SECONDS
            self._next_due_ms = await self._delays.move_due()
            entries = await self._read_new()
            self._attempts = 0
            for entry in entries:
                if entry.deliveries == 1:
                    self.counts.new += 1
                else:
                    self.counts.claimed += 1
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

    async def _look_for_strays(self, handle: Handler) -> None:
        """Handle entries that others read although this worker has the stream to itself."""
        for owner in await self._group.consumers_with_entries():
            if owner != self._settings.name:
                await self._work_off_pending(handle, owner)
        self._next_look = self._now() + self._settings.lease_ms / 1000

    async def _work_off_pending(self, handle: Handler, of: str | None = None) -> None:
        """Handle all entries pending for one consumer or all, each claimed just before."""
        after = "-"
        while found := await self._group.find_pending(after, self._settings.count, of):
            for entry_id, owner, deliveries in found:
                if self._stopping.is_set():
                    return
                after = f"({entry_id}"
                entry = await self._group.claim(entry_id, 0, deliveries)
                if entry is None:
                    continue
                if owner == self._settings.name:
                    self.counts.backlog += 1
                else:
                    self.counts.claimed += 1
                await self._work_off([entry], handle)

    async def _claim_idle(self, idle_ms: int, handle: Handler) -> None:
        """Claims some idle entries, each just before it is handled.

        XAUTOCLAIM would claim them all at once, and does not return their delivery counts.
        """
        found = await self._group.find_idle(idle_ms, self._settings.count)
        for entry_id, deliveries in found:
            if self._stopping.is_set():
                return
            entry = await self._group.claim(entry_id, idle_ms, deliveries)
            if entry is not None:
                self.counts.claimed += 1
                await self._work_off([entry], handle)
        if len(found) < self._settings.count:  # otherwise there may be more
            self._next_claim = self._now() + idle_ms / 1000 / CLAIMS

    async def _read_new(self) -> list[Entry]:
        """Return new entries; none if it is time to stop, to claim or to read again."""
        reading = asyncio.ensure_future(
            self._group.read_new(
                self._settings.count,
                self._longest_block(),
                redelivers=self._policy.redelivers,
            )
        )
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait({reading, stopping}, return_when=asyncio.FIRST_COMPLETED)
            return reading.result() if reading.done() else []
        finally:
            await end(reading)
            await end(stopping)

    def _longest_block(self) -> int | None:
        """Return the longest time in ms that a read may block now, or None if it must not block."""
        limits = [int(self._nodes.timeout_seconds * 1000 * LONGEST_BLOCK)]
        if self._exclusive:
            limits.append(self._settings.lease_ms // LEASE_SHARE)
        if self._settings.block_ms:
            limits.append(self._settings.block_ms)
        if self._claim_idle_ms:
            limits.append(int((self._next_claim - self._now()) * 1000))
        if self._next_due_ms is not None:
            limits.append(self._next_due_ms)
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
            await self._bury(failed, "deadline", "no handler ever returned")
            return
        renewing = asyncio.ensure_future(self._renew_regularly())
        try:
            with self._tracing.handling(entry) if self._tracing else nullcontext():
                await handle(entry)
        except GiveUp:
            raise
        except Exception as error:
            await self._fail(entry, reason_of(error))
            return
        finally:
            await end(renewing)
        if entry.verdict.is_rejected:
            await self._reject(entry)
        elif entry.verdict.retry_ms is not None:
            await self._retry(entry, entry.verdict.retry_ms)
        else:
            self._done.append(entry.id)
            await self._settle()

    async def _fail(self, entry: Entry, reason: str) -> None:
        self.counts.failed += 1
        log.warning(
            "%s failed, delivery %d: %s",
            self._name_of(entry), entry.deliveries, " ".join(reason.split()),
        )  # fmt: skip
        if self._policy.redelivers:
            await self._group.give_back([entry.id], "FAIL", reason)
            limit = self._policy.max_deliveries
            self.counts.dead_lettered += limit is not None and entry.deliveries >= limit
        if self._max_deliveries and entry.deliveries >= self._max_deliveries:
            await self._bury(entry, "failed", reason)

    async def _reject(self, entry: Entry) -> None:
        reason = entry.verdict.reason
        if self._policy.dead_letter:
            await self._group.give_back([entry.id], "FATAL", reason)
            self.counts.dead_lettered += 1
            log.warning("%s went to %s: %s", entry.id, self._policy.dead_letter, reason)
        elif self._dead_letters:
            await self._bury(entry, "fatal", reason)
        else:
            await self._fail(entry, f"rejected, and there are no dead letters: {reason}")

    async def _retry(self, entry: Entry, delay_ms: int) -> None:
        self.counts.postponed += 1
        if self._policy.redelivers:
            await self._group.give_back([entry.id], "FAIL", entry.verdict.reason, delay_ms)
        else:
            await self._group.postpone(entry, self._delays, delay_ms)

    def _name_of(self, entry: Entry) -> str:
        """Return the ID; IDs are unique within a partition only."""
        return f"{entry.id} of {self._stream}" if self._exclusive else entry.id

    async def _settle(self) -> None:
        """Acknowledges handled entries."""
        if self._done:
            acknowledged = await self._group.acknowledge(self._done)
            self.counts.acknowledged += acknowledged  # after the wait: other workers count, too
            self._done.clear()

    async def _bury(self, entry: Entry, cause: Cause, reason: str) -> None:
        assert self._dead_letters is not None
        try:
            moved = await self._group.move(entry, self._dead_letters, cause, reason)
        except TypeError as error:
            raise GiveUp(f"dead letters: {error}") from error
        self.counts.dead_lettered += moved
        log.warning("%s went to %s: %s", entry.id, self._dead_letters, reason)

    # -- leases -----------------------------------------------------------------------------------

    def _is_due_for_renewal(self) -> bool:
        if not self._lease_ms:
            return False
        return self._now() - self._renewed >= self._lease_ms / 1000 / RENEWALS

    async def _renew_regularly(self) -> None:
        """While a handler runs, renews its entry and the waiting ones: none becomes idle."""
        while self._lease_ms:
            await asyncio.sleep(self._lease_ms / 1000 / RENEWALS)
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


def reason_of(error: Exception) -> str:
    """Return what a failure is reported as: its type and text; the text alone for HandlerFailed."""
    text, name = str(error), type(error).__name__
    if isinstance(error, HandlerFailed):
        return text
    return f"{name}: {text}" if text else name


async def end(task: asyncio.Future[Any]) -> None:
    """Cancels a task until it is over.

    One cancellation may not suffice: before Python 3.12 asyncio.wait_for, with which redis-py
    sends, swallows a cancellation at the moment when sending completes.
    """
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=CANCEL_SECONDS)
    if not task.cancelled():
        task.exception()  # retrieved, so that asyncio does not log it
