"""Producers, and consumers of a group that wait, on many streams of a cluster; and what they found.

Streams with one tag are in one slot, and one consumer waits for all of them. While slots move, all
goes on. Afterwards, `check` looks whether anything was lost, delivered twice, or acknowledged that
nobody was given.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import shutil
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import redis
import redis.asyncio

GROUP = "billing"
STREAMS_OF_A_TAG = 10
PRODUCERS = 4
PAUSE_SECONDS = 0.001
BLOCK_MS = 500
COUNT = 100
# What programs may be told while slots move: they ask again. Redis 7.0 ends a wait for a stream
# that moves with UNBLOCKED. redis-py's asyncio client closes connections that are in use when it
# looks up the owners of slots again: CLOSED.
EXPECTED_ERRORS = ("TRYAGAIN", "UNBLOCKED", "CLOSED")

Entry = tuple[str, str]  # a stream, and an ID


@dataclass
class Report:
    """What clients wrote, were given, and acknowledged; the errors that they met, with numbers."""

    written: list[Entry] = field(default_factory=list)
    given: list[Entry] = field(default_factory=list)
    acknowledged: list[Entry] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)

    def note(self, error: Exception) -> None:
        name = type(error).__name__
        # redis-py has classes for some errors, and takes their codes away.
        self.errors["TRYAGAIN" if name == "TryAgainError" else str(error)] += 1


def streams_of(number: int) -> list[list[str]]:
    """The names of that many streams, those with one tag together."""
    return [
        [f"orders:{{{tag}}}:{place}" for place in range(STREAMS_OF_A_TAG)]
        for tag in range(number // STREAMS_OF_A_TAG)
    ]


def create(client: Any, streams: list[list[str]]) -> None:
    """Make the streams, each with its group."""
    for stream in itertools.chain(*streams):
        client.xgroup_create(stream, GROUP, id="0", mkstream=True)


Load = Callable[[int, list[list[str]], threading.Event, Report], None]


@contextmanager
def running(load: Load, port: int, streams: list[list[str]]) -> Iterator[Report]:
    """Clients that work until the block ends."""
    report, is_over = Report(), threading.Event()
    thread = threading.Thread(target=load, args=(port, streams, is_over, report))
    thread.start()
    try:
        yield report
    finally:
        is_over.set()
        thread.join()


def with_threads(
    port: int,
    streams: list[list[str]],
    is_over: threading.Event,
    report: Report,
    *,
    pause_seconds: float = PAUSE_SECONDS,
) -> None:
    """redis-py's RedisCluster, in threads."""
    client: Any = redis.RedisCluster(host="127.0.0.1", port=port, decode_responses=True)

    def produce(turn: list[str]) -> None:
        for number, stream in enumerate(itertools.cycle(turn)):
            if is_over.wait(pause_seconds):
                return
            try:
                report.written.append((stream, client.xadd(stream, {"n": number})))
            except redis.RedisError as error:
                report.note(error)

    def consume(together: list[str]) -> None:
        new = dict.fromkeys(together, ">")
        while not is_over.is_set():
            try:
                reply = client.xreadgroup(GROUP, "anna", new, count=COUNT, block=BLOCK_MS)
                for stream, entries in reply:
                    ids = [entry_id for entry_id, _ in entries]
                    report.given += [(stream, entry_id) for entry_id in ids]
                    client.xack(stream, GROUP, *ids)
                    report.acknowledged += [(stream, entry_id) for entry_id in ids]
            except redis.RedisError as error:
                report.note(error)

    jobs = [threading.Thread(target=consume, args=(together,)) for together in streams]
    for turn in _shares(streams):
        jobs.append(threading.Thread(target=produce, args=(turn,)))
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    client.close()


def with_tasks(
    port: int, streams: list[list[str]], is_over: threading.Event, report: Report
) -> None:
    """redis-py's asyncio.RedisCluster."""
    asyncio.run(_with_tasks(port, streams, is_over, report))


def with_node(folder: Path) -> Load:
    """ioredis's Cluster, which npm has installed in a folder."""

    def load(port: int, streams: list[list[str]], is_over: threading.Event, report: Report) -> None:
        program = shutil.copy(Path(__file__).with_name("load.mjs"), folder)
        process = subprocess.Popen(
            ["node", program, str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(streams) + "\n")
        process.stdin.flush()
        is_over.wait()
        printed, _ = process.communicate()
        found = json.loads(printed)
        for name in ("written", "given", "acknowledged"):
            getattr(report, name).extend(map(tuple, found[name]))
        report.errors.update(found["errors"])

    return load


async def _with_tasks(
    port: int, streams: list[list[str]], is_over: threading.Event, report: Report
) -> None:
    client: Any = redis.asyncio.RedisCluster(
        host="127.0.0.1",
        port=port,
        decode_responses=True,
        max_connections=len(streams) + 2 * PRODUCERS,
    )

    async def produce(turn: list[str]) -> None:
        for number, stream in enumerate(itertools.cycle(turn)):
            await asyncio.sleep(PAUSE_SECONDS)
            if is_over.is_set():
                return
            try:
                report.written.append((stream, await client.xadd(stream, {"n": number})))
            except (redis.ConnectionError, AttributeError):
                report.errors["CLOSED"] += 1
            except redis.RedisError as error:
                report.note(error)

    async def consume(together: list[str]) -> None:
        new = dict.fromkeys(together, ">")
        while not is_over.is_set():
            try:
                reply = await client.xreadgroup(GROUP, "anna", new, count=COUNT, block=BLOCK_MS)
                for stream, entries in reply:
                    ids = [entry_id for entry_id, _ in entries]
                    report.given += [(stream, entry_id) for entry_id in ids]
                    await client.xack(stream, GROUP, *ids)
                    report.acknowledged += [(stream, entry_id) for entry_id in ids]
            except (redis.ConnectionError, AttributeError):
                report.errors["CLOSED"] += 1
            except redis.RedisError as error:
                report.note(error)

    async with client:
        await asyncio.gather(*map(consume, streams), *map(produce, _shares(streams)))


def _shares(streams: list[list[str]]) -> list[list[str]]:
    """The streams of each producer."""
    every = list(itertools.chain(*streams))
    return [every[first::PRODUCERS] for first in range(PRODUCERS)]


def check(client: Any, streams: list[list[str]], report: Report) -> None:
    """Nothing was lost or given twice, and nothing is acknowledged that nobody was given."""
    given = Counter(report.given)
    assert not [entry for entry, times in given.items() if times > 1]
    unexpected = [text for text in report.errors if not text.startswith(EXPECTED_ERRORS)]
    assert not unexpected, report.errors
    lost = set(report.written)
    for stream in itertools.chain(*streams):
        entries = {(stream, entry_id) for entry_id, _ in client.xrange(stream)}
        (group,) = client.xinfo_groups(stream)
        waiting = {(stream, entry_id) for entry_id in pending_ids(client, stream)}
        last = as_numbers(group["last-delivered-id"])
        delivered = {(name, entry_id) for name, entry_id in entries if as_numbers(entry_id) <= last}
        acknowledged = delivered - waiting
        assert acknowledged <= set(given)
        assert {entry for entry in report.acknowledged if entry[0] == stream} <= acknowledged
        lost -= entries
    assert not lost


def pending_ids(client: Any, stream: str) -> list[str]:
    found = client.xpending_range(stream, GROUP, min="-", max="+", count=1_000_000)
    return [entry["message_id"] for entry in found]


def as_numbers(entry_id: str) -> tuple[int, int]:
    ms, _, seq = entry_id.partition("-")
    return int(ms), int(seq)
