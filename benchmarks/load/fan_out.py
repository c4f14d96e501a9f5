"""Fan-out: blocked readers of one stream, and a producer that adds entries for all of them.

In each round the producer adds a batch in one write, and the round ends when every reader has all
of it. A reader asks for the entries after its last one, as real readers do; the number of received
entries follows from the length of the reply, because all entries have the same length.
"""

from __future__ import annotations

import itertools
import select
import socket
import time
from collections.abc import Iterator
from functools import lru_cache

from benchmarks.figures import Figure
from benchmarks.load.entries import SMALL, entry_id, requests
from benchmarks.load.load import Address
from benchmarks.load.processes import in_own_process
from benchmarks.machine import Stopwatch
from benchmarks.servers import Server, ServerError, connect, pack

RECEIVE_BYTES = 1 << 18
# The bytes of a reply before its entries: *1, *2, the key, and the number of entries.
HEAD = b"*1\r\n*2\r\n$1\r\ns\r\n*"


# Packed in advance, so that packing is not measured. Further rounds pack their own.
ROUNDS_AHEAD = 4_000


class Fanning:
    """Blocked readers, and batches of entries for them. The stream `s` must be empty at first."""

    reply = b""

    def __init__(self, readers: int, batch: int) -> None:
        self._readers = readers
        self._batch = batch
        body = SMALL.bodies[0]
        self._entry_bytes = len(b"*2\r\n$15\r\n%b\r\n*2\r\n" % entry_id(0)) + len(body)

    @property
    def _ids_bytes(self) -> int:
        """The length of XADD's replies to a batch."""
        return self._batch * len(b"$15\r\n\r\n" + entry_id(0))

    def learn(self, server: Server) -> None:
        """Nothing to learn: the length of an entry is known, and each reply is checked."""

    def run(self, at: Address, seconds: float) -> Figure:
        _packed(self._batch)  # in this process, before the child is forked
        return in_own_process(lambda: self._run(at, seconds))

    def _run(self, at: Address, seconds: float) -> Figure:
        producer = connect(at.port)
        readers = [_Reader(at.port) for _ in range(self._readers)]
        by_number = {reader.connection.fileno(): reader for reader in readers}
        poll = select.epoll()
        for reader in readers:
            poll.register(reader.connection, select.EPOLLIN)
            reader.ask(self._wait_after(0))
        wanted = 0
        batches = _batches(self._batch)
        with Stopwatch(at.pid) as watch:
            end = time.perf_counter() + seconds
            while time.perf_counter() < end:
                wanted += self._batch
                producer.sendall(next(batches))
                self._receive_all(by_number, poll, wanted)
                _skip(producer, self._ids_bytes)
        delivered = wanted * self._readers
        return Figure(delivered / watch.seconds, *watch.shares)

    def _receive_all(self, readers: dict[int, _Reader], poll: select.epoll, wanted: int) -> None:
        """Receive until every reader has `wanted` entries, and blocks again."""
        waits: dict[int, bytes] = {}
        behind = len(readers)
        while behind:
            for number, _ in poll.poll():
                reader = readers[number]
                if not reader.receive(self._entry_bytes):
                    continue
                if (wait := waits.get(reader.entries)) is None:
                    wait = waits[reader.entries] = self._wait_after(reader.entries)
                reader.ask(wait)
                behind -= reader.entries == wanted

    @staticmethod
    def _wait_after(entries: int) -> bytes:
        """XREAD for the entries after the first `entries`, packed."""
        last = entry_id(entries - 1)
        return pack("XREAD", "BLOCK", "0", "STREAMS", "s", last)


class _Reader:
    """A blocked connection, its number of entries, and the missing bytes of a reply."""

    def __init__(self, port: int) -> None:
        self.connection: socket.socket = connect(port)
        self.entries = 0
        self._missing = 0

    def ask(self, request: bytes) -> None:
        self.connection.sendall(request)

    def receive(self, entry_bytes: int) -> bool:
        """Read available bytes; returns whether a reply is complete."""
        chunk = self.connection.recv(RECEIVE_BYTES)
        if self._missing == 0:
            line_end = chunk.find(b"\r\n", len(HEAD))
            if not chunk.startswith(HEAD) or line_end < 0:
                raise ServerError(f"an unexpected reply: {chunk[:80]!r}")
            count = int(chunk[len(HEAD) : line_end])
            self.entries += count
            self._missing = line_end + 2 + count * entry_bytes
        self._missing -= len(chunk)
        if not chunk or self._missing < 0:
            raise ServerError("a reply of another length than expected")
        return self._missing == 0


@lru_cache(maxsize=1)
def _packed(batch: int) -> list[bytes]:
    """The first batches, packed."""
    starts = range(0, ROUNDS_AHEAD * batch, batch)
    return [piece for start in starts for piece in requests(b"s", batch, SMALL, first=start)]


def _batches(batch: int) -> Iterator[bytes]:
    """All batches: first those packed in advance."""
    yield from _packed(batch)
    for number in itertools.count(ROUNDS_AHEAD):
        yield from requests(b"s", batch, SMALL, first=number * batch)


def _skip(connection: socket.socket, size: int) -> None:
    """Receive `size` bytes. Raises ServerError if the connection ends before."""
    while size:
        chunk = connection.recv(min(size, RECEIVE_BYTES))
        if not chunk or chunk.startswith(b"-"):
            raise ServerError(f"XADD was refused: {chunk[:80]!r}")
        size -= len(chunk)
