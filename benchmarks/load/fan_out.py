"""Fan-out: blocked readers of one stream, and a producer that adds entries for all of them.

In each round the producer adds a batch in one write, and the round ends when every reader has all
of it. A reader asks for the entries after its last one, as real readers do; the number of received
entries follows from the length of the reply, because all entries have the same length.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from functools import lru_cache

from benchmarks.figures import Figure
from benchmarks.load.entries import SMALL, entry_id, requests
from benchmarks.load.load import Clients, Load
from benchmarks.load.processes import in_own_process
from benchmarks.machine import Stopwatch
from benchmarks.servers import Server, ServerError, pack

# The bytes of a reply before its entries: *1, *2, the key, and the number of entries.
HEAD = b"*1\r\n*2\r\n$1\r\ns\r\n*"
ENTRY_BYTES = len(b"*2\r\n$15\r\n%b\r\n*2\r\n" % entry_id(0)) + len(SMALL.bodies[0])
ID_BYTES = len(b"$15\r\n\r\n" + entry_id(0))
# Packed in advance, so that packing is not measured. Further rounds pack their own.
ROUNDS_AHEAD = 4_000


class Fanning(Load):
    """Blocked readers, and batches of entries for them. The stream `s` must be empty at first.

    There is nothing to learn: the length of an entry is known, and each reply is checked.
    """

    def __init__(self, readers: int, batch: int) -> None:
        self._readers = readers
        self._batch = batch

    def run(self, server: Server, seconds: float) -> Figure:
        _packed(self._batch)  # in this process, before the child is forked
        return self._run(server, seconds)

    @in_own_process
    def _run(self, server: Server, seconds: float) -> Figure:
        producer = Clients(server.port, 1)
        clients = Clients(server.port, self._readers)
        readers = {number: _Reader() for number in clients.numbers}
        for number in readers:
            clients.send(number, _wait_after(0))
        wanted = 0
        batches = _batches(self._batch)
        with Stopwatch(server.pid) as watch:
            end = time.perf_counter() + seconds
            while time.perf_counter() < end:
                wanted += self._batch
                producer.send(producer.numbers[0], next(batches))
                _receive_all(clients, readers, wanted)
                _skip_replies(producer, self._batch * ID_BYTES)
        return watch.figure(wanted * self._readers)


class _Reader:
    """The number of entries that a reader has, and the missing bytes of a reply."""

    def __init__(self) -> None:
        self.entries = 0
        self._missing = 0

    def take(self, chunk: bytes) -> bool:
        """Count the entries of a reply; returns whether it is complete. Raises ServerError."""
        if self._missing == 0:
            line_end = chunk.find(b"\r\n", len(HEAD))
            if not chunk.startswith(HEAD) or line_end < 0:
                raise ServerError(f"an unexpected reply: {chunk[:80]!r}")
            count = int(chunk[len(HEAD) : line_end])
            self.entries += count
            self._missing = line_end + 2 + count * ENTRY_BYTES
        self._missing -= len(chunk)
        if self._missing < 0:
            raise ServerError("a reply of another length than expected")
        return self._missing == 0


def _receive_all(clients: Clients, readers: dict[int, _Reader], wanted: int) -> None:
    """Receive until every reader has `wanted` entries, and blocks again."""
    waits: dict[int, bytes] = {}
    behind = len(readers)
    while behind:
        for number, chunk in clients.received():
            reader = readers[number]
            if not reader.take(chunk):
                continue
            if (wait := waits.get(reader.entries)) is None:
                wait = waits[reader.entries] = _wait_after(reader.entries)
            clients.send(number, wait)
            behind -= reader.entries == wanted


def _wait_after(entries: int) -> bytes:
    """XREAD for the entries after the first `entries`, packed."""
    return pack("XREAD", "BLOCK", "0", "STREAMS", "s", entry_id(entries - 1))


@lru_cache(maxsize=1)
def _packed(batch: int) -> list[bytes]:
    """The first batches, packed."""
    return [_adds(number, batch) for number in range(ROUNDS_AHEAD)]


def _adds(number: int, batch: int) -> bytes:
    (entries,) = requests(b"s", batch, first=number * batch)
    return b"".join(entries)


def _batches(batch: int) -> Iterator[bytes]:
    """All batches: first those packed in advance."""
    yield from _packed(batch)
    for number in itertools.count(ROUNDS_AHEAD):
        yield _adds(number, batch)


def _skip_replies(producer: Clients, size: int) -> None:
    """Receive `size` bytes. Raises ServerError if an XADD was refused."""
    while size:
        for _, chunk in producer.received():
            if chunk.startswith(b"-"):
                raise ServerError(f"XADD was refused: {chunk[:80]!r}")
            size -= len(chunk)
