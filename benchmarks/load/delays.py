"""The latency test: messages that contain their send time, ten consumers of one group.

A producer sends them at an even rate, whether or not they are consumed; each consumer reads up to
COUNT, looks at the clock, acknowledges, and waits for more. Both share the load's core.
"""

from __future__ import annotations

import array
import os
import select
import signal
import socket
import time
from dataclasses import dataclass

import hiredis

from benchmarks.load.load import Address
from benchmarks.load.processes import in_own_process
from benchmarks.machine import Stopwatch
from benchmarks.servers import ServerError, connect, pack

PAUSE_SECONDS = 0.0001
RECEIVE_BYTES = 1 << 18
START_SECONDS = 0.1


@dataclass(frozen=True)
class Delays:
    """The latency of each message in ms, and the processor use of server, load and others."""

    delays_ms: array.array[float]
    busy: tuple[float, float, float]


def delays(
    at: Address, key: str, group: str, *, rate: int, consumers: int, count: int, seconds: float
) -> Delays:
    """Run the test on a stream whose group exists and has nothing undelivered."""

    def consume() -> Delays:
        readers = [_Reader(at.port, key, group, f"c{i}", count) for i in range(consumers)]
        total = round(rate * seconds)
        producer = _start_producer(at.port, key, rate, total)
        try:
            with Stopwatch(at.pid) as watch:
                measured = _receive(readers, total, time.monotonic() + 3 * seconds + 10)
        finally:
            os.kill(producer, signal.SIGKILL)
            used = os.wait4(producer, 0)[2]
        # Wait for the producer only now, so that the stopwatch does not count it.
        server, load, others = watch.shares
        producer_busy = (used.ru_utime + used.ru_stime) / watch.seconds
        return Delays(measured, (server, load + producer_busy, max(0.0, others - producer_busy)))

    return in_own_process(consume)


class _Reader:
    """A consumer's connection, which always has a blocking read pending."""

    def __init__(self, port: int, key: str, group: str, name: str, count: int) -> None:
        self.connection = connect(port)
        self._read = pack(
            "XREADGROUP", "GROUP", group, name, "COUNT", count, "BLOCK", 0, "STREAMS", key, ">"
        )
        self._ack = ("XACK", key, group)
        self._replies = hiredis.Reader()
        self.connection.sendall(self._read)

    def receive(self, measured: array.array[float]) -> None:
        """Read available bytes; acknowledge the messages of complete replies, and block again."""
        chunk = self.connection.recv(RECEIVE_BYTES)
        if not chunk:
            raise ServerError("the server closed the connection")
        self._replies.feed(chunk)
        while (reply := self._replies.gets()) is not False:
            if isinstance(reply, hiredis.ReplyError):
                raise ServerError(str(reply))
            if isinstance(reply, int):  # the reply of XACK
                continue
            ((_, entries),) = reply
            now_ns = time.time_ns()
            measured.extend((now_ns - int(fields[1])) / 1e6 for _, fields in entries)
            ids = [entry_id for entry_id, _ in entries]
            self.connection.sendall(pack(*self._ack, *ids) + self._read)


def _receive(readers: list[_Reader], total: int, deadline: float) -> array.array[float]:
    measured = array.array("d")
    by_number = {reader.connection.fileno(): reader for reader in readers}
    poll = select.epoll()
    for number in by_number:
        poll.register(number, select.EPOLLIN)
    while len(measured) < total:
        for number, _ in poll.poll(1.0):
            by_number[number].receive(measured)
        if time.monotonic() > deadline:
            raise ServerError(f"{len(measured)} of {total} messages came in time")
    return measured


def _start_producer(port: int, key: str, rate: int, total: int) -> int:
    """Start the sending process; returns its ID. It ends when it is killed."""
    producer = os.fork()
    if producer:
        return producer
    try:
        _produce(connect(port), key, rate, total)
    finally:
        os._exit(1)


def _produce(connection: socket.socket, key: str, rate: int, total: int) -> None:
    """Send each message at its time, with that time inside.

    Then read on: closing a connection with unread replies would lose the last messages.
    """
    connection.settimeout(None)
    start = time.monotonic() + START_SECONDS
    sent = 0
    while sent < total:
        due = min(total, int((time.monotonic() - start) * rate))
        for _ in range(due - sent):
            message = ("XADD", key, "*", "sent", time.time_ns())
            connection.sendall(pack(*message))
        sent = max(sent, due)
        _take_replies(connection)
        time.sleep(PAUSE_SECONDS)
    while connection.recv(RECEIVE_BYTES):
        pass


def _take_replies(connection: socket.socket) -> None:
    """Read and drop available replies; the consumers see what was added."""
    try:
        connection.recv(RECEIVE_BYTES, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return
