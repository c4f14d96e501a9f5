"""Who produces, consumes and deletes, in threads which live through the loss of their server."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

from rillway.pipeline.wire.connection import Connection, ConnectionLost, ServerError

STREAM, GROUP = "orders", "billing"
PIPELINED = 50
PAUSE_SECONDS = 0.02


class Traffic:
    """`acknowledged`: numbers whose XADD was answered. `unknown`: those that were on their way.

    `deleted` and `deleted_ids`: what may have been deleted by XDEL.
    """

    def __init__(self, url: Callable[[], str], seed: int) -> None:
        self._url = url
        self._chance = random.Random(seed)
        self.acknowledged: list[int] = []
        self.unknown: set[int] = set()
        self.deleted: set[int] = set()
        self.deleted_ids: set[str] = set()
        self._lock = threading.Lock()
        self._next = 0
        self._ended = threading.Event()
        self._threads: list[threading.Thread] = []

    def begin(self) -> None:
        self._ended.clear()
        self._threads = [
            threading.Thread(target=self._repeat, args=(step,))
            for step in (self._produce, self._consume, self._delete)
        ]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def produce(self, count: int) -> None:
        """Add that many entries at once, in the calling thread."""
        with Connection(self._url()) as connection:
            for _ in range(0, count, PIPELINED):
                self._add(connection)

    def _repeat(self, step: Callable[[Connection], None]) -> None:
        while not self._ended.is_set():
            try:
                with Connection(self._url()) as connection:
                    while not self._ended.wait(PAUSE_SECONDS):
                        step(connection)
            except (ConnectionLost, ServerError):
                self._ended.wait(0.05)

    def _produce(self, connection: Connection) -> None:
        self._add(connection)

    def _add(self, connection: Connection) -> None:
        with self._lock:
            numbers = range(self._next, self._next + PIPELINED)
            self._next += PIPELINED
        self.unknown.update(numbers)
        replies = connection.call_all([("XADD", STREAM, "*", "n", n) for n in numbers])
        for number, reply in zip(numbers, replies, strict=True):
            if not isinstance(reply, ServerError):
                self.unknown.discard(number)
                self.acknowledged.append(number)

    def _delete(self, connection: Connection) -> None:
        """A few of the newest and a few of the oldest entries."""
        if self._chance.random() < 0.7:
            return
        newest = connection.call("XREVRANGE", STREAM, "+", "-", "COUNT", 300)
        oldest = connection.call("XRANGE", STREAM, "-", "+", "COUNT", 300)
        some = [entry for entry in newest + oldest if self._chance.random() < 0.01]
        if some:
            self.deleted.update(int(entry[1][1]) for entry in some)
            self.deleted_ids.update(entry[0].decode() for entry in some)
            connection.call("XDEL", STREAM, *[entry[0] for entry in some])

    def _consume(self, connection: Connection) -> None:
        connection.call_all([("XGROUP", "CREATE", STREAM, GROUP, "0", "MKSTREAM")])
        words = ("XREADGROUP", "GROUP", GROUP, "c", "COUNT", 500, "STREAMS", STREAM, ">")
        found = connection.call(*words)
        ids = [entry[0] for entry in found[0][1]] if found else []
        # Some are never acknowledged, some much later.
        now = [entry_id for entry_id in ids if self._chance.random() < 0.98]
        if now:
            connection.call("XACK", STREAM, GROUP, *now)
        if self._chance.random() < 0.2:
            old = connection.call("XPENDING", STREAM, GROUP, "-", "+", 200)
            if old:
                connection.call("XACK", STREAM, GROUP, *[entry[0] for entry in old])
