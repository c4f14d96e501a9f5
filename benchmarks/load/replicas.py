"""Replicas that only take the stream and acknowledge it: so a primary is measured, not they."""

from __future__ import annotations

import select
import time
from functools import partial

from benchmarks.load.load import RECEIVE_BYTES
from benchmarks.load.processes import OwnProcess
from benchmarks.servers import Server, ServerError, connect, pack

ACKNOWLEDGED_SECONDS = 0.1
MARK_BYTES = 40


def attach(count: int, server: Server) -> None:
    """Synchronise replicas with a server, which stay until it ends. Raises ServerError."""
    OwnProcess(partial(_follow, server.port, count))
    server.wait_until(lambda: _online(server) == count)
    if _online(server) != count:
        raise ServerError(f"of {count} replicas {_online(server)} are online")


def _online(server: Server) -> int:
    return sum("state=online" in value for value in server.info("replication").values())


class Sink:
    """One replica: the bytes of the stream are counted and dropped."""

    def __init__(self, port: int) -> None:
        self.socket = connect(port)
        self._received = b""
        self._ask("REPLCONF", "listening-port", port)
        self._ask("REPLCONF", "capa", "eof", "capa", "psync2")
        _, _, offset = self._ask("PSYNC", "?", -1).split()
        self.offset = int(offset)
        self._skip_snapshot()
        self.acknowledge()

    def receive(self) -> bool:
        """Take what has come; False once the primary has ended."""
        size = len(self.socket.recv(RECEIVE_BYTES))
        self.offset += size
        return size > 0

    def acknowledge(self) -> None:
        self.socket.sendall(pack("REPLCONF", "ACK", self.offset))

    def _ask(self, *words: str | int) -> bytes:
        self.socket.sendall(pack(*words))
        return self._line()

    def _line(self) -> bytes:
        """The next line that is not empty."""
        while True:
            while b"\n" not in self._received:
                self._receive_more()
            line, _, self._received = self._received.partition(b"\n")
            if line.strip():
                return line.strip()

    def _receive_more(self) -> None:
        chunk = self.socket.recv(RECEIVE_BYTES)
        if not chunk:
            raise ServerError("the primary closed the connection")
        self._received += chunk

    def _skip_snapshot(self) -> None:
        """Take the snapshot, announced with its length or with the mark at its end."""
        head = self._line()
        if head.startswith(b"$EOF:"):
            mark = head[5:]
            while (place := self._received.find(mark)) < 0:
                self._received = self._received[-MARK_BYTES:]
                self._receive_more()
            rest = self._received[place + MARK_BYTES :]
        else:
            missing = int(head[1:])
            while missing > len(self._received):
                missing -= len(self._received)
                self._received = b""
                self._receive_more()
            rest = self._received[missing:]
        self.offset += len(rest)


def _follow(port: int, count: int) -> None:
    """Take the streams until the primary ends."""
    sinks = {sink.socket.fileno(): sink for sink in (Sink(port) for _ in range(count))}
    poll = select.epoll()
    for number in sinks:
        poll.register(number, select.EPOLLIN)
    due = time.monotonic()
    while sinks:
        for number, _ in poll.poll(ACKNOWLEDGED_SECONDS):
            try:
                goes_on = sinks[number].receive()
            except ConnectionError:
                goes_on = False
            if not goes_on:
                poll.unregister(number)
                del sinks[number]
        if time.monotonic() >= due:
            due = time.monotonic() + ACKNOWLEDGED_SECONDS
            for sink in sinks.values():
                _acknowledge(sink)


def _acknowledge(sink: Sink) -> None:
    try:
        sink.acknowledge()
    except (TimeoutError, ConnectionError):
        return  # its next read tells
