"""Cases of clusters of 1 to 8 nodes, all of them loaded: their rate, and what a request costs.

All nodes share the servers' core, so the rate is that of one core, however many they are. As many
servers without cluster mode get the same load in turn; the time of a request is what the servers'
processes used for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from statistics import median

from benchmarks.comparison import Case, Contender, Figures, Scale, Session
from benchmarks.figures import Figure, Row
from benchmarks.load.consumers import Consuming
from benchmarks.load.entries import SMALL, fill
from benchmarks.load.load import Load
from benchmarks.load.packed import PackedEntries
from benchmarks.machine import Stopwatch
from benchmarks.servers import Server, ServerError, free_port

SIZES = (1, 2, 4, 8)
SLOTS = 16_384
CLIENTS = 10
PIPELINE = 16
# Of nodes, and of servers alone, in turn.
TURNS = 3
# In the slots of each node, for any of the sizes: the last two digits of a name vary.
NAMES = [b"s%02d" % number for number in range(100)]
HOST = "127.0.0.1"


@dataclass(frozen=True)
class Kind:
    """A load on one stream. `is_flushed`: it adds, and the servers are emptied after it."""

    name: str
    unit: str
    load: Callable[[bytes, Scale], Load]
    is_flushed: bool = False
    has_group: bool = False


def _adding(stream: bytes, _: Scale) -> Load:
    return PackedEntries(SMALL, CLIENTS, PIPELINE, stream=stream)


def _consuming(stream: bytes, scale: Scale) -> Load:
    return Consuming(1, CLIENTS, scale.small, stream=stream)


KINDS = (
    Kind(f"xadd-p{PIPELINE}", "requests/s", _adding, is_flushed=True),
    Kind("group", "entries/s", _consuming, has_group=True),
)


@dataclass(frozen=True)
class Run:
    """What servers did that were loaded at once. `cost`: processor time in s for a request."""

    cost: float
    figure: Figure


def form(nodes: Sequence[Server], bus_ports: Sequence[int]) -> None:
    """Make a cluster of empty nodes, with the slots in equal parts. Raises ServerError."""
    for number, node in enumerate(nodes):
        first, end = (SLOTS * n // len(nodes) for n in (number, number + 1))
        node.call("CLUSTER", "ADDSLOTSRANGE", first, end - 1)
        node.call("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
    for node, bus_port in zip(nodes[1:], bus_ports[1:], strict=True):
        nodes[0].call("CLUSTER", "MEET", HOST, node.port, bus_port)
    for node in nodes:
        node.wait_until(partial(_is_ok, node))
        if not _is_ok(node):
            raise ServerError(f"{node.program.name} does not get into the cluster")


def _is_ok(node: Server) -> bool:
    return b"cluster_state:ok" in node.call("CLUSTER", "INFO")


def _stream_of(node: Server, number: int, size: int) -> bytes:
    """A name whose slot the node has."""
    slots = range(SLOTS * number // size, SLOTS * (number + 1) // size)
    return next(name for name in NAMES if node.call("CLUSTER", "KEYSLOT", name) in slots)


@contextmanager
def _session(kind: Kind, size: int, contender: Contender, scale: Scale) -> Iterator[Session]:
    with ExitStack() as stack:
        alone = [stack.enter_context(contender.start()) for _ in range(size)]
        ports = [free_port() for _ in range(size)]
        words = ("--cluster-enabled", "yes", "--cluster-port")
        nodes = [stack.enter_context(contender.start(*words, str(port))) for port in ports]
        form(nodes, ports)
        streams = [_stream_of(node, number, size) for number, node in enumerate(nodes)]
        loads = [kind.load(stream, scale) for stream in streams]
        for servers in (alone, nodes):
            for server, stream, load in zip(servers, streams, loads, strict=True):
                if kind.has_group:
                    fill(server, scale.small, stream=stream)
                    server.call("XGROUP", "CREATE", stream, "g", "0")
                load.learn(server)

        def measure() -> Figures:
            turns = [
                (_run(kind, loads, alone, scale), _run(kind, loads, nodes, scale))
                for _ in range(TURNS)
            ]
            cost = median(in_cluster.cost / before.cost for before, in_cluster in turns)
            best = max((turn[1].figure for turn in turns), key=lambda figure: figure.value)
            name = f"cluster/{kind.name}-nodes-{size}"
            return {name: best, f"{name}-cpu": Figure(cost)}

        yield Session(measure)


def _run(kind: Kind, loads: Sequence[Load], servers: Sequence[Server], scale: Scale) -> Run:
    """Load all servers at once."""
    for server in servers:
        server.settle()
    with (
        ThreadPoolExecutor(len(servers)) as pool,
        Stopwatch(*(one.pid for one in servers)) as watch,
    ):
        runs = [
            pool.submit(load.run, server, scale.seconds)
            for load, server in zip(loads, servers, strict=True)
        ]
        figures = [run.result() for run in runs]
    for server in servers:
        server.check_errors()
        if kind.is_flushed:
            server.flush()
    rate = sum(figure.value for figure in figures)
    busy = sum(figure.server_busy or 0 for figure in figures)
    return Run(busy / rate, Figure(rate, *watch.shares))


def _case(kind: Kind, size: int) -> Case:
    name = f"cluster/{kind.name}-nodes-{size}"
    rows = (
        Row(name, kind.unit),
        Row(f"{name}-cpu", "of the time of a server alone", lower_is_better=True),
    )
    return Case(name, rows, partial(_session, kind, size))


CASES: list[Case] = [_case(kind, size) for kind in KINDS for size in SIZES]
