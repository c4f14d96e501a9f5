"""Stall cases: the longest wait of another client during one request with very many IDs or keys.

Also a transaction of many requests, and clients that send invalid input before they log in. Servers
use both cores, as in the other stall cases.
"""

from __future__ import annotations

import random
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial

from benchmarks.cases.case import Case, Figures, Session
from benchmarks.cases.settings import Scale
from benchmarks.contenders import Contender
from benchmarks.figures import Figure, Row
from benchmarks.load.entries import deliver, entry_id, fill
from benchmarks.load.probes import delays_during
from benchmarks.machine import cpu_seconds
from benchmarks.servers import PING, PONG, Server, ServerError, connect, pack

COUNT = 300_000
STRANGERS = 40
STRANGER_BYTES = 64 * 1024
MSET_PAIRS = 1000

Bytes = Callable[[int], bytes]
Prepare = Callable[[Server, int], None]


def _nothing(server: Server, count: int) -> None:
    """Prepare nothing: the request creates what it needs."""


def _entries(server: Server, count: int) -> None:
    fill(server, b"s", count)


def _pending(server: Server, count: int) -> None:
    fill(server, b"s", count)
    deliver(server, b"s", b"g", count)


def _keys(server: Server, count: int) -> None:
    for start in range(0, count, MSET_PAIRS):
        pairs = [(b"key:%d" % n, b"v") for n in range(start, min(start + MSET_PAIRS, count))]
        server.call("MSET", *(word for pair in pairs for word in pair))


def _with_ids(*words: str | int, behind: tuple[str, ...] = (), counted: bool = False) -> Bytes:
    """A command with these words, then the IDs of all entries."""

    def make(count: int) -> bytes:
        number = ("IDS", count) if counted else ()
        return pack(*words, *number, *map(entry_id, range(count)), *behind)

    return make


def _shuffled_xdel(count: int) -> bytes:
    numbers = list(range(count))
    random.Random(7).shuffle(numbers)
    return pack("XDEL", "s", *map(entry_id, numbers))


def _with_keys(command: str) -> Bytes:
    return lambda count: pack(command, *[b"key:%d" % number for number in range(count)])


def _mset(count: int) -> bytes:
    return pack("MSET", *[word for n in range(count) for word in (b"key:%d" % n, b"w")])


