"""Requests that were packed beforehand, sent in turn by some clients, each after its replies.

Sending costs little more than copying, and replies are counted, not parsed: a reply of a thousand
entries costs the load no more than the copying.
"""

from __future__ import annotations

import array
import hashlib
import itertools
import time
from collections.abc import Sequence

from benchmarks.figures import Figure
from benchmarks.load.entries import Shape, requests
from benchmarks.load.load import Clients, Load
from benchmarks.load.processes import in_own_process
from benchmarks.machine import Stopwatch
from benchmarks.servers import Server, ServerError, Word, pack

# At least this many different writes, and all entries of the shape's pool.
LEAST_WRITES = 16


class PackedRequests(Load):
    """Requests that always get the same replies, which are counted by their bytes.

    Each request is sent once before, and the replies are compared between the servers.
    """

    def __init__(self, argvs: Sequence[Sequence[Word]], clients: int, *, pipeline: int = 1) -> None:
        requests = [pack(*argv) for argv in argvs]
        starts = range(0, len(requests), pipeline)
        self._writes = [b"".join(requests[start : start + pipeline]) for start in starts]
        self._sizes: list[int] = []
        self._clients = clients
        self._pipeline = pipeline

    def learn(self, server: Server) -> None:
        replies = [server.raw_reply(request) for request in self._writes]
        self.reply = hashlib.sha256(b"".join(replies)).digest()
        self._sizes = [len(reply) for reply in replies]

    @in_own_process
    def run(self, server: Server, seconds: float) -> Figure:
        clients = Clients(server.port, self._clients)
        turns = itertools.cycle(zip(self._writes, self._sizes, strict=True))
        missing: dict[int, int] = {}
        sent_at: dict[int, float] = {}
        delays = array.array("d")
        with Stopwatch(server.pid) as watch:
            end = time.perf_counter() + seconds
            for number in clients.numbers:
                write, missing[number] = next(turns)
                sent_at[number] = time.perf_counter()
                clients.send(number, write)
            busy = len(missing)
            while busy:  # wait for all replies, so that the server has no work left
                for number, chunk in clients.received():
                    missing[number] -= self._size(chunk)
                    if missing[number] < 0:
                        raise ServerError("a longer reply, unlike those before")
                    if missing[number]:
                        continue
                    now = time.perf_counter()
                    delays.append(now - sent_at[number])
                    if now < end:
                        write, missing[number] = next(turns)
                        sent_at[number] = now
                        clients.send(number, write)
                    else:
                        busy -= 1
        return watch.figure(len(delays) * self._pipeline, delays)

    def _size(self, chunk: bytes) -> int:
        """Return how much of a reply a chunk has."""
        return len(chunk)


class PackedEntries(PackedRequests):
    """Pipelined XADD of a shape's entries to a stream; the server makes the IDs.

    All values differ, where redis-benchmark repeats the same bytes, except for the digits of a
    number. Replies are counted by their first byte `$`, which no ID contains.
    """

    def __init__(self, shape: Shape, clients: int, pipeline: int, *, stream: bytes = b"s") -> None:
        super().__init__([], clients)
        self._pipeline = pipeline
        count = max(LEAST_WRITES, shape.pool // pipeline) * pipeline
        entries = [entry for batch in requests(stream, count, shape, first=None) for entry in batch]
        self._request = entries[0]
        starts = range(0, count, pipeline)
        self._writes = [b"".join(entries[start : start + pipeline]) for start in starts]
        self._sizes = [pipeline] * len(self._writes)

    def learn(self, server: Server) -> None:
        self.reply = server.raw_reply(self._request)

    def _size(self, chunk: bytes) -> int:
        if chunk.startswith(b"-") or b"\n-" in chunk:
            raise ServerError(f"an unexpected reply: {chunk[:80]!r}")
        return chunk.count(b"$")


class PackedTransactions(PackedEntries):
    """Transactions that add some entries each: MULTI, XADD, ..., EXEC in one write."""

    def __init__(self, shape: Shape, clients: int, size: int) -> None:
        super().__init__(shape, clients, size)
        self._writes = [pack("MULTI") + write + pack("EXEC") for write in self._writes]
