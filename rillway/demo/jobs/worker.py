"""A worker of the demo: does jobs and notes which ones, until it is told to stop or is killed."""

from __future__ import annotations

import asyncio
import logging
import signal

import redis.asyncio

from rillway.consumer import Consumer, Entry
from rillway.demo.jobs.work import DEAD_LETTERS, DONE, GROUP, JOBS
from rillway.demo.service import parent_is_gone

READ_COUNT = 8
BLOCK_MS = 500
# Longer than a worker takes for all that it reads at once, long enough to see the dead one in top.
CLAIM_IDLE_MS = 3_000
MAX_DELIVERIES = 3
LOOK_SECONDS = 0.5


class JobFailed(Exception):
    """The job is broken."""


def run_worker(url: str, name: str) -> None:
    """The process's main function: works until SIGTERM, or until its parent has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    logging.getLogger("rillway.consumer").addHandler(logging.NullHandler())  # the screen is top's
    asyncio.run(work(url, name))


async def work(url: str, name: str) -> None:
    consumer = Consumer(
        url,
        stream=JOBS,
        group=GROUP,
        name=name,
        count=READ_COUNT,
        block_ms=BLOCK_MS,
        claim_idle_ms=CLAIM_IDLE_MS,
        max_deliveries=MAX_DELIVERIES,
        dead_letters=DEAD_LETTERS,
    )
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, consumer.stop)
    watch = asyncio.create_task(stop_with_parent(consumer))
    async with redis.asyncio.Redis.from_url(url) as client:

        async def handle(job: Entry) -> None:
            await asyncio.sleep(int(job.fields[b"takes_ms"]) / 1000)
            if job.fields[b"is_broken"] == b"1":
                raise JobFailed(job.id)
            # A job that was done twice is in the set once.
            await client.sadd(DONE, job.id)

        await consumer.run(handle)
    watch.cancel()


async def stop_with_parent(consumer: Consumer) -> None:
    while not parent_is_gone():
        await asyncio.sleep(LOOK_SECONDS)
    consumer.stop()
