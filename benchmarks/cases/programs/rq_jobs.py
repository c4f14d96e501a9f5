"""RQ: jobs are enqueued; a worker works off a full queue."""

from __future__ import annotations

import logging
import time

from redis import Redis
from rq import Queue, SimpleWorker

from benchmarks.cases.programs.job import Measurement, main

starts_s: list[float] = []


def twice(number: int) -> int:
    """The job."""
    starts_s.append(time.perf_counter())
    return 2 * number


def send(measurement: Measurement) -> None:
    queue = Queue(connection=Redis(port=measurement.port))
    measurement.begin()
    for number in range(measurement.jobs):
        with measurement.job():
            queue.enqueue(twice, number)
    measurement.end(lambda: queue.count)


def work(measurement: Measurement) -> None:
    """The worker that does not fork for each job."""
    logging.getLogger("rq").setLevel(logging.ERROR)
    connection = Redis(port=measurement.port)
    queue = Queue(connection=connection)
    for number in range(measurement.jobs):
        queue.enqueue(twice, number)
    worker = SimpleWorker([queue], connection=connection)
    measurement.begin()
    worker.work(burst=True, logging_level="ERROR")
    measurement.note_starts(starts_s, slots=1)
    measurement.end(lambda: queue.finished_job_registry.count)


if __name__ == "__main__":
    # Jobs are found by the name of their module, which must be the one in which they run.
    from benchmarks.cases.programs import rq_jobs

    main({"send": rq_jobs.send, "work": rq_jobs.work})
