"""Readers that wait for new entries of one stream, and a producer that adds some for all of them.

In each round the producer adds a batch in one write, and the round ends when every reader has it
all. A reader asks for what follows the last entry that it got, as it would anywhere; how many that
were follows from the length of what came, for all entries have the same length.
"""

from __future__ import annotations

import select
import socket
import time

from benchmarks.figures import Figure
from benchmarks.load.entries import SMALL, entry_id, requests
from benchmarks.load.load import Address
from benchmarks.load.processes import in_own_process
from benchmarks.machine import Stopwatch
from benchmarks.servers import Server, ServerError, connect, pack

RECEIVE_BYTES = 1 << 18
# *1, *2, the key, and the number of entries, which stands between these and its CRLF.
HEAD = b"*1\r\n*2\r\n$1\r\ns\r\n*"


class Fanning:
    """So many readers; so many entries in each batch. The stream `s` must be empty at first."""

    exchange = None

    def __init__(self, readers: int, batch: int) -> None:
        self._readers = readers
        self._batch = batch
        body = SMALL.bodies[0]
        self._entry_bytes = len(b"*2\r\n$15\r\n%b\r\n*2\r\n" % entry_id(0)) + len(body)

    def learn(self, server: Server) -> None:
        """Nothing: the length of an entry is known, and each reply is looked at."""

    def run(self, at: Address, seconds: float) -> Figure:
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
        with Stopwatch(at.pid) as watch:
            end = time.perf_counter() + seconds
            while time.perf_counter() < end:
                (batch,) = requests(b"s", self._batch, SMALL, first=wanted)
                wanted += self._batch
                producer.sendall(batch)
                self._receive_all(by_number, poll, wanted)
                _skip(producer, self._batch * len(b"$15\r\n\r\n" + entry_id(0)))
        delivered = wanted * self._readers
        return Figure(delivered / watch.seconds, *watch.shares)

    def _receive_all(self, readers: dict[int, _Reader], poll: select.epoll, wanted: int) -> None:
        """Until every reader has so many entries, and waits for more."""
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
        """XREAD for those behind the first so many, packed."""
        last = entry_id(entries - 1)
        return pack("XREAD", "BLOCK", "0", "STREAMS", "s", last)


class _Reader:
    """A connection that waits; how many entries it got; what is missing of a reply."""

    def __init__(self, port: int) -> None:
        self.connection: socket.socket = connect(port)
        self.entries = 0
        self._missing = 0

    def ask(self, request: bytes) -> None:
        self.connection.sendall(request)

    def receive(self, entry_bytes: int) -> bool:
        """Take what is there; whether a reply is whole now."""
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


def _skip(connection: socket.socket, size: int) -> None:
    """Receive so many bytes. Raises ServerError if they end before."""
    while size:
        chunk = connection.recv(min(size, RECEIVE_BYTES))
        if not chunk or chunk.startswith(b"-"):
            raise ServerError(f"XADD was refused: {chunk[:80]!r}")
        size -= len(chunk)
