"""Consumers of a group: each reads COUNT new entries, acknowledges them, reads on.

The end of a reply is known from its length, and its IDs from the first one, because they are
consecutive. So the XACK for it is packed in advance, as it would be in a program in C.
"""

from __future__ import annotations

import array
import time

from benchmarks.figures import Figure
from benchmarks.load.entries import FIRST_MS, entry_id
from benchmarks.load.load import Clients, Load
from benchmarks.load.processes import in_own_process
from benchmarks.machine import Stopwatch
from benchmarks.servers import Server, ServerError, connect, pack

OK = b"+OK\r\n"
NOTHING = b"*-1\r\n"
ID_DIGITS = 13


class Consuming(Load):
    """Rounds over the entries that `fill` has added, which COUNT divides, in the group `g`.

    Once all have been read and acknowledged, the group is set back to the first of them.
    """

    def __init__(self, count: int, consumers: int, entries: int, *, stream: bytes = b"s") -> None:
        if entries % count:
            raise ValueError(f"{count} does not divide {entries}")
        self._set_back = pack("XGROUP", "SETID", stream, "g", "0")
        self._reads = [
            pack("XREADGROUP", "GROUP", "g", f"c{i}", "COUNT", count, "STREAMS", stream, ">")
            for i in range(consumers)
        ]
        self._acks = [
            pack("XACK", stream, "g", *map(entry_id, range(start, start + count)))
            for start in range(0, entries, count)
        ]
        self._acknowledged = b":%d\r\n" % count
        self._count = count
        self._reply_bytes = 0
        self._id_offset = 0

    def learn(self, server: Server) -> None:
        """Read and acknowledge once. Raises ServerError if the reply is none of ours."""
        server.raw_reply(self._set_back)
        self.reply = server.raw_reply(self._reads[0])
        self._reply_bytes = len(self.reply)
        self._id_offset = self.reply.index(entry_id(0))
        acknowledged = server.raw_reply(self._acks[0])
        if acknowledged != self._acknowledged:
            raise ServerError(f"XACK answered {acknowledged!r}")

    @in_own_process
    def run(self, server: Server, seconds: float) -> Figure:
        clients = Clients(server.port, len(self._reads))
        control = connect(server.port)
        delays = array.array("d")
        with Stopwatch(server.pid) as watch:
            end = time.perf_counter() + seconds
            while time.perf_counter() < end:
                control.sendall(self._set_back)
                if control.recv(64) != OK:
                    raise ServerError("the group could not be set back")
                self._round(clients, end, delays)
        return watch.figure(len(delays) * self._count, delays)

    def _round(self, clients: Clients, end: float, delays: array.array[float]) -> None:
        """All entries once, or less if the time is over; how long each block took in seconds."""
        reads = dict(zip(clients.numbers, self._reads, strict=True))
        kept = dict.fromkeys(reads, b"")
        begun: dict[int, float] = {}
        for number, read in reads.items():
            begun[number] = time.perf_counter()
            clients.send(number, read)
        reading = len(reads)
        while reading:
            for number, chunk in clients.received():
                data, kept[number] = kept[number] + chunk, b""
                if data == self._acknowledged:
                    now = time.perf_counter()
                    delays.append(now - begun[number])
                    if now < end:
                        begun[number] = now
                        clients.send(number, reads[number])
                    else:
                        reading -= 1
                elif len(data) == self._reply_bytes:
                    ms = int(data[self._id_offset : self._id_offset + ID_DIGITS])
                    clients.send(number, self._acks[(ms - FIRST_MS) // self._count])
                elif data == NOTHING:
                    reading -= 1
                elif len(data) > self._reply_bytes or data.startswith((b"-", b":")):
                    raise ServerError(f"an unexpected reply: {data[:80]!r}")
                else:
                    kept[number] = data
