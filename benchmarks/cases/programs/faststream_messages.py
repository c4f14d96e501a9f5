"""FastStream: messages through a list and through a group of a stream, by subscribers in this
process."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import Any

from faststream.redis import RedisBroker, StreamSub

from benchmarks.cases.programs.job import Arrivals, Measurement, main

OUTSTANDING = 20
PLACES: dict[str, dict[str, Any]] = {
    "list": {"list": "jobs"},
    "stream": {"stream": StreamSub("jobs", group="workers", consumer="one")},
}


async def _messages(kind: str, measurement: Measurement) -> None:
    broker: Any = RedisBroker(measurement.url, logger=logging.getLogger(__name__))
    arrivals = Arrivals()

    @broker.subscriber(**PLACES[kind])
    async def handle(number: int) -> None:
        arrivals.note(number)

    async def do(number: int) -> None:
        arrived = arrivals.expect(number)
        await broker.publish(number, **{kind: "jobs"})
        await arrived

    await broker.start()
    measurement.begin()
    await measurement.by_tasks(OUTSTANDING, do)
    measurement.end(lambda: arrivals.count)


def messages(kind: str, measurement: Measurement) -> None:
    asyncio.run(_messages(kind, measurement))


if __name__ == "__main__":
    main({kind: partial(messages, kind) for kind in PLACES})
