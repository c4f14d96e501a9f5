"""Stall cases: the p99.9 latency of other clients while one command works on millions of entries,
or one script runs for long.

Servers use both cores here, because children that save need one, too; so does the load, which is
light.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from benchmarks.cases.case import Case, Figures, Session
from benchmarks.cases.settings import Scale, Setting
from benchmarks.contenders import Contender
from benchmarks.figures import Figure, Measure, Row, Target, figure_of_delays
from benchmarks.load.entries import fill
from benchmarks.load.probes import delays_during
from benchmarks.servers import PING, PONG, Server, ServerError, connect, pack

AT_MOST_MS = 10.0
# How long a case may take.
TAKES_AT_MOST_MS = {"bgsave": 3000.0}
SAVE_SECONDS = 300.0
DESTRUCTIVE: dict[str, tuple[str, ...]] = {
    "flushall": ("FLUSHALL",),
    "del": ("DEL", "s"),
    "xtrim": ("XTRIM", "s", "MAXLEN", "0"),
}
READING: dict[str, tuple[str, ...]] = {"keys": ("KEYS", "*"), "xrange": ("XRANGE", "s", "-", "+")}
# About a second each. Others get -BUSY from the first millisecond on.
SCRIPTED = {
    "script-loop": "for i = 1, 2e8 do end",
    "script-calls": "for i = 1, 5e5 do redis.call('GET', 'key') end",
    "script-texts": "local t = ('x'):rep(2^20) for i = 1, 300 do local u = t:upper() end",
}
BUSY = ("--busy-reply-threshold", "1")
SAVING: dict[str, tuple[str, ...]] = {"bgsave": ("BGSAVE",), "bgrewriteaof": ("BGREWRITEAOF",)}


@contextmanager
def _destructive(name: str, contender: Contender, scale: Scale) -> Iterator[Session]:
    """Ten million entries are created for each measurement, which removes them."""
    with contender.start(alone=False) as server:

        def measure() -> Figures:
            _fill_large(server, scale)
            server.settle()
            figures = _felt(name, server, partial(_send, server.port, DESTRUCTIVE[name]))
            server.flush()
            return figures

        yield Session(measure)


@contextmanager
def _reading(name: str, contender: Contender, scale: Scale) -> Iterator[Session]:
    """A million entries, or a million keys, and all of them in one reply."""
    with contender.start(alone=False) as server:
        if name == "keys":
            _fill_keys(server, scale.entries)
        else:
            fill(server, b"s", scale.entries)

        def measure() -> Figures:
            server.settle()
            return _felt(name, server, partial(_send, server.port, READING[name]))

        yield Session(measure)


@contextmanager
def _scripted(name: str, contender: Contender, scale: Scale) -> Iterator[Session]:
    """A script that runs for long."""
    with contender.start(*BUSY, alone=False) as server:

        def measure() -> Figures:
            server.settle()
            return _felt(name, server, partial(_send, server.port, ("EVAL", SCRIPTED[name], "0")))

        yield Session(measure)


def _fill_large(server: Server, scale: Scale) -> None:
    fill(server, b"s", scale.large)


SAVED = Setting(
    "saved",
    ("--appendonly", "yes", "--auto-aof-rewrite-percentage", "0"),
    _fill_large,
    is_alone=False,
)


@contextmanager
def _saving(name: str, contender: Contender, scale: Scale) -> Iterator[Session]:
    """A child saves ten million entries; the measurement ends when it is done."""
    server = contender.shared(SAVED, scale)

    def save() -> None:
        server.call(*SAVING[name])
        server.wait_until(lambda: not _is_saving(server), SAVE_SECONDS)

    def measure() -> Figures:
        server.settle()
        return _felt(name, server, save)

    yield Session(measure)


def _felt(name: str, server: Server, work: Callable[[], None]) -> Figures:
    delays_ms, seconds = delays_during(server.port, work)
    return {
        f"stall/{name}-p99.9": figure_of_delays(delays_ms),
        f"stall/{name}-takes": Figure(seconds * 1000),
    }


def _send(port: int, words: tuple[str, ...]) -> None:
    """One command, and all of its reply. Raises ServerError if it is an error."""
    with connect(port) as connection:
        connection.sendall(pack(*words) + PING)
        last = _receive_to_pong(connection)
        if last.startswith(b"-"):
            raise ServerError(f"{words}: {last!r}")


def _receive_to_pong(connection: socket.socket) -> bytes:
    """Skip a reply, however long; its last bytes, without the PONG after it."""
    tail = b""
    while not tail.endswith(PONG):
        tail = tail[-len(PONG) :] + connection.recv(1 << 20)
    return tail[: -len(PONG)]


def _is_saving(server: Server) -> bool:
    state = server.info("persistence")
    return "1" in (state["rdb_bgsave_in_progress"], state["aof_rewrite_in_progress"])


def _fill_keys(server: Server, count: int) -> None:
    for start in range(0, count, 1000):
        pairs = [(f"key:{number}", "v") for number in range(start, start + 1000)]
        server.call("MSET", *(word for pair in pairs for word in pair))


def _row(name: str, at_most_ms: float | None) -> Row:
    targets = (Target(Measure.VALUE, at_most_ms),) if at_most_ms is not None else ()
    return Row(name, "ms", lower_is_better=True, targets=targets)


def _case(name: str, opener: Callable[..., object], **settings: object) -> Case:
    rows = (
        _row(f"stall/{name}-p99.9", AT_MOST_MS),
        _row(f"stall/{name}-takes", TAKES_AT_MOST_MS.get(name)),
    )
    return Case(f"stall/{name}", rows, partial(opener, name), has_warm_up=False, **settings)  # type: ignore[arg-type]


CASES: list[Case] = [
    *(_case(name, _destructive, most_pairs=2, is_quick=name == "flushall") for name in DESTRUCTIVE),
    *(_case(name, _reading) for name in READING),
    *(_case(name, _scripted) for name in SCRIPTED),
    *(_case(name, _saving, most_pairs=2, is_shared=True) for name in SAVING),
]
