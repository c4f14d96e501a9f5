"""Queues of job frameworks: a finder in the background while somebody looks, jobs, actions."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence

import redis

from rillway.console.data.link import UNREACHABLE, Link
from rillway.queues.finder import Finder, Known
from rillway.queues.frameworks import BY_NAME
from rillway.queues.queue import Action, Job, Result, State, Steps

KEPT_S = 60.0
READY_S = 3.0
LEAST_WAIT_S, RETRY_S = 0.02, 1.0


class QueueWatch:
    """Drives a finder, until nobody has asked for queues for a minute."""

    def __init__(self, link: Link, db: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.link, self.db = link, db
        self.finder = Finder()
        self._clock = clock
        self._asked_s = clock()
        self._task: asyncio.Task[None] | None = None
        self._is_ready = asyncio.Event()

    def touch(self) -> None:
        """Note that somebody looks; start again after a pause."""
        self._asked_s = self._clock()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())

    async def ready(self) -> QueueWatch:
        """Start if necessary, and wait a while for the first pass over all names."""
        self.touch()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._is_ready.wait(), READY_S)
        return self

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        while self._clock() < self._asked_s + KEPT_S:
            try:
                await self._step()
                wait_s = max(self.finder.wait_s(self._clock()), LEAST_WAIT_S)
            except (*UNREACHABLE, redis.RedisError):
                self.finder.reset()
                wait_s = RETRY_S
            await asyncio.sleep(wait_s)

    async def _step(self) -> None:
        requests = self.finder.plan(self._clock())
        if requests:
            replies = await self.link.call_all(self.db, requests)
            self.finder.accept(replies, self._clock())
        if self.finder.is_complete:
            self._is_ready.set()

    # -- one queue ---------------------------------------------------------------------------------

    async def jobs(self, known: Known, state: State, first: int, count: int) -> list[Job]:
        """Return jobs of a queue. Raises redis.RedisError."""
        queue = known.queue
        notes = self.finder.notes_of(queue)
        steps = BY_NAME[queue.framework].jobs(queue, state, first, count, notes, self._now_ms())
        return await run(self.link, self.db, steps)

    async def act(self, known: Known, action: Action, ids: Sequence[str]) -> int:
        """Do an action to jobs; return to how many. Raises redis.RedisError, Refused."""
        queue = known.queue
        steps = BY_NAME[queue.framework].act(action, queue, ids, self._now_ms())
        return await run(self.link, self.db, steps)

    def _now_ms(self) -> int:
        return self.finder.time_ms


async def run(link: Link, db: int, steps: Steps[Result]) -> Result:
    """Drive steps by a connection. Raises redis.RedisError, Refused."""
    try:
        requests = next(steps)
        while True:
            requests = steps.send(await link.call_all(db, requests))
    except StopIteration as end:
        result: Result = end.value
        return result
