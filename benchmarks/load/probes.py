"""Measures the latency of other clients during one command: a probe is due each millisecond.

Probes are sent when they are due, whether or not the earlier ones have their replies: one that is
slow does not delay the others, nor hide what they would have waited (no coordinated omission).
"""

from __future__ import annotations

import select
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import hiredis

from benchmarks.load.processes import OwnProcess
from benchmarks.servers import ServerError, connect, pack

PERIOD_SECONDS = 0.001
LEAST_SECONDS = 1.0
REQUEST = pack("XADD", "other", "MAXLEN", "~", "1000", "*", "f", "v")


class Probe(NamedTuple):
    """When a request was due (monotonic clock), and how long after that its reply arrived."""

    due: float
    delay_ms: float


def delays_during(
    port: int, work: Callable[[], None], begin: float = 0.0
) -> tuple[list[float], float]:
    """The latencies in ms of probes that were due while `work` ran, and its duration in seconds.

    `begin`: when the work begins at the earliest, in Unix seconds.

    At least a second is measured, so that work deferred after the reply counts as well.
    """
    connection, reader = connect(port), hiredis.Reader()
    probes: list[Probe] = []
    unanswered: deque[float] = deque()
    working = OwnProcess(partial(_timed, work, begin))
    due = time.monotonic()
    while unanswered or not working.is_done:
        wait = due - time.monotonic()
        if wait <= 0 and not working.is_done:
            connection.sendall(REQUEST)
            unanswered.append(due)
            due += PERIOD_SECONDS
        elif select.select([connection], [], [], max(wait, 0))[0]:
            reader.feed(connection.recv(1 << 16))
            probes += _answered(reader, unanswered)
    started, taken, ended = working.result()
    return [probe.delay_ms for probe in probes if started <= probe.due <= ended], taken


def _timed(work: Callable[[], None], begin: float) -> tuple[float, float, float]:
    """When the work began, how long it took, and until when probes count."""
    time.sleep(max(0.1, begin - time.time()))
    started = time.monotonic()
    work()
    taken = time.monotonic() - started
    time.sleep(max(0.1, LEAST_SECONDS - taken))
    return started, taken, time.monotonic()


def _answered(reader: hiredis.Reader, unanswered: deque[float]) -> Iterator[Probe]:
    """The probes whose replies have arrived. A long script may refuse them. Raises ServerError."""
    now = time.monotonic()
    while (reply := reader.gets()) is not False:
        if isinstance(reply, hiredis.ReplyError) and not str(reply).startswith("BUSY "):
            raise ServerError(f"a probe was refused: {reply}")
        due = unanswered.popleft()
        yield Probe(due, (now - due) * 1000)
