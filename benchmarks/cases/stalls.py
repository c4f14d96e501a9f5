"""Stall cases: what other clients feel while one command works on very much data.

Servers may use both cores here: a saving child needs one of its own, and the load is negligible.
The first value of a case is the 99.9th percentile of the waits of others (the longest of them is
shown below it), the second is how long the command took. Of a saving child there is a third: the
memory that it copied, as it was no longer shared with the server (copy on write).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial

from benchmarks.cases.durability import APPEND_ONLY
from benchmarks.comparison import Case, Contender, Figures, Scale, Session, Setting
from benchmarks.figures import Figure, Row, figure_of_delays
from benchmarks.load.entries import deliver, entry_id, fill
from benchmarks.load.probes import delays_during
from benchmarks.servers import PING, PONG, Server, ServerError, connect, pack

SAVE_SECONDS = 300.0
MOST_WORDS = 300_000
# A script that runs for about a second. Others get -BUSY from the first millisecond on.
SCRIPT = "for i = 1, 5e5 do redis.call('GET', 'key') end"

Prepare = Callable[[Server, int], None]


# -- what is there before --------------------------------------------------------------------------


def _nothing(server: Server, count: int) -> None:
    """The request creates what it needs."""


def _entries(server: Server, count: int) -> None:
    fill(server, count)


def _pending(server: Server, count: int) -> None:
    fill(server, count)
    deliver(server, count)


def _keys(server: Server, count: int) -> None:
    for start in range(0, count, 1000):
        pairs = [(b"key:%d" % n, b"v") for n in range(start, min(start + 1000, count))]
        server.call("MSET", *(word for pair in pairs for word in pair))


# -- requests --------------------------------------------------------------------------------------


def _always(*words: str) -> Callable[[int], bytes]:
    return lambda count: pack(*words)


def _with_ids(*words: str, after: tuple[str, ...] = ()) -> Callable[[int], bytes]:
    """A command with these words, then the IDs of all entries."""
    return lambda count: pack(*words, *map(entry_id, range(count)), *after)


def _with_keys(command: str) -> Callable[[int], bytes]:
    return lambda count: pack(command, *[b"key:%d" % number for number in range(count)])


@dataclass(frozen=True)
class Request:
    """A server's data, and the request to measure; `amount` is the number of either."""

    prepare: Prepare
    make: Callable[[int], bytes]
    amount: Callable[[Scale], int] = lambda scale: min(MOST_WORDS, scale.entries)
    directives: tuple[str, ...] = ()


def _of_large(*words: str) -> Request:
    return Request(_entries, _always(*words), lambda scale: scale.large)


def _of_million(prepare: Prepare, *words: str) -> Request:
    return Request(prepare, _always(*words), lambda scale: scale.entries)


REQUESTS = {
    "flushall": _of_large("FLUSHALL"),
    "del": _of_large("DEL", "s"),
    "xtrim": _of_large("XTRIM", "s", "MAXLEN", "0"),
    "keys": _of_million(_keys, "KEYS", "*"),
    "xrange": _of_million(_entries, "XRANGE", "s", "-", "+"),
    "script": Request(
        _nothing, _always("EVAL", SCRIPT, "0"), directives=("--busy-reply-threshold", "1")
    ),
    "xack": Request(_pending, _with_ids("XACK", "s", "g")),
    "xclaim": Request(_pending, _with_ids("XCLAIM", "s", "g", "other", "0", after=("JUSTID",))),
    "xautoclaim": Request(
        _pending, _always("XAUTOCLAIM", "s", "g", "other", "0", "0", "COUNT", "1000000")
    ),
    "history": Request(_pending, _always("XREADGROUP", "GROUP", "g", "c0", "STREAMS", "s", "0")),
    "mget": Request(_keys, _with_keys("MGET")),
}


@contextmanager
def _request(name: str, contender: Contender, scale: Scale) -> Iterator[Session]:
    """The data is created for each measurement, and removed after it."""
    request = REQUESTS[name]
    count = request.amount(scale)
    wire = request.make(count)
    with contender.start(*request.directives, alone=False) as server:

        def measure() -> Figures:
            request.prepare(server, count)
            server.settle()
            figures = felt(f"stall/{name}", server, partial(_send, server.port, wire))
            server.flush()
            return figures

        yield Session(measure)


