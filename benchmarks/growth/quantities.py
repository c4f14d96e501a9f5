"""What is doubled: each quantity grows by requests, or by connections that stay open."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from benchmarks.servers import Server, Word, connect, pack

AT_ONCE = 500


@dataclass
class World:
    """A server and the connections that a quantity has opened on it."""

    server: Server
    connections: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def send(self, requests: Iterator[tuple[Word, ...]]) -> None:
        """Send requests, some at a time."""
        batch: list[bytes] = []
        for words in requests:
            batch.append(pack(*words))
            if len(batch) == AT_ONCE:
                self.server.pipeline(batch)
                batch.clear()
        if batch:
            self.server.pipeline(batch)

    def open(self, words: tuple[Word, ...] | None) -> None:
        """Open a connection that sends one request and leaves its reply."""
        connection = self.connections.enter_context(connect(self.server.port))
        if words is not None:
            connection.sendall(pack(*words))


Grow = Callable[[World, range], None]


def _keys(world: World, numbers: range) -> None:
    world.send(("SET", f"key:{i}", "v") for i in numbers)


def _expiring(world: World, numbers: range) -> None:
    world.send(("SET", f"expiring:{i}", "v", "EX", 100_000 + i) for i in numbers)


def _members(world: World, numbers: range) -> None:
    world.send(("HSET", "H", f"f{i}", i) for i in numbers)
    world.send(("SADD", "S", f"m{i}") for i in numbers)
    world.send(("ZADD", "Z", i, f"m{i}") for i in numbers)
    world.send(("RPUSH", "L", f"e{i}") for i in numbers)
    world.send(("APPEND", "STR", "x") for _ in numbers)
    world.send(("XADD", "X", "*", "f", "v") for _ in numbers)


def _consumers(world: World, numbers: range) -> None:
    world.send(("XGROUP", "CREATECONSUMER", "X", "g", f"c{i}") for i in numbers)


def _groups(world: World, numbers: range) -> None:
    world.send(("XGROUP", "CREATE", "X", f"g{i}", "0") for i in numbers)


def _pending(world: World, numbers: range) -> None:
    world.send(("XADD", "X", "*", "f", "v") for _ in numbers)
    world.send(iter([("XREADGROUP", "GROUP", "g", "c", "STREAMS", "X", ">")]))


def _trimmed(world: World, numbers: range) -> None:
    _pending(world, numbers)
    world.send(iter([("XTRIM", "X", "MAXLEN", 1)]))


def _waiters(world: World, numbers: range) -> None:
    for i in numbers:
        world.open(("BLPOP", f"w{i}", 0))


def _waiters_of_one(world: World, numbers: range) -> None:
    for _ in numbers:
        world.open(("BLPOP", "w", 0))


def _awaited_keys(world: World, numbers: range) -> None:
    for first in range(numbers.start, numbers.stop, AT_ONCE):
        keys = [f"a{i}" for i in range(first, min(first + AT_ONCE, numbers.stop))]
        world.open(("XREAD", "BLOCK", 0, "STREAMS", *keys, *["$"] * len(keys)))


def _subscribers(world: World, numbers: range) -> None:
    for i in numbers:
        world.open(("SUBSCRIBE", f"c{i}"))


def _channels(world: World, numbers: range) -> None:
    world.open(("SUBSCRIBE", *(f"c{i}" for i in numbers)))
    world.open(("PSUBSCRIBE", *(f"p{i}*" for i in numbers)))


def _scripts(world: World, numbers: range) -> None:
    world.send(("SCRIPT", "LOAD", f"return {i}") for i in numbers)


def _users(world: World, numbers: range) -> None:
    world.send(("ACL", "SETUSER", f"u{i}", "on", "nopass", "~a*", "+get") for i in numbers)


def _clients(world: World, numbers: range) -> None:
    for _ in numbers:
        world.open(("PING",))


def _tracking(world: World, numbers: range) -> None:
    for i in numbers:
        world.open(("CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", f"p{i}:"))


def _databases(world: World, numbers: range) -> None:
    for i in numbers:
        world.send(iter([("SELECT", i), ("SET", "k", "v")]))
    world.send(iter([("SELECT", 0)]))


def _libraries(world: World, numbers: range) -> None:
    code = "#!lua name=lib{0}\nredis.register_function('f{0}', function() return 1 end)"
    world.send(("FUNCTION", "LOAD", code.format(i)) for i in numbers)


# The sizes are doubled from the first to the last: connections cost a process more than keys.
QUANTITIES: dict[str, tuple[Grow, int, int]] = {
    "keys": (_keys, 4000, 64_000),
    "expiring keys": (_expiring, 4000, 64_000),
    "members": (_members, 4000, 64_000),
    "consumers": (_consumers, 1000, 16_000),
    "groups": (_groups, 500, 8000),
    "pending entries": (_pending, 4000, 64_000),
    "pending entries that were trimmed": (_trimmed, 4000, 64_000),
    "waiters": (_waiters, 250, 4000),
    "waiters of one key": (_waiters_of_one, 250, 4000),
    "awaited keys": (_awaited_keys, 1000, 16_000),
    "subscribers": (_subscribers, 250, 4000),
    "channels and patterns": (_channels, 1000, 16_000),
    "scripts": (_scripts, 500, 8000),
    "libraries": (_libraries, 100, 800),
    "users": (_users, 500, 8000),
    "clients": (_clients, 250, 4000),
    "tracking clients": (_tracking, 250, 4000),
    "databases": (_databases, 500, 8000),
}
# So many file descriptors: a client for each connection, in this process and in the server.
MOST_CONNECTIONS = 4000
