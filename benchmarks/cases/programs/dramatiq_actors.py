"""dramatiq: actors with results, by a worker with eight threads in this process."""

from __future__ import annotations

from functools import partial

import dramatiq
from dramatiq.brokers.redis import RedisBroker
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend

from benchmarks.cases.programs.job import Measurement, main

THREADS = 8
OUTSTANDING = 20
WAIT_MS = 60_000


def tasks(measurement: Measurement) -> None:
    broker = RedisBroker(url=measurement.url)
    backend = RedisBackend(url=measurement.url)
    broker.add_middleware(Results(backend=backend))

    @dramatiq.actor(broker=broker, store_results=True)
    def twice(number: int) -> int:
        return 2 * number

    worker = dramatiq.Worker(broker, worker_threads=THREADS)
    worker.start()
    results: set[int] = set()
    measurement.begin()
    read = partial(dramatiq.Message.get_result, backend=backend, block=True, timeout=WAIT_MS)
    measurement.windowed(OUTSTANDING, twice.send, lambda sent: results.add(read(sent)))
    measurement.end(lambda: len(results))


if __name__ == "__main__":
    main({"tasks": tasks})
