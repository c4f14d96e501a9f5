"""Work on files that may take long, beside the loop: syncing them, removing them.

One job after another, in the order in which they were submitted: a file's sync has been tried
before the next file's begins. Who submits looks at `Job.done` when it comes by; nothing is called
back into the loop but `notify`, which may wake it.

`ThreadSyncer` is one thread. Tests run jobs when they say so (`ManualSyncer`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Protocol


class Job:
    """One piece of work, and what became of it."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.error: Exception | None = None
        self.done = False  # set last: then `error` is there
        self._work = work

    def run(self) -> None:
        """Do it, in whichever thread."""
        try:
            self._work()
        except Exception as error:
            self.error = error
        finally:
            self.done = True


class Syncer(Protocol):
    """Runs jobs beside the loop."""

    def submit(self, job: Job) -> None:
        """Run it after all that were submitted before."""

    def wait(self) -> None:
        """Return when everything submitted is done."""


class ThreadSyncer:
    """A thread of its own; `notify` is called in it after each job."""

    def __init__(self, notify: Callable[[], object] = lambda: None) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sync")
        self._last: Future[None] | None = None
        self._notify = notify

    def submit(self, job: Job) -> None:
        """See `Syncer.submit`."""
        self._last = self._thread.submit(self._run, job)

    def wait(self) -> None:
        """See `Syncer.wait`."""
        if self._last is not None:
            wait([self._last])

    def _run(self, job: Job) -> None:
        job.run()
        self._notify()


class ManualSyncer:
    """No thread: a job runs when `run_next` says so, or somebody waits for it."""

    def __init__(self) -> None:
        self.waiting: deque[Job] = deque()

    def submit(self, job: Job) -> None:
        """See `Syncer.submit`."""
        self.waiting.append(job)

    def run_next(self) -> None:
        """Run the oldest job."""
        self.waiting.popleft().run()

    def wait(self) -> None:
        """Run everything."""
        while self.waiting:
            self.run_next()
