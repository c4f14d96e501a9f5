"""Consumers of a group: each reads COUNT new entries, acknowledges them, reads on.

The end of a reply is known from its length, and its IDs from the first one, because they are
consecutive. So the XACK for it is packed in advance, as it would be in a program in C.
"""

from __future__ import annotations

import select
import socket
import time

from benchmarks.figures import Figure
from benchmarks.load.entries import FIRST_MS, entry_id
from benchmarks.load.load import Address
from benchmarks.load.processes import in_own_process
from benchmarks.machine import Stopwatch
from benchmarks.servers import Server, ServerError, connect, pack

OK = b"+OK\r\n"
NOTHING = b"*-1\r\n"
ID_DIGITS = 13
RECEIVE_BYTES = 1 << 18


class Consuming:
    """Rounds over the entries numbered `first` to `first + entries`, which COUNT divides.

    Once all have been read and acknowledged, the group is set back to the first of them.
    """

    def __init__(
        self, key: bytes, group: bytes, count: int, consumers: int, entries: int, first: int = 0
    ) -> None:
        if entries % count:
            raise ValueError(f"{count} does not divide {entries}")
        start = b"0" if first == 0 else entry_id(first - 1)
        self._set_back = pack("XGROUP", "SETID", key, group, start)
        self._reads = [
            pack("XREADGROUP", "GROUP", group, f"c{i}", "COUNT", count, "STREAMS", key, ">")
            for i in range(consumers)
        ]
        self._key, self._group = key, group
        self._count, self._entries, self._first = count, entries, first
        self.reply = b""
        self._reply_bytes = 0
        self._id_offset = 0

    def learn(self, server: Server) -> None:
        """Read once, and acknowledge nothing. Raises ServerError if the reply is none of ours."""
        server.raw_reply(self._set_back)
        self.reply = server.raw_reply(self._reads[0])
        self._reply_bytes = len(self.reply)
        self._id_offset = self.reply.index(entry_id(self._first))
        acknowledged = server.raw_reply(self._acks()[0])
        if acknowledged != self._acknowledged:
            raise ServerError(f"XACK answered {acknowledged!r}")

    def run(self, at: Address, seconds: float) -> Figure:
        return in_own_process(lambda: self._run(at, seconds))

    @property
    def _acknowledged(self) -> bytes:
        return b":%d\r\n" % self._count

    def _acks(self) -> list[bytes]:
        """One XACK for each COUNT entries, packed."""
        last = self._first + self._entries
        return [
            pack("XACK", self._key, self._group, *map(entry_id, range(start, start + self._count)))
            for start in range(self._first, last, self._count)
        ]

    def _run(self, at: Address, seconds: float) -> Figure:
        acks = self._acks()
        consumers = [_Consumer(at.port, read) for read in self._reads]
        poll = select.epoll()
        for consumer in consumers:
            poll.register(consumer.connection, select.EPOLLIN)
        by_number = {consumer.connection.fileno(): consumer for consumer in consumers}
        control = connect(at.port)
        blocks = 0
        with Stopwatch(at.pid) as watch:
            end = time.perf_counter() + seconds
            while time.perf_counter() < end:
                control.sendall(self._set_back)
                if control.recv(64) != OK:
                    raise ServerError("the group could not be set back")
                blocks += self._round(by_number, poll, acks, end)
        return Figure(blocks * self._count / watch.seconds, *watch.shares)

    def _round(
        self, consumers: dict[int, _Consumer], poll: select.epoll, acks: list[bytes], end: float
    ) -> int:
        """All entries once, or less if the time is over; how often COUNT were acknowledged."""
        reply_bytes, id_offset = self._reply_bytes, self._id_offset
        acknowledged = self._acknowledged
        first_ms = FIRST_MS + self._first
        blocks = 0
        reading = len(consumers)
        for consumer in consumers.values():
            consumer.connection.sendall(consumer.read)
        while reading:
            for number, _ in poll.poll():
                consumer = consumers[number]
                data = consumer.receive()
                if data == acknowledged:
                    blocks += 1
                    if time.perf_counter() < end:
                        consumer.connection.sendall(consumer.read)
                    else:
                        reading -= 1
                elif len(data) == reply_bytes:
                    ms = int(data[id_offset : id_offset + ID_DIGITS])
                    consumer.connection.sendall(acks[(ms - first_ms) // self._count])
                elif data == NOTHING:
                    reading -= 1
                elif len(data) > reply_bytes or data.startswith((b"-", b":")):
                    raise ServerError(f"an unexpected reply: {data[:80]!r}")
                else:
                    consumer.keep(data)
        return blocks


class _Consumer:
    """A connection, and what came of a reply that is not whole."""

    def __init__(self, port: int, read: bytes) -> None:
        self.connection: socket.socket = connect(port)
        self.read = read
        self._kept = b""

    def receive(self) -> bytes:
        chunk = self.connection.recv(RECEIVE_BYTES)
        if not chunk:
            raise ServerError("the server closed the connection")
        if not self._kept:
            return chunk
        data, self._kept = self._kept + chunk, b""
        return data

    def keep(self, data: bytes) -> None:
        self._kept = data
