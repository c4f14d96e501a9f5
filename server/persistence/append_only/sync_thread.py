"""The background thread for slow work on files: syncing and removing them.

Jobs run one after the other, in the order in which they were submitted, so one file's sync ends
before the next one's begins. The submitter polls `Job.done`; there are no callbacks except
`notify`, which may wake the loop.

`ThreadSyncer` uses one thread. Tests run jobs explicitly (`ManualSyncer`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Protocol


class Job:
    """A piece of work and its result."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.error: Exception | None = None
        self.done = False  # set last: then `error` is there
        self._work = work

    def run(self) -> None:
        """Run the work, in the calling thread."""
        try:
            self._work()
        except Exception as error:
            self.error = error
        finally:
            self.done = True


class Syncer(Protocol):
    """Runs jobs in the background."""

    def submit(self, job: Job) -> None:
        """Run the job after all earlier ones."""

    def wait(self) -> None:
        """Wait until all submitted jobs are done."""


class ThreadSyncer:
    """A thread of its own; `notify` is called in it after each job."""

    def __init__(self, notify: Callable[[], object] = lambda: None) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sync")
        self._last: Future[None] | None = None
        self._notify = notify

    def submit(self, job: Job) -> None:
        """Run the job in the thread, after all earlier ones."""
        self._last = self._thread.submit(self._run, job)

    def wait(self) -> None:
        """Wait until all submitted jobs are done."""
        if self._last is not None:
            wait([self._last])

    def _run(self, job: Job) -> None:
        job.run()
        self._notify()


class ManualSyncer:
    """No thread: a job runs in `run_next` or `wait`."""

    def __init__(self) -> None:
        self.waiting: deque[Job] = deque()

    def submit(self, job: Job) -> None:
        """Keep the job for `run_next` or `wait`."""
        self.waiting.append(job)

    def run_next(self) -> None:
        """Run the oldest job."""
        self.waiting.popleft().run()

    def wait(self) -> None:
        """Run all jobs."""
        while self.waiting:
            self.run_next()
