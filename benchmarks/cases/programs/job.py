"""The measurement of a program, from inside of its process; `running.py` is the other side.

A program prepares, calls `begin`, does its jobs, and calls `end`, which counts the jobs that are
done. `begin` returns when the server's processor time has been noted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

from benchmarks.figures import percentile

Sent = TypeVar("Sent")
P99 = 0.99


class Measurement:
    """The jobs of one measurement: how many, on which server, and how long each took."""

    def __init__(self, port: int, jobs: int) -> None:
        self.port, self.jobs = port, jobs
        self.url = f"redis://127.0.0.1:{port}/0"
        self.times_s: list[float] = []
        self._begun = 0.0

    def begin(self) -> None:
        """Report that all is prepared, and wait until the measurement begins."""
        _report({"ready": True})
        sys.stdin.readline()
        self._begun = time.perf_counter()

    def end(self, done: Callable[[], int]) -> None:
        """Report that all is over, and how many jobs are `done`."""
        seconds = time.perf_counter() - self._begun
        p99_ms = percentile(self.times_s, P99) * 1000
        _report({"done": done(), "seconds": seconds, "p99_ms": p99_ms})
        sys.stdin.read()  # until it is killed: workers must not be asked to end, which takes long

    @contextmanager
    def job(self) -> Iterator[None]:
        """Time a job."""
        begun = time.perf_counter()
        yield
        self.times_s.append(time.perf_counter() - begun)

    def note_starts(self, starts_s: Sequence[float], slots: int) -> None:
        """Note the times of jobs from the starts of their handlers.

        A worker that handles `slots` jobs at a time starts a job when it has finished the one that
        it started `slots` jobs earlier.
        """
        ordered = sorted(starts_s)
        pairs = zip(ordered, ordered[slots:], strict=False)
        self.times_s += [later - earlier for earlier, later in pairs]

    def windowed(
        self, outstanding: int, send: Callable[[int], Sent], wait: Callable[[Sent], object]
    ) -> None:
        """Send all jobs, up to `outstanding` at a time, and time each until it is done."""
        sent: deque[tuple[float, Sent]] = deque()
        for number in range(self.jobs):
            if len(sent) == outstanding:
                self._await_first(sent, wait)
            sent.append((time.perf_counter(), send(number)))
        while sent:
            self._await_first(sent, wait)

    def _await_first(self, sent: deque[tuple[float, Sent]], wait: Callable[[Sent], object]) -> None:
        begun, first = sent.popleft()
        wait(first)
        self.times_s.append(time.perf_counter() - begun)

    async def by_tasks(self, tasks: int, do: Callable[[int], Awaitable[object]]) -> None:
        """Do all jobs in `tasks` tasks, each one job after another, and time each job."""

        async def task(first: int) -> None:
            for number in range(first, self.jobs, tasks):
                with self.job():
                    await do(number)

        await asyncio.gather(*map(task, range(tasks)))


class Arrivals:
    """Futures of jobs, which the handlers of this process set."""

    def __init__(self) -> None:
        self.count = 0
        self._awaited: dict[int, asyncio.Future[None]] = {}

    def expect(self, number: int) -> asyncio.Future[None]:
        """A future that is done when the job is handled. Called before the job is sent."""
        future = self._awaited[number] = asyncio.get_running_loop().create_future()
        return future

    def note(self, number: int) -> None:
        """Called by the handler."""
        self.count += 1
        self._awaited.pop(number).set_result(None)


def _report(report: Mapping[str, object]) -> None:
    print(json.dumps(report), flush=True)


def main(cases: Mapping[str, Callable[[Measurement], object]]) -> None:
    """Run a case of this program: --port, --case, --jobs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--case", choices=cases, required=True)
    parser.add_argument("--jobs", type=int, required=True)
    options = parser.parse_args()
    cases[options.case](Measurement(options.port, options.jobs))
