"""Background work: tasks that no client waits for, done in small steps when the server has time.

A task is an iterator; each `next` does a step of at most about half a millisecond, and the items
carry no meaning. Commands run between any two steps, so a task must tolerate any change that they
make. It neither notifies nor propagates: apart from the memory used, tasks are invisible to
clients.

    instance.background_work.discard(removed)  free removed data (storage/keyspace/deferred_free.py)
    instance.background_work.tidy(steps)       convert data to a more compact form
    instance.background_work.answer(steps)     collect an answer that a client waits for (metrics)

The scheduler calls `step` when the server has time (server/loop/scheduler.py); the in-process
server of the tests does so when a test asks for it.

While a child saves, it shares memory with the server, and each page that is written to is copied
(copy on write). Tidying therefore waits until the child has ended. Freeing does not: the removed
data could accumulate. Answers go first, and are short.

Leaves out: when steps run, and how much time they may take.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import TypeAlias

import cython

from storage.keyspace.deferred_free import RemovedData

Task: TypeAlias = Iterator[None]


@cython.cclass
class BackgroundWork:
    """The tasks of one instance, run round-robin."""

    def __init__(self, report: Callable[[Exception], None]) -> None:
        """`report` is called with the exception of a task that failed, a defect; only that task
        ends.
        """
        self.steps = 0  # taken so far
        self.used_us = 0  # microseconds spent in steps; the caller of `step` adds to it
        self.freed_objects = 0
        self.failed = 0
        self._report = report
        self._freeing: deque[tuple[Task, int]] = deque()  # with the number of objects
        self._tidying: deque[Task] = deque()
        self._answering: deque[Task] = deque()

    def __len__(self) -> int:
        return len(self._freeing) + len(self._tidying) + len(self._answering)

    @property
    def is_awaited(self) -> bool:
        """True if a client waits for the end of a task."""
        return bool(self._answering)

    @property
    def unfreed_objects(self) -> int:
        """The number of removed values whose memory is not freed yet (lazyfree_pending_objects)."""
        return sum(objects for _, objects in self._freeing)

    def free(self, task: Task, objects: int = 1) -> None:
        """Free the memory of `objects` values (keys, groups) incrementally, with `task`."""
        self._freeing.append((task, objects))

    def discard(self, removed_data: RemovedData, objects: int = 1) -> None:
        """Free the data of `objects` removed values: incrementally if it is large, else at once."""
        if removed_data.is_large:
            self.free(removed_data.free(), objects)

    def tidy(self, task: Task) -> None:
        """Convert data with `task`, while no child shares the memory."""
        self._tidying.append(task)

    def answer(self, task: Task) -> None:
        """Run `task` before all others: a client waits for it, whether or not a child saves."""
        self._answering.append(task)

    def has_work(self, *, child_lives: bool = False) -> bool:
        """Return True if `step` would do anything."""
        return bool(self._answering or self._freeing or (self._tidying and not child_lives))

    def step(self, *, child_lives: bool = False) -> bool:
        """Run one step of the next task. False if there was nothing to do."""
        if self._answering:
            task = self._answering.popleft()
            if self._advance(task):
                self._answering.append(task)
            return True
        if self._freeing:
            task, objects = self._freeing.popleft()
            if self._advance(task):
                self._freeing.append((task, objects))
            else:
                self.freed_objects += objects
            return True
        if self._tidying and not child_lives:
            task = self._tidying.popleft()
            if self._advance(task):
                self._tidying.append(task)
            return True
        return False

    def _advance(self, task: Task) -> bool:
        """Run one step of `task`; False if it has ended."""
        self.steps += 1
        try:
            next(task)
        except StopIteration:
            return False
        except Exception as error:
            self.failed += 1
            self._report(error)
            return False
        return True

    def finish(self) -> None:
        """Run all tasks to their end."""
        while self.step():
            pass

    def clear(self) -> None:
        """Drop all tasks when the server ends: the process returns its memory as a whole."""
        self._freeing.clear()
        self._tidying.clear()
        self._answering.clear()
