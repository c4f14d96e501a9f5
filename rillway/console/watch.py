"""Drives one sampler for all viewers of a database, and keeps what the pages show over time.

A watch belongs to a link, so it sees what its user may see. It runs until it is closed, so that
history has no gaps while no page is open. All watches together take the sampler's share of the
server.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import time
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

import redis

from rillway.console.data.link import UNREACHABLE, Link
from rillway.console.data.queues import QueueWatch
from rillway.console.history import MAX_GROUPS, History, Sample
from rillway.sampler import GroupFigures, Sampler, StreamFigures

# With requests of pages and tails, and waking the server, the total stays below 1 %.
SHARE = 0.007
TICK_SECONDS = 1.0
MIN_WAIT_SECONDS, RETRY_SECONDS = 0.02, 1.0
READY_SECONDS = 3.0
TRACE_LENGTH = 300
WORST = 10


@dataclass(frozen=True, slots=True)
class GroupOfStream:
    stream: StreamFigures
    group: GroupFigures

    @property
    def weight(self) -> tuple[int, int]:
        return (self.group.lag or 0, self.group.pending)


@dataclass(slots=True)
class Traces:
    """Figures of the server over the last five minutes, for sparklines."""

    requests: deque[float | None] = field(default_factory=lambda: deque(maxlen=TRACE_LENGTH))
    memory: deque[float | None] = field(default_factory=lambda: deque(maxlen=TRACE_LENGTH))
    clients: deque[float | None] = field(default_factory=lambda: deque(maxlen=TRACE_LENGTH))
    added: deque[float | None] = field(default_factory=lambda: deque(maxlen=TRACE_LENGTH))


class Watch:
    """A watch. `on_tick` is called about once a second, after the figures were recorded."""

    def __init__(
        self,
        link: Link,
        db: int,
        on_tick: Callable[[Watch], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self.link, self.db = link, db
        self.sampler = Sampler()
        self.queues = QueueWatch(link, db, clock)
        self.history = History()
        self.traces = Traces()
        self.worst: list[GroupOfStream] = []
        self.dead: list[GroupOfStream] = []
        self.lost_since: float | None = None
        self._focus: Callable[[], tuple[Collection[bytes], Collection[bytes]]] = lambda: ((), ())
        self._on_tick = on_tick
        self._clock, self._wall_clock = clock, wall_clock
        self._accepted_at: float | None = None
        self._next_tick = clock()
        self._task: asyncio.Task[None] | None = None
        self._is_ready = asyncio.Event()

    # -- life --------------------------------------------------------------------------------------

    async def ready(self) -> Watch:
        """Start if necessary, and wait a while for the first figures."""
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._is_ready.wait(), READY_SECONDS)
        return self

    async def close(self) -> None:
        await self.queues.close()
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    def set_focus(self, focus: Callable[[], tuple[Collection[bytes], Collection[bytes]]]) -> None:
        """Set the focus. `focus` returns the names of the streams shown, and of those opened."""
        self._focus = focus

    @property
    def age_ms(self) -> int | None:
        """The age of the newest figure."""
        if self._accepted_at is None:
            return None
        return round((self._clock() - self._accepted_at) * 1000)

    async def _run(self) -> None:
        while True:
            try:
                await self._step()
                wait = max(self.sampler.wait_s(self._clock()), MIN_WAIT_SECONDS)
            except (*UNREACHABLE, redis.RedisError):
                self._note_loss()
                wait = RETRY_SECONDS
            if self._clock() >= self._next_tick:
                self._next_tick = self._clock() + TICK_SECONDS
                self.tick()
            await asyncio.sleep(min(wait, max(self._next_tick - self._clock(), MIN_WAIT_SECONDS)))

    async def _step(self) -> None:
        requests = self.sampler.plan(self._clock())
        if not requests:
            return
        replies = await self.link.call_all(self.db, requests)
        self.sampler.accept(replies, self._clock())
        self._accepted_at = self._clock()
        self.lost_since = None
        self._is_ready.set()

    def _note_loss(self) -> None:
        if self.lost_since is None:
            self.lost_since = self._wall_clock()
            self._on_tick(self)
        self.sampler.reset()

    # -- each second -------------------------------------------------------------------------------

    def tick(self) -> None:
        """Record the figures, choose what to sample next, and notify the viewers."""
        streams = self.sampler.streams.values()
        groups = [
            GroupOfStream(stream, group) for stream in streams for group in stream.groups or ()
        ]
        self.worst = heapq.nlargest(WORST, groups, key=lambda one: one.weight)
        self.dead = [one for one in groups if one.group.dead_count]
        visible, opened = self._focus()
        opened_names = set(opened)
        self._note(groups, opened_names)
        worst_names = [one.stream.name for one in self.worst]
        self.sampler.focus(list(dict.fromkeys([*visible, *worst_names])), list(opened_names))
        self._on_tick(self)

    def _note(self, groups: list[GroupOfStream], opened: set[bytes]) -> None:
        if self.lost_since is not None:
            return
        now_s = int(self._wall_clock())
        noted = [one for one in groups if one.stream.name in opened]
        noted += heapq.nlargest(MAX_GROUPS - len(noted), groups, key=lambda one: one.weight)
        for one in noted:
            oldest_ms = one.group.oldest_ms
            age_s = None if oldest_ms is None else oldest_ms / 1000
            sample = Sample(now_s, one.group.lag, one.group.pending, age_s)
            self.history.add((one.stream.name, one.group.name), sample)
        server = self.sampler.server
        self.traces.requests.append(server.requests_per_s)
        self.traces.memory.append(server.used_memory_bytes)
        self.traces.clients.append(server.clients)
        rates = [one.in_per_s for one in self.sampler.streams.values() if one.in_per_s is not None]
        self.traces.added.append(sum(rates) if rates else None)

    def stream(self, name: bytes) -> StreamFigures | None:
        return self.sampler.streams.get(name)

    def group(self, name: bytes, group: bytes) -> GroupFigures | None:
        stream = self.stream(name)
        groups = () if stream is None else stream.groups or ()
        return next((one for one in groups if one.name == group), None)
