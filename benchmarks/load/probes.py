"""Measures the latency of other clients during one command: a probe is due each millisecond.

Probes are sent when they are due, whether or not the earlier ones have their replies: one that is
slow does not delay the others, nor hide what they would have waited (no coordinated omission).
"""

from __future__ import annotations

import select
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import NamedTuple

import hiredis

from benchmarks.servers import ServerError, connect, pack

PERIOD_SECONDS = 0.001
LEAST_SECONDS = 1.0
REQUEST = pack("XADD", "other", "MAXLEN", "~", "1000", "*", "f", "v")


class Probe(NamedTuple):
    """When a request was due (monotonic clock), and how long after that its reply arrived."""

    due: float
    delay_ms: float


def delays_during(port: int, work: Callable[[], None]) -> tuple[list[float], float]:
    """The latencies in ms of probes that were due while `work` ran, and its duration in seconds.

    At least a second is measured, so that work deferred after the reply counts as well.
    """
    with _probing(port) as probes:
        time.sleep(0.1)
        started = time.monotonic()
        work()
        taken = time.monotonic() - started
        time.sleep(max(0.1, LEAST_SECONDS - taken))
        ended = time.monotonic()
    return [probe.delay_ms for probe in probes if started <= probe.due <= ended], taken


@contextmanager
def _probing(port: int) -> Iterator[list[Probe]]:
    """Probe during the block; the list is filled at its end."""
    probes: list[Probe] = []
    forking = get_context("fork")
    here, there = forking.Pipe()
    process = forking.Process(target=_probe, args=(port, there), daemon=True)
    process.start()
    there.close()
    try:
        yield probes
        here.send("stop")
        answer = here.recv()
        if isinstance(answer, Exception):
            raise answer
        probes.extend(answer)
    finally:
        here.close()
        process.join(timeout=10)
        process.kill()


def _probe(port: int, commands: Connection) -> None:
    probes: list[Probe] = []
    try:
        connection, reader = connect(port), hiredis.Reader()
        due = time.monotonic()
        unanswered: deque[float] = deque()
        while unanswered or not commands.poll():
            wait = due - time.monotonic()
            if wait <= 0 and not commands.poll():
                connection.sendall(REQUEST)
                unanswered.append(due)
                due += PERIOD_SECONDS
            elif select.select([connection], [], [], max(wait, 0))[0]:
                reader.feed(connection.recv(1 << 16))
                probes += _answered(reader, unanswered)
        commands.send(probes)
    except Exception as error:
        commands.send(error)


def _answered(reader: hiredis.Reader, unanswered: deque[float]) -> Iterator[Probe]:
    """The probes whose replies have arrived. A long script may refuse them. Raises ServerError."""
    now = time.monotonic()
    while (reply := reader.gets()) is not False:
        if isinstance(reply, hiredis.ReplyError) and not str(reply).startswith("BUSY "):
            raise ServerError(f"a probe was refused: {reply}")
        due = unanswered.popleft()
        yield Probe(due, (now - due) * 1000)