def _send(port: int, wire: bytes) -> None:
    """Send a request and read its reply, however long. Raises ServerError if it is an error."""
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


def _fill_large(server: Server, scale: Scale) -> None:
    fill(server, scale.large)


SAVED = Setting(
    "saved",
    (*APPEND_ONLY, "--repl-diskless-sync-delay", "0"),
    _fill_large,
    is_alone=False,
)


# The field of INFO persistence with the memory that a command's child copied.
COPIED = {"bgsave": "rdb_last_cow_size", "bgrewriteaof": "aof_last_cow_size"}


@contextmanager
def _saving(name: str, contender: Contender, _: Scale) -> Iterator[Session]:
    """A child saves ten million entries; the measurement ends when it is done."""
    server = contender.server

    def save() -> None:
        server.call(name.upper())
        server.wait_until(lambda: not _is_saving(server), SAVE_SECONDS)

    def measure() -> Figures:
        server.settle()
        figures = felt(f"stall/{name}", server, save)
        copied_bytes = int(server.info("persistence")[COPIED[name]])
        return {**figures, f"stall/{name}-copies": Figure(copied_bytes / 1e6)}

    yield Session(measure)


@contextmanager
def _synchronising(name: str, contender: Contender, _: Scale) -> Iterator[Session]:
    """A new replica of the same kind takes ten million entries, until its link is up."""
    server = contender.server

    def measure() -> Figures:
        server.settle()
        with contender.start(alone=False) as replica:

            def follow() -> None:
                replica.call("REPLICAOF", "127.0.0.1", server.port)
                replica.wait_until(lambda: _is_up(replica), SAVE_SECONDS)

            figures = felt(f"stall/{name}", server, follow)
            if not _is_up(replica):
                raise ServerError("the replica is not up")
            return figures

    yield Session(measure)


@contextmanager
def _moving(name: str, contender: Contender, scale: Scale) -> Iterator[Session]:
    """A stream moves with its pending entries to another server of the same kind."""
    with contender.start(alone=False) as source, contender.start(alone=False) as target:
        watched = {"migrate-from": source, "migrate-to": target}[name]
        words = ("MIGRATE", "127.0.0.1", str(target.port), "s", "0", f"{SAVE_SECONDS * 1000:.0f}")

        def measure() -> Figures:
            _pending(source, scale.entries)
            source.settle()
            figures = felt(f"stall/{name}", watched, partial(_send, source.port, pack(*words)))
            target.flush()
            return figures

        yield Session(measure)


def _is_up(replica: Server) -> bool:
    return replica.info("replication").get("master_link_status") == "up"


def _is_saving(server: Server) -> bool:
    state = server.info("persistence")
    return "1" in (state["rdb_bgsave_in_progress"], state["aof_rewrite_in_progress"])


def stall_rows(name: str) -> tuple[Row, ...]:
    """What others feel, and how long it takes."""
    return tuple(Row(f"{name}-{what}", "ms", lower_is_better=True) for what in ("p99.9", "takes"))


def felt(name: str, server: Server, work: Callable[[], None], begin: float = 0.0) -> Figures:
    """The figures of `stall_rows`; `begin` as in `delays_during`."""
    delays_ms, seconds = delays_during(server.port, work, begin)
    return {f"{name}-p99.9": figure_of_delays(delays_ms), f"{name}-takes": Figure(seconds * 1000)}


def _case(
    name: str,
    opener: Callable[[str, Contender, Scale], AbstractContextManager[Session]],
    setting: Setting | None = None,
) -> Case:
    rows = stall_rows(f"stall/{name}")
    if name in COPIED:
        rows += (Row(f"stall/{name}-copies", "MB", lower_is_better=True),)
    opening = partial(opener, name)
    return Case(f"stall/{name}", rows, opening, setting, has_warm_up=False, most_pairs=2)


CASES: list[Case] = [
    *(_case(name, _request) for name in REQUESTS),
    *(_case(name, _saving, SAVED) for name in ("bgsave", "bgrewriteaof")),
    _case("full-sync", _synchronising, SAVED),
    *(_case(name, _moving) for name in ("migrate-from", "migrate-to")),
]
