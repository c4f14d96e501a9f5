"""Throughput cases: run one load against a server for some time, and count requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from benchmarks.comparison import EMPTY, Case, Contender, Figures, Scale, Session, Setting
from benchmarks.figures import FULL_CORE, Figure, Row, Target
from benchmarks.load.load import Load
from benchmarks.machine import cpu_seconds
from benchmarks.servers import Server

CPU = "-cpu"


def rate(
    name: str,
    load: Callable[[Scale], Load],
    *,
    setting: Setting = EMPTY,
    before: Callable[[Server], object] | None = None,
    flush: bool = False,
    same_replies: bool = False,
    unit: str = "requests/s",
    least: float | None = None,
) -> Case:
    """A case of one row; of two with `least`: the processor time of a request as well.

    before: done to the setting's server for this case.
    flush: empty the server after each measurement, for loads that add.
    same_replies: both servers must answer the same bytes.
    least: the target of the rate, which counts where a core is full, and of the processor time.
    """
    rows = (Row(name, unit),) if least is None else _rows(name, unit, least)

    @contextmanager
    def session(contender: Contender, scale: Scale) -> Iterator[Session]:
        server = contender.server
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
            figures = {name: replace(figure, later=later)}
            if least is not None:
                figures[name + CPU] = Figure((figure.server_busy or 0) / figure.value * 1e6)
            return figures

        yield Session(measure, made.reply if same_replies else None)

    return Case(name, rows, session, setting, is_encrypted=setting.is_encrypted)


def _rows(name: str, unit: str, least: float) -> tuple[Row, ...]:
    """The rows of a rate and of the processor time of a request."""
    return (
        Row(name, unit, bounds=(Target(least, least_busy=FULL_CORE),)),
        Row(name + CPU, "µs of the server", lower_is_better=True, bounds=(Target(1 / least),)),
    )


def _later(server: Server) -> float:
    """Processor time in seconds that a server uses until it is idle."""
    before = cpu_seconds(server.pid)
    server.settle()
    return cpu_seconds(server.pid) - before
