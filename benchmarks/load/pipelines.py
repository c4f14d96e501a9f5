"""Pipelined XADD of entries that are packed in advance, from several clients.

redis-benchmark repeats the same bytes, except for the digits of a number; here all values differ.
Sending costs little more than copying, so this load is also faster if values are large or pipelines
long. Replies are counted by their first byte `$`, which no ID contains.
"""

from __future__ import annotations

import itertools
import select
import time
from functools import cached_property

from benchmarks.figures import Figure
from benchmarks.load.entries import Shape, adding
from benchmarks.load.load import Address
from benchmarks.load.processes import in_own_process
from benchmarks.machine import Stopwatch
from benchmarks.servers import Server, ServerError, connect

RECEIVE_BYTES = 1 << 18
WAIT_SECONDS = 20.0
# At least this many different writes, and all entries of the shape's pool.
LEAST_WRITES = 16


class Pipelining:
    """Entries of a shape for the stream `s`; the server makes the IDs."""

    def __init__(self, shape: Shape, clients: int, pipeline: int) -> None:
        self.reply = b""
        self._shape = shape
        self._clients = clients
        self._pipeline = pipeline

    def learn(self, server: Server) -> None:
        """Add one entry. Raises ServerError if it is refused."""
        self.reply = server.raw_reply(self._request)

    def run(self, at: Address, seconds: float) -> Figure:
        assert self._writes  # packed in this process, before the child is forked
        return in_own_process(lambda: self._run(at, seconds))

    @property
    def _request(self) -> bytes:
        return adding(b"s", self._shape) + self._shape.bodies[0]

    @cached_property
    def _writes(self) -> list[bytes]:
        count = max(LEAST_WRITES, self._shape.pool // self._pipeline) * self._pipeline
        bodies = itertools.islice(itertools.cycle(self._shape.bodies), count)
        entries = [adding(b"s", self._shape) + body for body in bodies]
        starts = range(0, count, self._pipeline)
        return [b"".join(entries[start : start + self._pipeline]) for start in starts]

    def _run(self, at: Address, seconds: float) -> Figure:
        clients = {client.fileno(): client for client in map(connect, [at.port] * self._clients)}
        missing = dict.fromkeys(clients, self._pipeline)
        writes = itertools.cycle(self._writes)
        poll = select.epoll()
        for number in clients:
            poll.register(number, select.EPOLLIN)
        sent = 0
        with Stopwatch(at.pid) as watch:
            end = time.perf_counter() + seconds
            for client in clients.values():
                client.sendall(next(writes))
                sent += 1
            busy = len(clients)
            while busy:  # wait for all replies, so that the server has no work left
                for number, _ in _poll(poll):
                    client = clients[number]
                    missing[number] -= _replies(client.recv(RECEIVE_BYTES))
                    if missing[number] == 0 and time.perf_counter() < end:
                        missing[number] = self._pipeline
                        client.sendall(next(writes))
                        sent += 1
                    elif missing[number] == 0:
                        busy -= 1
        return Figure(sent * self._pipeline / watch.seconds, *watch.shares)


def _poll(poll: select.epoll) -> list[tuple[int, int]]:
    ready = poll.poll(WAIT_SECONDS)
    if not ready:
        raise ServerError("no reply comes")
    return ready


def _replies(chunk: bytes) -> int:
    """Return the number of replies that begin in a chunk. Raises ServerError if one is an error."""
    if not chunk or chunk.startswith(b"-") or b"\n-" in chunk:
        raise ServerError(f"an unexpected reply: {chunk[:80]!r}")
    return chunk.count(b"$")
