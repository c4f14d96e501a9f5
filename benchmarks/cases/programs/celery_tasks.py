"""Celery: tasks with results, by a worker with a process of its own for them; chords."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial

from celery import Celery, chord

from benchmarks.cases.programs.job import Measurement, main

URL = os.environ.get("PROGRAMS_URL", "")
CHORD = 100
OUTSTANDING = 20
WAIT_SECONDS = 60

app = Celery("tasks", broker=URL, backend=URL)
app.conf.broker_connection_retry_on_startup = False


@app.task(name="twice")
def twice(number: int) -> int:
    return 2 * number


@app.task(name="total")
def total(numbers: list[int]) -> int:
    return sum(numbers)


def start_worker(prefetch: int) -> None:
    """Start `celery worker` with one process for tasks, and wait until it has answered."""
    command = [sys.executable, "-m", "celery", "--app", "benchmarks.cases.programs.celery_tasks"]
    command += ["worker", "--concurrency", "1", "--prefetch-multiplier", str(prefetch)]
    subprocess.Popen([*command, "--loglevel", "ERROR"], stdout=subprocess.DEVNULL)
    assert twice.delay(1).get(timeout=WAIT_SECONDS) == 2


def tasks(prefetch: int, measurement: Measurement) -> None:
    start_worker(prefetch)
    results: list[int] = []
    measurement.begin()
    measurement.windowed(
        OUTSTANDING, twice.delay, lambda sent: results.append(sent.get(timeout=WAIT_SECONDS))
    )
    measurement.end(lambda: len(set(results)))


def chords(measurement: Measurement) -> None:
    """A job is a task in a chord of a hundred; the time is that of a chord."""
    start_worker(prefetch=4)
    done = 0
    measurement.begin()
    for _ in range(measurement.jobs // CHORD):
        with measurement.job():
            sent = chord((twice.s(number) for number in range(CHORD)), total.s())()
            done += CHORD * (sent.get(timeout=WAIT_SECONDS) == CHORD * (CHORD - 1))
    measurement.end(lambda: done)


if __name__ == "__main__":
    main(
        {
            "prefetch-1": partial(tasks, 1),
            "prefetch-4": partial(tasks, 4),
            "chord-100": chords,
        }
    )
