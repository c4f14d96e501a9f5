"""Cases of growth: the same rates on small and huge streams, and with many pending entries.

Each server runs four times side by side, once for each state, so that a state is measured moments
after its base, and with a heap of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from benchmarks.cases.case import Case, Figures, Session
from benchmarks.cases.settings import Scale
from benchmarks.cases.xrange import reading
from benchmarks.contenders import Contender
from benchmarks.figures import Measure, Row, Target
from benchmarks.load.consumers import Consuming
from benchmarks.load.entries import deliver, fill
from benchmarks.load.load import Load
from benchmarks.load.redis_benchmark import RedisBenchmark
from benchmarks.servers import Server

FLAT = 0.9
# The last entries of the stream, which the group reads repeatedly.
LAP = 10_000


@dataclass(frozen=True)
class State:
    """A stream `s` with a number of entries, the first of which are pending in its group `g`."""

    name: str
    entries: Callable[[Scale], int]
    has_pending: bool = False

    def fill(self, server: Server, scale: Scale) -> None:
        """Make the stream, and a copy `w` to which entries are added."""
        fill(server, b"s", self.entries(scale))
        if self.has_pending:
            deliver(server, b"s", b"g", self.entries(scale) - LAP)
        else:
            server.call("XGROUP", "CREATE", "s", "g", "0")
        server.call("COPY", "s", "w")


STATES = [
    State("10k", lambda scale: scale.small),
    State("1M", lambda scale: scale.entries),
    State("10M", lambda scale: scale.large),
    State("1M-pending", lambda scale: scale.entries + LAP, has_pending=True),
]


def _loads(entries: int) -> dict[str, Load]:
    capped = ("XADD", "w", "MAXLEN", "~", str(entries), "*", "f", "__rand_int__")
    return {
        "xadd-p1-c50": RedisBenchmark(capped, 50, 1),
        "xadd-p64-c50": RedisBenchmark(capped, 50, 64),
        "xrange-count-10": reading("xrange", 10, entries),
        "xrange-count-1000": reading("xrange", 1000, entries),
        "xread-count-100": reading("xread", 100, entries),
        "group-count-100": Consuming(b"s", b"g", 100, 10, LAP, entries - LAP),
    }


LOADS = tuple(_loads(10 * LAP))


@contextmanager
def _session(contender: Contender, scale: Scale) -> Iterator[Session]:
    with ExitStack() as stack:
        servers: dict[str, Server] = {}
        loads: dict[str, dict[str, Load]] = {}
        for state in STATES:
            server = stack.enter_context(contender.start())
            state.fill(server, scale)
            loads[state.name] = _loads(state.entries(scale))
            for load in loads[state.name].values():
                load.learn(server)
            servers[state.name] = server

        def measure() -> Figures:
            figures = {}
            for name in LOADS:
                for state in STATES:
                    server = servers[state.name]
                    server.settle()
                    figure = loads[state.name][name].run(server, scale.seconds)
                    figures[_row_name(name, state)] = figure
            return figures

        yield Session(measure)


def _row_name(load: str, state: State) -> str:
    return f"growth/{load}-at-{state.name}"


def _row(load: str, state: State) -> Row:
    unit = "entries/s" if load.startswith("group") else "requests/s"
    base = STATES[0]
    if state is base:
        return Row(_row_name(load, state), unit)
    targets = (Target(Measure.GROWTH, FLAT),)
    return Row(_row_name(load, state), unit, targets=targets, base=_row_name(load, base))


CASES: list[Case] = [
    Case("growth", tuple(_row(load, state) for load in LOADS for state in STATES), _session)
]
