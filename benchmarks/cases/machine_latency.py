"""The machine's own latency: probes of a null server.

With the cores to itself, and beside a process that computes, like a saving child. No server can be
expected to have a lower latency.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial

from benchmarks.cases.case import Case, Figures, Session
from benchmarks.cases.settings import Scale
from benchmarks.contenders import Contender
from benchmarks.figures import Figure, Row, figure_of_delays
from benchmarks.load.load import SameReply
from benchmarks.load.probes import REQUEST, delays_during
from benchmarks.load.replier import Replier
from benchmarks.machine import end_with_parent

REPLY = b"$3\r\n1-1\r\n"
# That of Rillway's saving children.
NICENESS = 10


@contextmanager
def _idling(contender: Contender, scale: Scale) -> Iterator[Session]:
    def measure() -> Figures:
        with Replier(SameReply(len(REQUEST), REPLY), contender.cores.server) as replier:
            return {
                row.name: _felt(replier.port, scale.latency_seconds, beside_work)
                for row, beside_work in zip(ROWS, (False, True), strict=True)
            }

    yield Session(measure)


def _felt(port: int, seconds: float, beside_work: bool) -> Figure:
    with _computing() if beside_work else nullcontext():
        delays_ms, _ = delays_during(port, partial(time.sleep, seconds))
    return figure_of_delays(delays_ms)


@contextmanager
def _computing() -> Iterator[None]:
    """Run a process that computes without pause, on any of the cores."""
    child = os.fork()
    if not child:
        try:
            end_with_parent()
            os.nice(NICENESS)
            while True:
                time.monotonic()
        finally:
            os._exit(1)  # the clean-up of the run is not for this process
    try:
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


ROWS = (
    Row("machine/answer-p99.9", "ms", lower_is_better=True),
    Row("machine/answer-beside-work-p99.9", "ms", lower_is_better=True),
)
CASES: list[Case] = [
    Case("machine", ROWS, _idling, is_quick=True, has_warm_up=False, is_of_machine=True)
]
