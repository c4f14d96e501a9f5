"""How soon a server answers, and how fast its data comes back from disk."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path

from benchmarks import load_speed
from benchmarks.cases.case import Case, Figures, Session
from benchmarks.cases.settings import Scale
from benchmarks.contenders import Contender
from benchmarks.figures import Figure, Measure, Row, Target
from benchmarks.machine import pinned

START_MS = 150


@contextmanager
def _start(contender: Contender, _: Scale) -> Iterator[Session]:
    """From starting the process to its first PONG."""

    def measure() -> Figures:
        started = time.perf_counter()
        with contender.start():
            return {"start/first-pong": Figure((time.perf_counter() - started) * 1000)}

    yield Session(measure)


@contextmanager
def _load(files: load_speed.Files, contender: Contender, _: Scale) -> Iterator[Session]:
    """Files that redis-server made. The time is what the server's log says, which is checked."""
    folder = _made(files)

    def measure() -> Figures:
        with pinned({contender.cores.server}):
            program = contender.program
            seconds = load_speed.seconds_to_load(
                list(program.command), folder, files, program.environment
            )
        return {f"load/{files.name}": Figure(files.count / seconds)}

    yield Session(measure)


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Where the files are that these cases load. It goes when this process ends."""
    return tempfile.TemporaryDirectory(prefix="rillway-bench-")


@cache
def _made(files: load_speed.Files) -> Path:
    folder = Path(_folder().name) / files.name
    folder.mkdir()
    files.make(folder)
    return folder


def _loading_case(files: load_speed.Files) -> Case:
    targets = (Target(Measure.RATIO, files.goal),) if files.goal else ()
    row = Row(f"load/{files.name}", files.unit, targets=targets)
    return Case(row.name, (row,), partial(_load, files), has_warm_up=False)


_START_TARGET = Target(Measure.VALUE, START_MS)

CASES: list[Case] = [
    Case(
        "start/first-pong",
        (Row("start/first-pong", "ms", lower_is_better=True, targets=(_START_TARGET,)),),
        _start,
        is_quick=True,
    ),
    *map(_loading_case, load_speed.ALL_FILES),
]