def _exec(count: int) -> bytes:
    sets = b"".join([pack("SET", b"key:%d" % number, "w") for number in range(count * 2 // 3)])
    return pack("MULTI") + sets + pack("EXEC")


def _always(*words: str) -> Bytes:
    return lambda count: pack(*words)


@dataclass(frozen=True)
class Request:
    """The preparation of a server, and the request to measure."""

    prepare: Prepare
    make: Bytes
    since: tuple[int, ...] = ()


REQUESTS: dict[str, Request] = {
    "xdel": Request(_entries, _with_ids("XDEL", "s")),
    "xdel-shuffled": Request(_entries, _shuffled_xdel),
    "xdelex": Request(_entries, _with_ids("XDELEX", "s", counted=True), (8, 2, 0)),
    "xack": Request(_pending, _with_ids("XACK", "s", "g")),
    "xackdel": Request(_pending, _with_ids("XACKDEL", "s", "g", counted=True), (8, 2, 0)),
    "xnack": Request(_pending, _with_ids("XNACK", "s", "g", "FAIL", counted=True), (8, 8, 0)),
    "xclaim": Request(_pending, _with_ids("XCLAIM", "s", "g", "other", 0)),
    "xclaim-justid": Request(
        _pending, _with_ids("XCLAIM", "s", "g", "other", 0, behind=("JUSTID",))
    ),
    "xautoclaim": Request(
        _pending, _always("XAUTOCLAIM", "s", "g", "other", "0", "0", "COUNT", "1000000")
    ),
    "xinfo-full": Request(_pending, _always("XINFO", "STREAM", "s", "FULL", "COUNT", "0")),
    "history": Request(_pending, _always("XREADGROUP", "GROUP", "g", "c0", "STREAMS", "s", "0")),
    "copy-pending": Request(_pending, _always("COPY", "s", "t")),
    "exec": Request(_nothing, _exec),
    "mset": Request(_nothing, _mset),
    "mget": Request(_keys, _with_keys("MGET")),
    "exists": Request(_keys, _with_keys("EXISTS")),
    "touch": Request(_keys, _with_keys("TOUCH")),
    "del-keys": Request(_keys, _with_keys("DEL")),
    "unlink-keys": Request(_keys, _with_keys("UNLINK")),
}
RUBBISH = {"blank-lines": b"\r\n", "unknown-words": b"x\r\n"}


@contextmanager
def _single(name: str, contender: Contender, scale: Scale) -> Iterator[Session]:
    """The stream or the keys are created for each measurement, and removed after it."""
    request = REQUESTS[name]
    count = min(COUNT, scale.entries)
    wire = request.make(count)
    with contender.start(alone=False) as server:

        def measure() -> Figures:
            request.prepare(server, count)
            server.settle()
            figures = _felt(name, server, partial(_send, server.port, wire))
            server.flush()
            return figures

        yield Session(measure)


@contextmanager
def _rubbish(name: str, contender: Contender, scale: Scale) -> Iterator[Session]:
    """Many clients that never log in, at once; the probes are logged in."""
    line = RUBBISH[name]
    wire = line * (STRANGER_BYTES // len(line))
    with contender.start(alone=False) as server:

        def flood() -> None:
            server.call("CONFIG", "SET", "requirepass", "secret")
            with ExitStack() as stack:
                strangers = [stack.enter_context(connect(server.port)) for _ in range(STRANGERS)]
                senders = [threading.Thread(target=_rave, args=(s, wire)) for s in strangers]
                for sender in senders:
                    sender.start()
                for sender in senders:
                    sender.join()
            server.call("CONFIG", "SET", "requirepass", "")

        yield Session(lambda: _felt(name, server, flood))


def _rave(stranger: socket.socket, wire: bytes) -> None:
    """Send everything, and read until the server closes, which it may do at any time."""
    sender = threading.Thread(target=_send_all, args=(stranger, wire))
    sender.start()
    with suppress(ConnectionError):
        while stranger.recv(1 << 20):
            pass
    sender.join()


def _send_all(connection: socket.socket, wire: bytes) -> None:
    with suppress(OSError):
        connection.sendall(wire)
        connection.shutdown(socket.SHUT_WR)


def _send(port: int, wire: bytes) -> None:
    """Send a request and read its reply. Raises ServerError if it is an error."""
    with connect(port) as connection:
        sender = threading.Thread(target=connection.sendall, args=(wire + PING,))
        sender.start()
        head, tail = b"", b""
        while not tail.endswith(PONG):
            received = connection.recv(1 << 20)
            head, tail = head or received, tail[-len(PONG) :] + received
        sender.join()
    if head.startswith(b"-"):
        raise ServerError(repr(head[:100]))


def _felt(name: str, server: Server, work: Callable[[], None]) -> Figures:
    used = cpu_seconds(server.pid)
    delays_ms, seconds = delays_during(server.port, work)
    used = cpu_seconds(server.pid) - used
    line = f"{used:.2f} s of processor time, probes and what was put off included"
    return {
        f"stall/{name}-worst": Figure(max(delays_ms), lines=(line,)),
        f"stall/{name}-takes": Figure(seconds * 1000),
    }


def _case(name: str, opener: Callable[..., object], **settings: object) -> Case:
    rows = tuple(
        Row(f"stall/{name}-{what}", "ms", lower_is_better=True) for what in ("worst", "takes")
    )
    return Case(f"stall/{name}", rows, partial(opener, name), has_warm_up=False, **settings)  # type: ignore[arg-type]


CASES: list[Case] = [
    *(_case(name, _single, most_pairs=2, since=REQUESTS[name].since) for name in REQUESTS),
    *(_case(name, _rubbish, most_pairs=2) for name in RUBBISH),
]
