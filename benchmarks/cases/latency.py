"""The latency test of the seeds: from XADD to a consumer of a group, at an even rate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from benchmarks.cases.case import Case, Figures, Session
from benchmarks.contenders import Contender, Scale
from benchmarks.figures import Figure, Measure, Row, Target, percentile
from benchmarks.load.delays import delays
from benchmarks.load.entries import deliver, fill
from benchmarks.servers import Server
from rillway.demo.report import latency_lines
from rillway.demo.tally import Tally

RATE = 10_000
CONSUMERS = 10
COUNT = 10_000
# The seeds' own figure, and what follows from their table.
SEEDS_SHARE = 74.11
SEEDS_MS = 2.0


@contextmanager
def _latency(name: str, contender: Contender, scale: Scale) -> Iterator[Session]:
    with contender.start() as server:
        _prepare(server, scale.unacknowledged if name == "unacknowledged" else 0)

        def measure() -> Figures:
            server.settle()
            run = delays(
                server,
                "s",
                "g",
                rate=RATE,
                consumers=CONSUMERS,
                count=COUNT,
                seconds=scale.latency_seconds,
            )
            within_ms = sum(delay < 1.0 for delay in run.delays_ms) / len(run.delays_ms)
            lines = tuple(seeds_lines(run.delays_ms))
            return {
                f"latency/{name}-within-1ms": Figure(within_ms * 100, *run.busy, lines=lines),
                f"latency/{name}-p99.9": Figure(percentile(run.delays_ms, 0.999), *run.busy),
            }

        yield Session(measure)


def _prepare(server: Server, unacknowledged: int) -> None:
    if unacknowledged:
        fill(server, b"s", unacknowledged)
        deliver(server, b"s", b"g", unacknowledged)
    else:
        server.call("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")


def seeds_lines(delays_ms: Sequence[float]) -> Iterator[str]:
    """A histogram by milliseconds, in the form of the project's first latency test."""
    tally = Tally.create()
    for delay_ms in delays_ms:
        tally.add_latency(delay_ms)
    return latency_lines({"all": tally})


def _case(name: str) -> Case:
    share = (Target(Measure.RATIO, 1.0), Target(Measure.VALUE, SEEDS_SHARE))
    late = (Target(Measure.RATIO, 1.0), Target(Measure.VALUE, SEEDS_MS))
    rows = (
        Row(f"latency/{name}-within-1ms", "% of messages", targets=share),
        Row(f"latency/{name}-p99.9", "ms", lower_is_better=True, targets=late),
    )
    return Case(f"latency/{name}", rows, partial(_latency, name), is_quick=name == "seeds")


CASES: list[Case] = [_case("seeds"), _case("unacknowledged")]
