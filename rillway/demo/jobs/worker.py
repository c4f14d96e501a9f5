"""Workers of the demo: each does jobs and records them, until it is stopped or killed."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import signal
from collections.abc import Mapping
from itertools import count
from multiprocessing.context import SpawnProcess

import redis.asyncio

from rillway.consumer import Consumer, Entry
from rillway.demo.jobs.work import DEAD_LETTERS, DONE, GROUP, JOBS
from rillway.demo.service import parent_is_gone

READ_COUNT = 8
BLOCK_MS = 500
# Longer than a worker takes for one read, and long enough to see a dead worker in top.
CLAIM_IDLE_MS = 3_000
MAX_DELIVERIES = 3
LOOK_SECONDS = 0.5


class JobFailed(Exception):
    """The job is broken."""


def run_worker(url: str, name: str) -> None:
    """The process's main function: works until SIGTERM, or until its parent has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    logging.getLogger("rillway.consumer").addHandler(
        logging.NullHandler()
    )  # the screen belongs to top
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


JOIN_SECONDS = 10.0


class Workers:
    """The workers. `running`: those that should run, by name."""

    def __init__(self, url: str) -> None:
        # A new interpreter for each: they share nothing with the producer but the server.
        self._context = multiprocessing.get_context("spawn")
        self._url = url
        self._names = (f"worker-{number}" for number in count(1))
        self.running: dict[str, SpawnProcess] = {}

    def hire(self) -> str:
        """Start one more worker, under a name that no other has had."""
        name = next(self._names)
        process = self._context.Process(target=run_worker, args=(self._url, name), daemon=True)
        process.start()
        self.running[name] = process
        return name

    def kill_busiest(self, pending: Mapping[str, int]) -> str | None:
        """Kill the worker with most jobs in hand, like `kill -9`. Returns its name, or None."""
        name = max(self.running, key=lambda name: pending.get(name, 0), default=None)
        if name is None or not pending.get(name):
            return None
        process = self.running.pop(name)
        process.kill()
        process.join()
        return name

    def stop(self) -> None:
        """Let each worker finish the job in hand; kill those that do not."""
        for process in self.running.values():
            process.terminate()
        for process in self.running.values():
            process.join(JOIN_SECONDS)
            process.kill()
