"""taskiq: tasks with results through a list and through a stream, by a worker in this process."""

from __future__ import annotations

import asyncio
from functools import partial

from taskiq import AsyncBroker
from taskiq.api import run_receiver_task
from taskiq_redis import ListQueueBroker, RedisAsyncResultBackend, RedisStreamBroker

from benchmarks.cases.programs.job import Arrivals, Measurement, main

OUTSTANDING = 20


async def _tasks(broker: AsyncBroker, measurement: Measurement) -> None:
    arrivals = Arrivals()

    @broker.task(task_name="twice")
    async def twice(number: int) -> int:
        arrivals.note(number)
        return 2 * number

    async def do(number: int) -> None:
        arrived = arrivals.expect(number)
        await twice.kiq(number)
        await arrived

    async def produce() -> None:
        measurement.begin()
        await measurement.by_tasks(OUTSTANDING, do)
        measurement.end(lambda: arrivals.count)

    await broker.startup()
    await asyncio.gather(run_receiver_task(broker), produce())


def tasks(kind: type[ListQueueBroker | RedisStreamBroker], measurement: Measurement) -> None:
    broker = kind(measurement.url).with_result_backend(RedisAsyncResultBackend(measurement.url))
    asyncio.run(_tasks(broker, measurement))


if __name__ == "__main__":
    main({"list": partial(tasks, ListQueueBroker), "stream": partial(tasks, RedisStreamBroker)})
