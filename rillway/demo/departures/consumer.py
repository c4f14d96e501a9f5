"""One of the demo's ten consumer processes: reads, counts, acknowledges; crashes or claims.

An acknowledgement and its record are one transaction: MULTI, XACK of the entries, XADD to the
ledger, EXEC. Whenever the process dies, either both happened or neither did, so the ledger is a
reliable record of the acknowledgements, independent of the consumers' own counters.
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from typing import Any

import redis

from rillway.demo.departures.tally import Counters
from rillway.demo.service import parent_is_gone

Entry = tuple[bytes, dict[bytes, bytes]]

READ_COUNT = 100
BLOCK_MS = 500
CLAIM_EVERY_SECONDS = 0.5
CLAIM_COUNT = 500
# Longer than a running consumer takes for one batch on a slow machine, short enough to watch.
CLAIM_MIN_IDLE_MS = 2_000
# A crashing consumer reads on until it holds this many entries, so that some stay pending.
CRASH_HOLDING = 200


@dataclass(frozen=True, slots=True)
class Assignment:
    """The task of one consumer. `crashes_from_ms`: the scheduled time from which it crashes."""

    url: str
    stream: str
    group: str
    ledger: str
    name: str
    crashes_from_ms: int | None = None
    claims: bool = False


def run_consumer(assignment: Assignment, tally: Counters, stop: Event) -> None:
    """The process's main function: work until `stop` is set or the parent has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    Consumer(assignment, tally).run(stop)


class Consumer:
    def __init__(self, assignment: Assignment, tally: Counters) -> None:
        self.assignment = assignment
        self.tally = tally
        self.client = redis.Redis.from_url(assignment.url)
        self.next_claim = 0.0

    def run(self, stop: Event) -> None:
        self.client.ping()
        self.tally.mark_ready()
        while not stop.is_set() and not parent_is_gone():
            if entries := self.read_new():
                self.measure(entries)
                if self.is_broken(entries):
                    self.hang_and_crash(stop)
                self.acknowledge(entries)
            if self.assignment.claims and time.monotonic() >= self.next_claim:
                self.claim_idle()
                self.next_claim = time.monotonic() + CLAIM_EVERY_SECONDS

    def read_new(self) -> list[Entry]:
        # redis-py's annotation covers every protocol and setting; the result is a list of streams.
        reply: Any = self.client.xreadgroup(
            self.assignment.group,
            self.assignment.name,
            {self.assignment.stream: ">"},
            count=READ_COUNT,
            block=BLOCK_MS,
        )
        entries: list[Entry] = [entry for _, entries in reply for entry in entries]
        self.tally.add_delivered(len(entries))
        return entries

    def measure(self, entries: list[Entry]) -> None:
        now_us = time.time_ns() // 1000
        for _, fields in entries:
            self.tally.add_latency((now_us - int(fields[b"sent_us"])) / 1000)

    def acknowledge(self, entries: list[Entry]) -> None:
        ids = [entry_id for entry_id, _ in entries]
        record: dict[Any, Any] = {
            "consumer": self.assignment.name,
            "ids": b" ".join(ids),
            "carriers": b" ".join(fields[b"carrier"] for _, fields in entries),
        }
        with self.client.pipeline(transaction=True) as transaction:
            transaction.xack(self.assignment.stream, self.assignment.group, *ids)
            transaction.xadd(self.assignment.ledger, record)
            acknowledged, _ = transaction.execute()
        self.tally.add_acknowledged(acknowledged)

    def claim_idle(self) -> None:
        """Claim and process entries that another consumer has held for too long."""
        cursor = b"0-0"
        while True:
            cursor, entries, _ = self.client.xautoclaim(
                self.assignment.stream,
                self.assignment.group,
                self.assignment.name,
                min_idle_time=CLAIM_MIN_IDLE_MS,
                start_id=cursor,
                count=CLAIM_COUNT,
            )
            if entries:
                self.tally.add_claimed(len(entries))
                self.acknowledge(entries)
            if cursor == b"0-0":
                return

    def is_broken(self, entries: list[Entry]) -> bool:
        crashes_from_ms = self.assignment.crashes_from_ms
        newest_ms = int(entries[-1][0].partition(b"-")[0])
        return crashes_from_ms is not None and newest_ms >= crashes_from_ms

    def hang_and_crash(self, stop: Event) -> None:
        """Read on without acknowledging anything, then die as a killed process dies."""
        while self.tally.unacknowledged < CRASH_HOLDING and not stop.is_set():
            entries = self.read_new()
            if not entries:
                break
            self.measure(entries)
        os.kill(os.getpid(), signal.SIGKILL)
