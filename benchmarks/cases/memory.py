"""Cases of memory: a process's growth for each entry, pending entry, key, connection and client.

Each measurement has a new server of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from benchmarks.comparison import Case, Contender, Figures, Scale, Session
from benchmarks.figures import Figure, Row
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
from benchmarks.servers import PING, PONG, Server, Word, pack

CONNECTIONS = 1_000
# There are fewer large entries, so that the total memory is the same.
SHAPES = {
    "small": (SMALL, 1),
    "1KiB": (KIB, 5),
    "20-fields": (WIDE, 5),
    "mixed": (MIXED, 5),
    "two-numbers": (NUMBERS, 1),
}
# Keys of the other types, with few members of some ten bytes; and one key with all members.
NUMBERED = [f"number{index:04}" for index in range(5)]
SMALL_KEYS: dict[str, list[str]] = {
    "string-key": ["SET", "{key}", "0123456789"],
    "expiring-string-key": ["SET", "{key}", "0123456789", "EX", "100000"],
    "hash-key-of-5": ["HSET", "{key}", *(word for name in NUMBERED for word in (name, name))],
    "set-key-of-5": ["SADD", "{key}", *NUMBERED],
    "set-key-of-5-integers": ["SADD", "{key}", *map(str, range(1000, 1005))],
    "sorted-set-key-of-5": ["ZADD", "{key}", *(word for name in NUMBERED for word in ("1", name))],
    "list-key-of-5": ["RPUSH", "{key}", *NUMBERED],
}
LARGE_KEYS: dict[str, list[str]] = {
    "hash-member": ["HSET", "key", "{member}", "{member}"],
    "set-member": ["SADD", "key", "{member}"],
    "sorted-set-member": ["ZADD", "key", "{score}", "{member}"],
    "list-element": ["RPUSH", "key", "{member}"],
}
PER_KEY = 10  # there are as many times fewer keys than members
BATCH = 1_000
WAIT = pack("XREAD", "BLOCK", "0", "STREAMS", "s", "$")

Measurement = Callable[[Server, Scale], Figures]


class _Growth:
    """The growth of a server's memory since the creation of this object, divided by `count`."""

    def __init__(self, server: Server, count: int) -> None:
        self._server = server
        self._before = server.resident_bytes()
        self._count = count

    def figure(self) -> Figure:
        return Figure((self._server.resident_bytes() - self._before) / self._count)


def _entries(name: str, shape: Shape, divisor: int) -> Measurement:
    """Fill; deliver to a group; acknowledge. The last is compared with the empty server."""

    def measure(server: Server, scale: Scale) -> Figures:
        count = scale.entries // divisor
        entry = _Growth(server, count)
        fill(server, count, shape)
        figures = {f"memory/{name}-entry": entry.figure()}
        pending = _Growth(server, count)
        deliver(server, count)
        figures[f"memory/{name}-entry-pending"] = pending.figure()
        acknowledge(server, count)
        figures[f"memory/{name}-entry-acknowledged"] = entry.figure()
        return figures

    return measure


def _own_ids(server: Server, scale: Scale) -> Figures:
    """Small entries with automatic IDs, many in one millisecond."""
    entry = _Growth(server, scale.entries)
    fill(server, scale.entries, first=None)
    return {"memory/small-entry-of-own-id": entry.figure()}


def _filled(words: list[str], number: int) -> list[Word]:
    name = f"{number:010}"
    return [word.format(key=name, member=name, score=number) for word in words]


def _words(words: list[str], divisor: int, name: str) -> Measurement:
    """The same request for many keys, or many members; each has ten digits of its own."""

    def measure(server: Server, scale: Scale) -> Figures:
        count = scale.entries // divisor
        growth = _Growth(server, count)
        for first in range(0, count, BATCH):
            server.pipeline(
                [pack(*_filled(words, n)) for n in range(first, min(first + BATCH, count))]
            )
        return {f"memory/{name}": growth.figure()}

    return measure


def _clients(name: str, request: bytes) -> Measurement:
    """Connections that have sent a PING, and then perhaps a request that blocks."""

    def measure(server: Server, _scale: Scale) -> Figures:
        with ExitStack() as stack:
            growth = _Growth(server, CONNECTIONS)
            for _ in range(CONNECTIONS):
                connection = stack.enter_context(server.connect())
                connection.sendall(PING)
                assert connection.recv(64) == PONG
                connection.sendall(request)
            return {f"memory/{name}": growth.figure()}

    return measure


def _case(measurement: Measurement, *names: str, is_encrypted: bool = False) -> Case:
    """A case whose figures of one server hardly vary, and whose filling takes long."""

    @contextmanager
    def session(contender: Contender, scale: Scale) -> Iterator[Session]:
        def measure() -> Figures:
            with contender.start(is_encrypted=is_encrypted) as server:
                return measurement(server, scale)

        yield Session(measure)

    rows = tuple(Row(f"memory/{name}", "bytes", lower_is_better=True) for name in names)
    return Case(
        rows[0].name, rows, session, has_warm_up=False, most_pairs=3, is_encrypted=is_encrypted
    )


CASES: list[Case] = [
    *(
        _case(
            _entries(name, shape, divisor),
            *(f"{name}-entry", f"{name}-entry-pending", f"{name}-entry-acknowledged"),
        )
        for name, (shape, divisor) in SHAPES.items()
    ),
    _case(_own_ids, "small-entry-of-own-id"),
    *(_case(_words(words, PER_KEY, name), name) for name, words in SMALL_KEYS.items()),
    *(_case(_words(words, 1, name), name) for name, words in LARGE_KEYS.items()),
    _case(_clients("idle-connection", b""), "idle-connection"),
    _case(_clients("idle-tls-connection", b""), "idle-tls-connection", is_encrypted=True),
    _case(_clients("blocked-client", WAIT), "blocked-client"),
]
