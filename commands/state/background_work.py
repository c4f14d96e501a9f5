"""Background work: tasks that no client waits for, done in small steps when the server has time.

A task is an iterator that does a little, about half a millisecond's worth at most, each time that
it is asked for the next item; the items mean nothing. Commands and requests run between any two
steps, so a task must find its way among whatever they change. It neither notifies nor propagates:
nobody can tell, but by the memory that is used, whether it has run.

    instance.background_work.discard(removed)  free removed data (storage/deferred_free.py)
    instance.background_work.tidy(steps)       bring data into a better form

Whoever runs the server asks for `step` again and again (server/background_scheduler.py); the
in-process server of the tests does so when it is told to.

While a child saves, memory is shared with it, and to write to it has it copied. What is tidied can
wait until then. What is freed cannot: there may be more and more of it.

Leaves out: when there is time, and how much of it a task may have.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import TypeAlias

from storage.deferred_free import RemovedData

Task: TypeAlias = Iterator[None]


class BackgroundWork:
    """What is still to be done for one instance, in turns."""

    def __init__(self, report: Callable[[Exception], None]) -> None:
        """`report` is told of a task that has failed: it is a defect, and ends that task only."""
        self.steps = 0  # taken so far
        self.used_us = 0  # the server's time; whoever runs the steps counts it
        self.freed_objects = 0
        self.failed = 0
        self._report = report
        self._freeing: deque[tuple[Task, int]] = deque()  # with the number of objects
        self._tidying: deque[Task] = deque()

    def __len__(self) -> int:
        return len(self._freeing) + len(self._tidying)

    @property
    def unfreed_objects(self) -> int:
        """How many values are gone for clients, while their memory is still to be given back."""
        return sum(objects for _, objects in self._freeing)

    def free(self, task: Task, objects: int = 1) -> None:
        """Let `task` give back the memory of so many values (keys, groups), by and by."""
        self._freeing.append((task, objects))

    def discard(self, removed_data: RemovedData, objects: int = 1) -> None:
        """Free what so many values were made of: by and by if it is large, else right away."""
        if removed_data.is_large:
            self.free(removed_data.free(), objects)

    def tidy(self, task: Task) -> None:
        """Let `task` bring data into another form, when nobody else needs them as they are."""
        self._tidying.append(task)

    def has_work(self, *, child_lives: bool = False) -> bool:
        """Whether `step` would do anything."""
        return bool(self._freeing or (self._tidying and not child_lives))

    def step(self, *, child_lives: bool = False) -> bool:
        """Do a little of the task whose turn it is. False: there was nothing to do."""
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
        """Take a step; False if that was the last one."""
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
        """Do everything now."""
        while self.step():
            pass

    def clear(self) -> None:
        """Forget everything, when the server ends: its memory goes as a whole."""
        self._freeing.clear()
        self._tidying.clear()
