"""redis-py with asyncio: a hundred tasks, each of which sends a request after a reply."""

from __future__ import annotations

import asyncio

from redis.asyncio import Redis

from benchmarks.cases.programs.job import Measurement, main

TASKS = 100


async def _requests(measurement: Measurement) -> None:
    """A job counts a visit, and notes and reads something of the visitor: three requests."""
    client = Redis(port=measurement.port)
    read = set()

    async def do(number: int) -> None:
        name = f"visitor:{number}"
        await client.incr("visits")
        await client.hset(name, mapping={"page": "/", "number": number})
        read.add(await client.hget(name, "number"))

    await asyncio.gather(*(client.ping() for _ in range(TASKS)))
    measurement.begin()
    await measurement.by_tasks(TASKS, do)
    measurement.end(lambda: len(read))


def requests(measurement: Measurement) -> None:
    asyncio.run(_requests(measurement))


if __name__ == "__main__":
    main({"tasks-100": requests})
