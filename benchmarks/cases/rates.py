"""Throughput cases: run one load against a server for some time, and count requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from benchmarks.cases.case import Case, Figures, Session
from benchmarks.contenders import EMPTY, Contender, Scale, Setting
from benchmarks.figures import Measure, Row, Target
from benchmarks.load.load import Load
from benchmarks.machine import cpu_seconds
from benchmarks.servers import Server

LoadMaker = Callable[[Scale], Load]


def rate(
    name: str,
    load: LoadMaker,
    *,
    setting: Setting = EMPTY,
    before: Callable[[Server], None] | None = None,
    flush: bool = False,
    same_replies: bool = False,
    at_least: float | None = None,
    is_quick: bool = False,
    unit: str = "requests/s",
    since: tuple[int, ...] = (),
) -> Case:
    """A case of one row.

    before: done to the setting's server for this case.
    flush: empty the server after each measurement, for loads that add.
    same_replies: both servers must answer the same bytes.
    at_least: the target ratio.
    """
    targets = (Target(Measure.RATIO, at_least),) if at_least is not None else ()
    row = Row(name, unit, targets=targets)

    @contextmanager
    def session(contender: Contender, scale: Scale) -> Iterator[Session]:
        server = contender.shared(setting, scale)
        if before:
            before(server)
        made = load(scale)
        made.learn(server)
        if flush:
            server.flush()

        def measure() -> Figures:
            server.settle()
            figure = made.run(server, scale.seconds)
            later = _later(server) / scale.seconds
            server.check_errors()
            if flush:
                server.flush()
            return {name: replace(figure, later=later)}

        yield Session(measure, made.reply if same_replies else None)

    return Case(name, (row,), session, is_quick=is_quick, since=since, is_shared=True)


def _later(server: Server) -> float:
    """Processor time in seconds that a server uses until it is idle."""
    before = cpu_seconds(server.pid)
    server.settle()
    return cpu_seconds(server.pid) - before
