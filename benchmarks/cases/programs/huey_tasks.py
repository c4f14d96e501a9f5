"""huey: tasks with results, by a consumer with four threads in this process."""

from __future__ import annotations

import logging
import threading

from huey import RedisHuey

from benchmarks.cases.programs.job import Measurement, main

THREADS = 4
OUTSTANDING = 20
WAIT_SECONDS = 60


def tasks(measurement: Measurement) -> None:
    logging.getLogger("huey").setLevel(logging.ERROR)
    huey = RedisHuey("bench", port=measurement.port)
    handled = [threading.Event() for _ in range(measurement.jobs)]

    @huey.task()
    def twice(number: int) -> int:
        handled[number].set()
        return 2 * number

    def send(number: int) -> threading.Event:
        twice(number)
        return handled[number]

    consumer = huey.create_consumer(workers=THREADS, check_worker_health=False)
    consumer.start()
    measurement.begin()
    measurement.windowed(OUTSTANDING, send, lambda event: event.wait(WAIT_SECONDS))
    measurement.end(lambda: sum(event.is_set() for event in handled))


if __name__ == "__main__":
    main({"tasks": tasks})
