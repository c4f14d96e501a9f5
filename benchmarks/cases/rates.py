"""Throughput cases: run one load against a server for some time, and count requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from benchmarks.cases.case import Case, Figures, Session
from benchmarks.cases.settings import EMPTY, Scale, Setting
from benchmarks.contenders import Contender
from benchmarks.figures import Figure, Measure, Row, Target
from benchmarks.load.load import Load
from benchmarks.load.replier import Replier
from benchmarks.machine import Cores, cpu_seconds
from benchmarks.servers import Server

LoadMaker = Callable[[Scale], Load]
# How long the load's own ceiling is measured, as a share of a measurement's duration.
CEILING_SHARE = 0.5


def rate(
    name: str,
    load: LoadMaker,
    *,
    setting: Setting = EMPTY,
    before: Callable[[Server], None] | None = None,
    flush: bool = False,
    same_replies: bool = False,
    at_least: float | None = None,
    growth: tuple[str, float] | None = None,
    is_quick: bool = False,
    unit: str = "requests/s",
    since: tuple[int, ...] = (),
) -> Case:
    """A case of one row.

    before: done to the setting's server for this case.
    flush: empty the server after each measurement, for loads that add.
    same_replies: both servers must answer the same bytes.
    at_least: the target ratio.
    growth: the base row, and the target share of its rate.
    """
    targets = [Target(Measure.RATIO, at_least)] if at_least is not None else []
    targets += [Target(Measure.GROWTH, growth[1])] if growth else []
    row = Row(name, unit, targets=tuple(targets), base=growth[0] if growth else None)

    @contextmanager
    def session(contender: Contender, scale: Scale) -> Iterator[Session]:
        server = contender.shared(setting, scale)
        if before:
            before(server)
        made = load(scale)
        made.learn(server)
        if flush:
            server.flush()
        ceiling = _ceiling(made, contender.cores, scale) if contender.is_ours else None

        def measure() -> Figures:
            server.settle()
            figure = made.run(server, scale.seconds)
            later = _later(server) / scale.seconds
            server.check_errors()
            if flush:
                server.flush()
            return {name: replace(figure, ceiling=ceiling, later=later)}

        yield Session(measure, made.reply if same_replies else None)

    return Case(name, (row,), session, is_quick=is_quick, since=since, is_shared=True)


def _later(server: Server) -> float:
    """Processor time in seconds that a server uses until it is idle."""
    before = cpu_seconds(server.pid)
    server.settle()
    return cpu_seconds(server.pid) - before


def _ceiling(load: Load, cores: Cores, scale: Scale) -> float | None:
    """The rate of the load with a null server; None if no null server can answer it."""
    script = load.script()
    if script is None:
        return None
    with Replier(script, cores.server) as replier:
        load.run(replier, scale.seconds * CEILING_SHARE / 2)
        figure: Figure = load.run(replier, scale.seconds * CEILING_SHARE)
    return figure.value
