"""Cases of memory: a process's growth for each entry, pending entry, connection, blocked client.

Each measurement has a new server of its own.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

from benchmarks.cases.case import Case, Figures, Session
from benchmarks.contenders import Contender, Scale
from benchmarks.figures import Figure, Measure, Row, Target
from benchmarks.load.entries import (
    KIB,
    MIXED,
    NUMBERS,
    SMALL,
    WIDE,
    Shape,
    acknowledge,
    deliver,
    fill,
)
from benchmarks.servers import PING, PONG, Server, connect, pack

CONNECTIONS = 1_000
# Filling takes long, and the figures of one server hardly vary.
PAIRS = 3
# There are fewer large entries, so that the total memory is the same.
SHAPES = {
    "small": (SMALL, 1),
    "1KiB": (KIB, 5),
    "20-fields": (WIDE, 5),
    "mixed": (MIXED, 5),
    "two-numbers": (NUMBERS, 1),
}
# The targets: as shares of Redis's bytes.
ENTRY_TARGETS = {"small": 0.58, "mixed": 0.7, "two-numbers": 0.6}
OWN_ID_TARGET = 0.58
PENDING_TARGETS = {"small": 0.54}
WAIT = pack("XREAD", "BLOCK", "0", "STREAMS", "s", "$")


class _Growth:
    """The growth of a server's memory since the creation of this object, divided by `count`."""

    def __init__(self, server: Server, count: int) -> None:
        self._server = server
        self._before = server.resident_bytes()
        self._count = count

    def figure(self) -> Figure:
        return Figure((self._server.resident_bytes() - self._before) / self._count)


@contextmanager
def _entries(name: str, contender: Contender, scale: Scale) -> Iterator[Session]:
    shape, divisor = SHAPES[name]
    count = scale.entries // divisor

    def measure() -> Figures:
        with contender.start() as server:
            return _grown_by_entries(server, name, shape, count)

    yield Session(measure)


def _grown_by_entries(server: Server, name: str, shape: Shape, count: int) -> Figures:
    """Fill; deliver to a group; acknowledge. The last is compared with the empty server."""
    entry = _Growth(server, count)
    fill(server, b"s", count, shape)
    figures = {f"memory/{name}-entry": entry.figure()}
    pending = _Growth(server, count)
    deliver(server, b"s", b"g", count)
    figures[f"memory/{name}-entry-pending"] = pending.figure()
    acknowledge(server, b"s", b"g", count)
    figures[f"memory/{name}-entry-acknowledged"] = entry.figure()
    return figures


@contextmanager
def _automatic(contender: Contender, scale: Scale) -> Iterator[Session]:
    """Small entries with automatic IDs, many in one millisecond."""

    def measure() -> Figures:
        with contender.start() as server:
            entry = _Growth(server, scale.entries)
            fill(server, b"s", scale.entries, SMALL, first=None)
            return {"memory/small-entry-of-own-id": entry.figure()}

    yield Session(measure)


@contextmanager
def _clients(name: str, contender: Contender, _: Scale) -> Iterator[Session]:
    """Connections that have sent a PING; some of them are blocked in a read."""

    def measure() -> Figures:
        with contender.start() as server, ExitStack() as stack:
            growth = _Growth(server, CONNECTIONS)
            for _ in range(CONNECTIONS):
                connection = stack.enter_context(connect(server.port))
                _ping(connection)
                if name == "blocked-client":
                    connection.sendall(WAIT)
            return {f"memory/{name}": growth.figure()}

    yield Session(measure)


def _ping(connection: socket.socket) -> None:
    connection.sendall(PING)
    assert connection.recv(64) == PONG


def _row(name: str, at_most: float | None = None) -> Row:
    targets = (Target(Measure.RATIO, at_most),) if at_most is not None else ()
    return Row(f"memory/{name}", "bytes", lower_is_better=True, targets=targets)


def _entries_case(name: str) -> Case:
    rows = (
        _row(f"{name}-entry", ENTRY_TARGETS.get(name)),
        _row(f"{name}-entry-pending", PENDING_TARGETS.get(name)),
        _row(f"{name}-entry-acknowledged"),
    )
    return Case(
        f"memory/{name}-entry",
        rows,
        partial(_entries, name),
        is_quick=name == "small",
        has_warm_up=False,
        most_pairs=PAIRS,
    )


CASES: list[Case] = [
    *map(_entries_case, SHAPES),
    Case(
        "memory/small-entry-of-own-id",
        (_row("small-entry-of-own-id", OWN_ID_TARGET),),
        _automatic,
        has_warm_up=False,
        most_pairs=PAIRS,
    ),
    *(
        Case(
            f"memory/{name}",
            (_row(name),),
            partial(_clients, name),
            is_quick=name == "idle-connection",
            has_warm_up=False,
            most_pairs=PAIRS,
        )
        for name in ("idle-connection", "blocked-client")
    ),
]
