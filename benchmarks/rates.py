"""Throughput cases: run one load against a server for some time, and count requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from benchmarks.comparison import EMPTY, Case, Contender, Figures, Scale, Session, Setting
from benchmarks.figures import Row
from benchmarks.load.load import Load
from benchmarks.machine import cpu_seconds
from benchmarks.servers import Server


def rate(
    name: str,
    load: Callable[[Scale], Load],
    *,
    setting: Setting = EMPTY,
    before: Callable[[Server], object] | None = None,
    flush: bool = False,
    same_replies: bool = False,
    unit: str = "requests/s",
) -> Case:
    """A case of one row.

    before: done to the setting's server for this case.
    flush: empty the server after each measurement, for loads that add.
    same_replies: both servers must answer the same bytes.
    """

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
            return {name: replace(figure, later=later)}

        yield Session(measure, made.reply if same_replies else None)

    return Case(name, (Row(name, unit),), session, setting, is_encrypted=setting.is_encrypted)


def _later(server: Server) -> float:
    """Processor time in seconds that a server uses until it is idle."""
    before = cpu_seconds(server.pid)
    server.settle()
    return cpu_seconds(server.pid) - before
