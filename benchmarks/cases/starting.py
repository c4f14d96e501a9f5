"""How soon a server answers, and how fast its data comes back from disk."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path

from benchmarks import loading
from benchmarks.cases.case import Case, Figures, Measurement, Scale
from benchmarks.figures import Figure, Measure, Row, Target
from benchmarks.machine import pinned
from benchmarks.servers import Contender

START_MS = 250
# Logs tell whole milliseconds, so this is not made smaller for a quick run.
LOADED_ENTRIES = 1_000_000


@contextmanager
def _start(contender: Contender, _: Scale) -> Iterator[Measurement]:
    """From starting the process to its first PONG."""

    def measure() -> Figures:
        started = time.perf_counter()
        with contender.start():
            return {"start/first-pong": Figure((time.perf_counter() - started) * 1000)}

    yield measure


@contextmanager
def _load(
    files: str, directives: list[str], contender: Contender, _: Scale
) -> Iterator[Measurement]:
    """Files that redis-server made; the time is what the server's log says."""
    folder = Path(_made_files().name)

    def measure() -> Figures:
        with pinned({contender.cores.server}):
            command = list(contender.program.command)
            seconds = loading.seconds_to_load(command, folder / files, directives)
        return {f"load/{files}": Figure(LOADED_ENTRIES / seconds)}

    yield measure


@cache
def _made_files() -> tempfile.TemporaryDirectory[str]:
    """The files that all of these cases load; they go when this process ends."""
    folder = tempfile.TemporaryDirectory(prefix="rillway-bench-")
    loading.make_files(Path(folder.name), LOADED_ENTRIES)
    return folder


CASES: list[Case] = [
    Case(
        "start/first-pong",
        (
            Row(
                "start/first-pong",
                "ms",
                lower_is_better=True,
                targets=(Target(Measure.VALUE, START_MS),),
            ),
        ),
        _start,
        is_quick=True,
    ),
    *(
        Case(
            f"load/{files}",
            (Row(f"load/{files}", "entries/s", targets=(Target(Measure.RATIO, goal),)),),
            partial(_load, files, directives),
            has_warm_up=False,
        )
        for _, files, directives, goal in loading.CASES
    ),
]
