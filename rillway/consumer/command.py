"""`rillway consume`: a command handles the entries of a stream, one process for each.

For a stream in partitions, a process for each partition may run at the same time.

The entry is a line of JSON on the command's standard input; exit status 0 acknowledges it. The
command inherits this program's standard output; this program's own log goes to standard error, as
does what the command writes there.

Exits with 0 after SIGTERM or SIGINT (the current entry is finished first), 1 if it cannot go on, 2
for a bad argument, 128 + N after a second signal N.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import math
import re
import signal
import time
from dataclasses import asdict

import redis

from rillway.client.partitions import Partitions
from rillway.consumer.arguments import parse_options
from rillway.consumer.consumer import Consumer
from rillway.consumer.process import Command
from rillway.consumer.worker import Counts, GiveUp, log
from rillway.pipeline.wire.urls import public_url
from rillway.plurals import count_of

PROGRESS_SECONDS = 5.0
ENTRY_ID = re.compile(r"\$|\d+(-\d+)?")


def main(arguments: list[str]) -> int:
    """Consume until a signal stops it. Returns the exit status."""
    options = parse_options(arguments)
    set_up_log(quiet=options.quiet)
    try:
        return asyncio.run(consume(options))
    except (GiveUp, redis.RedisError, OSError) as error:
        log.error("%s", error)
        return 1


async def consume(options: argparse.Namespace) -> int:
    """Run the consumer, and stop it on a signal. Returns the exit status."""
    stream, name = options.stream, options.stream
    if options.partitions:
        stream = Partitions(options.stream, options.partitions)
        name = f"{count_of(options.partitions, 'partition')} of {options.stream}"
    consumer = Consumer(
        options.url,
        stream=stream,
        group=options.group,
        name=options.consumer,
        start=options.start,
        count=options.count,
        block_ms=math.ceil(options.block * 1000),
        claim_idle_ms=math.ceil(options.claim_idle * 1000) if options.claim_idle else None,
        max_deliveries=options.max_deliveries,
        dead_letters=options.dead_letter,
        lease_ms=math.ceil(options.lease * 1000),
        trace=options.trace,
    )
    command = Command(options.command, trace=options.trace)
    running = asyncio.ensure_future(consumer.run(command))
    received: list[int] = []

    def on_signal(number: int) -> None:
        received.append(number)
        consumer.stop()
        if len(received) > 1:
            running.cancel()
        else:
            log.info("%s: finishing the current entry", signal.Signals(number).name)

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal, number)
    where = public_url(options.url)
    log.info("consuming %s as %s of %s at %s", name, options.consumer, options.group, where)
    progress = asyncio.ensure_future(report_progress(consumer.counts))
    try:
        await running
    except asyncio.CancelledError:
        return 128 + received[-1]
    finally:
        progress.cancel()
        log.info("in all: %s", summary(consumer.counts))
    return 0


# -- log and progress -----------------------------------------------------------------------------


def set_up_log(*, quiet: bool) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("rillway consume: %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.ERROR if quiet else logging.INFO)
    log.propagate = False


async def report_progress(counts: Counts) -> None:
    """Log a line from time to time, if anything has happened."""
    before, acknowledged, since = asdict(counts), 0, time.monotonic()
    while True:
        await asyncio.sleep(PROGRESS_SECONDS)
        now = asdict(counts)
        if now != before:
            rate = (counts.acknowledged - acknowledged) / (time.monotonic() - since)
            log.info("%s, %.1f a second", summary(counts), rate)
        before, acknowledged, since = now, counts.acknowledged, time.monotonic()


def summary(counts: Counts) -> str:
    """Return `12 acknowledged, 1 failed`: all counts except zeros, and always the first."""
    numbers = asdict(counts)
    parts = [f"{numbers.pop('acknowledged'):,} acknowledged"]
    parts += [f"{number:,} {name.replace('_', '-')}" for name, number in numbers.items() if number]
    return ", ".join(parts)


# -- arguments ------------------------------------------------------------------------------------
