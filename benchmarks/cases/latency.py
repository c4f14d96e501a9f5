"""The project's first latency test: from XADD to a consumer of a group, at an even rate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from benchmarks.comparison import Case, Contender, Figures, Scale, Session
from benchmarks.figures import Figure, Row, percentile
from benchmarks.load.delays import delays
from benchmarks.load.entries import deliver, fill
from rillway.demo.departures.report import latency_lines
from rillway.demo.departures.tally import Counters


@contextmanager
def _latency(name: str, contender: Contender, scale: Scale) -> Iterator[Session]:
    with contender.start() as server:
        if name == "unacknowledged":
            fill(server, scale.unacknowledged)
            deliver(server, scale.unacknowledged)
        else:
            server.call("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")

        def measure() -> Figures:
            server.settle()
            seconds = scale.latency_seconds
            run = delays(server, rate=10_000, consumers=10, count=10_000, seconds=seconds)
            within_ms = sum(delay < 1.0 for delay in run.delays_ms) / len(run.delays_ms)
            lines = tuple(seeds_lines(run.delays_ms))
            return {
                f"latency/{name}-within-1ms": Figure(within_ms * 100, *run.busy, lines=lines),
                f"latency/{name}-p99.9": Figure(percentile(run.delays_ms, 0.999), *run.busy),
            }

        yield Session(measure)


def seeds_lines(delays_ms: Sequence[float]) -> Iterator[str]:
    """A histogram by milliseconds, in the form of the project's first latency test."""
    tally = Counters.create()
    for delay_ms in delays_ms:
        tally.add_latency(delay_ms)
    return latency_lines({"all": tally})


def _case(name: str) -> Case:
    rows = (
        Row(f"latency/{name}-within-1ms", "% of messages"),
        Row(f"latency/{name}-p99.9", "ms", lower_is_better=True),
    )
    return Case(f"latency/{name}", rows, partial(_latency, name))


CASES: list[Case] = [_case("seeds"), _case("unacknowledged")]
