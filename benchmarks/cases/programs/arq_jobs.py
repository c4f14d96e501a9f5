"""arq: jobs are enqueued; a worker that does ten at a time works off a full queue."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from arq import Worker, create_pool, func
from arq.connections import RedisSettings

from benchmarks.cases.programs.job import Measurement, main

AT_A_TIME = 10
# Its half second would be the measurement.
POLL_SECONDS = 0.001


async def _send(measurement: Measurement) -> None:
    pool = await create_pool(RedisSettings(port=measurement.port))
    measurement.begin()
    await measurement.by_tasks(AT_A_TIME, lambda number: pool.enqueue_job("twice", number))
    queued = len(await pool.queued_jobs())
    measurement.end(lambda: queued)


async def _work(measurement: Measurement) -> None:
    settings = RedisSettings(port=measurement.port)
    starts_s: list[float] = []

    async def twice(_: dict[str, Any], number: int) -> int:
        starts_s.append(time.perf_counter())
        return 2 * number

    pool = await create_pool(settings)
    for number in range(measurement.jobs):
        await pool.enqueue_job("twice", number)
    worker = Worker(
        [func(twice, name="twice")],
        redis_settings=settings,
        burst=True,
        max_jobs=AT_A_TIME,
        poll_delay=POLL_SECONDS,
        handle_signals=False,
    )
    measurement.begin()
    await worker.main()
    measurement.note_starts(starts_s, AT_A_TIME)
    measurement.end(lambda: worker.jobs_complete)


def send(measurement: Measurement) -> None:
    asyncio.run(_send(measurement))


def work(measurement: Measurement) -> None:
    asyncio.run(_work(measurement))


if __name__ == "__main__":
    main({"send": send, "work": work})
