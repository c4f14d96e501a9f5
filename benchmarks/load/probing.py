"""Measures the latency of other clients during one command: a probe is due each millisecond.

Latency counts from the moment at which a probe was due, so that probes that wait for a slow one
count, too (no coordinated omission).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import NamedTuple

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
        connection = connect(port)
        due = time.monotonic()
        while not commands.poll():
            time.sleep(max(0.0, due - time.monotonic()))
            connection.sendall(REQUEST)
            if not connection.recv(64).startswith(b"$"):
                raise ServerError("a probe was refused")
            probes.append(Probe(due, (time.monotonic() - due) * 1000))
            due += PERIOD_SECONDS
        commands.send(probes)
    except Exception as error:
        commands.send(error)
