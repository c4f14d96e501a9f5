"""Workers of the demo: each does jobs and writes into the ledger, until it is stopped or crashes.

A job that is done has a record in the ledger, written before its XACK. If a worker crashes in
between, another worker does its job a second time. If its XACK came too late, because another
worker had acknowledged the job, the worker adds a record of that.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import signal
import time
from itertools import count
from multiprocessing.context import SpawnProcess

import redis.asyncio

from rillway.consumer import Consumer, Entry
from rillway.consumer.worker import Counts
from rillway.dead_letter import HOPS
from rillway.demo.jobs.queue import ACK_WAIT_MS, MAX_DELIVERIES
from rillway.demo.jobs.work import DEAD_LETTERS, GROUP, JOBS, LEDGER, Trouble
from rillway.demo.service import parent_is_gone

READ_COUNT = 16
BLOCK_MS = 500
LOOK_SECONDS = 0.5
JOIN_SECONDS = 10.0
RETRY_SECONDS = 0.5


class JobFailed(Exception):
    """The job did not succeed."""


class Worker:
    """What one worker does with its jobs."""

    def __init__(self, name: str, ledger: redis.asyncio.Redis, counts: Counts) -> None:
        self._name = name
        self._ledger = ledger
        self._counts = counts
        # The last job that was done, and the number of acknowledgements before its own.
        self._last: tuple[bytes, int] | None = None

    async def handle(self, job: Entry) -> None:
        """Do a job. Raises JobFailed."""
        await self.note_late()
        fields = job.fields
        was_dead = HOPS in fields
        trouble = Trouble(fields[b"trouble"].decode())
        is_first = job.deliveries == 1 and not was_dead
        seconds = float(fields[b"takes_ms"]) / 1000
        if trouble == Trouble.HANG and is_first:
            time.sleep(seconds)  # it does not renew what it holds, either
        elif trouble != Trouble.HANG:
            await asyncio.sleep(seconds)
        if trouble == Trouble.HOPELESS:
            job.reject("no such customer")
        elif trouble == Trouble.BUSY and is_first:
            job.retry(RETRY_SECONDS, "the printer is busy")
        elif (trouble == Trouble.BROKEN and not was_dead) or (
            trouble == Trouble.FLAKY and is_first
        ):
            raise JobFailed(f"a {trouble} {fields[b'kind'].decode()}")
        else:
            await self._finish(job, crashes=trouble == Trouble.CRASH and is_first)

    async def _finish(self, job: Entry, crashes: bool) -> None:
        number = job.fields[b"job"]
        await self._note("done", number, deliveries=job.deliveries)
        if crashes:
            os.kill(os.getpid(), signal.SIGKILL)
        self._last = number, self._counts.acknowledged

    async def note_late(self) -> None:
        """Record it in the ledger if another worker had acknowledged the last job before."""
        if self._last is not None and self._counts.acknowledged == self._last[1]:
            await self._note("late", self._last[0])
        self._last = None

    async def _note(self, event: str, job: bytes, **more: int) -> None:
        record = {"event": event, "job": job, "worker": self._name, **more}
        await self._ledger.xadd(LEDGER, record)  # type: ignore[arg-type]


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
        # If the group has a policy, the server does this instead.
        claim_idle_ms=ACK_WAIT_MS,
        max_deliveries=MAX_DELIVERIES,
        dead_letters=DEAD_LETTERS,
    )
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, consumer.stop)
    watch = asyncio.create_task(stop_with_parent(consumer))
    async with redis.asyncio.Redis.from_url(url, single_connection_client=True) as client:
        worker = Worker(name, client, consumer.counts)
        await consumer.run(worker.handle)
        await worker.note_late()
    watch.cancel()


async def stop_with_parent(consumer: Consumer) -> None:
    while not parent_is_gone():
        await asyncio.sleep(LOOK_SECONDS)
    consumer.stop()


class Crew:
    """The workers' processes. `running`: those that should run, by name."""

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

    def crashed(self) -> list[str]:
        """Return the workers that have ended without being stopped, each once."""
        names = [name for name, process in self.running.items() if not process.is_alive()]
        for name in names:
            del self.running[name]
        return names

    def stop(self) -> list[str]:
        """Let each worker finish the job in hand; kill those that do not, and return them."""
        for process in self.running.values():
            process.terminate()
        killed = []
        for name, process in self.running.items():
            process.join(JOIN_SECONDS)
            if process.is_alive():
                process.kill()
                process.join()
                killed.append(name)
        self.running.clear()
        return killed
