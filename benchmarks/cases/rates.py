"""Cases that run one load against a server for a while, and count."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from benchmarks.cases.case import Case, Figures, Measurement, Scale
from benchmarks.figures import Figure, Measure, Row, Target
from benchmarks.load.load import Load
from benchmarks.load.replier import Replier
from benchmarks.machine import Cores
from benchmarks.servers import Contender, Server

LoadMaker = Callable[[Scale], Load]
Preparation = Callable[[Server, Scale], None]


def rate(
    name: str,
    load: LoadMaker,
    *,
    prepare: Preparation | None = None,
    directives: tuple[str, ...] = (),
    flush: bool = False,
    at_least: float | None = None,
    is_quick: bool = False,
    unit: str = "requests/s",
    since: tuple[int, ...] = (),
) -> Case:
    """A case of one row.

    flush: empty the server after each measurement, for loads that add.
    at_least: the ratio to reach.
    """
    targets = (Target(Measure.RATIO, at_least),) if at_least is not None else ()
    row = Row(name, unit, targets=targets)

    @contextmanager
    def session(contender: Contender, scale: Scale) -> Iterator[Measurement]:
        with contender.start(*directives) as server:
            if prepare:
                prepare(server, scale)
            made = load(scale)
            made.learn(server)
            ceiling = _ceiling(made, contender.cores, scale) if contender.is_ours else None

            def measure() -> Figures:
                server.settle()
                figure = made.run(server, scale.seconds)
                if flush:
                    server.flush()
                return {name: replace(figure, ceiling=ceiling)}

            if flush:
                server.flush()
            yield measure

    return Case(name, (row,), session, is_quick=is_quick, since=since)


def _ceiling(load: Load, cores: Cores, scale: Scale) -> float | None:
    """What the load reaches where the server does nothing; None where nothing could answer it."""
    if load.exchange is None:
        return None
    with Replier(load.exchange, cores.server) as replier:
        load.run(replier, scale.seconds / 2)
        figure: Figure = load.run(replier, scale.seconds / 2)
    return figure.value
