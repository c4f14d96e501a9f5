"""Pipelined XADD at a steady rate.

All departures that are due are sent in one pipeline, up to a thousand times a second. Filling the
stream as fast as possible would only measure the length of its queue: latency is meaningful only
while consumers keep up.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import islice

import redis

from rillway.demo.departures.data_set import Departure

TICK_SECONDS = 0.001
MAX_PIPELINE = 200


class Producer:
    """Sends departures; `sent` holds the ID that the server gave each, in the order sent."""

    def __init__(self, client: redis.Redis, stream: str, departures: Sequence[Departure]) -> None:
        self.client = client
        self.stream = stream
        self.departures = departures
        self.sent: list[bytes] = []
        self.seconds = 0.0

    def run(self, rate: int) -> Iterator[int]:
        """Send everything at `rate` departures a second (0: as fast as the server accepts them).

        Yields the number sent so far after each pipeline, so that the caller can show progress.
        """
        remaining = iter(self.departures)
        started = time.monotonic()
        while len(self.sent) < len(self.departures):
            due = self.count_due(rate, time.monotonic() - started)
            if due > 0:
                self.send(list(islice(remaining, due)))
                self.seconds = time.monotonic() - started
                yield len(self.sent)
            if rate > 0:
                time.sleep(TICK_SECONDS)

    def count_due(self, rate: int, elapsed_seconds: float) -> int:
        """Return the number of departures that the next pipeline sends, at most MAX_PIPELINE."""
        if rate == 0:
            return MAX_PIPELINE
        return min(int(elapsed_seconds * rate) - len(self.sent), MAX_PIPELINE)

    def send(self, departures: list[Departure]) -> None:
        with self.client.pipeline(transaction=False) as pipeline:
            for departure in departures:
                fields = departure.fields() | {"sent_us": str(time.time_ns() // 1000)}
                pipeline.xadd(self.stream, fields, id=f"{departure.scheduled_ms}-*")  # type: ignore[arg-type]
            self.sent += pipeline.execute()
