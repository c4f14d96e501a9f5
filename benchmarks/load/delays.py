"""The latency test: messages that contain their send time, ten consumers of one group.

A producer sends them at an even rate, whether or not they are consumed; each consumer reads up to
COUNT, looks at the clock, acknowledges, and waits for more. Both share the load's core.
"""

from __future__ import annotations

import array
import socket
import time
from dataclasses import dataclass
from functools import partial

import hiredis

from benchmarks.load.load import RECEIVE_BYTES, Clients
from benchmarks.load.processes import OwnProcess, in_own_process
from benchmarks.machine import Stopwatch
from benchmarks.servers import Server, ServerError, connect, pack

PAUSE_SECONDS = 0.0001
START_SECONDS = 0.1


@dataclass(frozen=True)
class Delays:
    """The latency of each message in ms, and the processor use of server, load and others."""

    delays_ms: array.array[float]
    busy: tuple[float, float, float]


@in_own_process
def delays(server: Server, *, rate: int, consumers: int, count: int, seconds: float) -> Delays:
    """Run the test on the stream `s`, whose group `g` exists and has nothing undelivered."""
    clients = Clients(server.port, consumers)
    total = round(rate * seconds)
    with Stopwatch(server.pid) as watch:
        producer = OwnProcess(partial(_produce, server.port, rate, total))
        measured = _consume(clients, count, total, time.monotonic() + 3 * seconds + 10)
        producer.result()
    return Delays(measured, watch.shares)


def _consume(clients: Clients, count: int, total: int, deadline: float) -> array.array[float]:
    """Acknowledge the messages of each reply, and block again."""
    reads = {
        number: pack(
            *("XREADGROUP", "GROUP", "g", f"c{number}", "COUNT", count),
            *("BLOCK", 0, "STREAMS", "s", ">"),
        )
        for number in clients.numbers
    }
    readers = {number: hiredis.Reader() for number in reads}
    for number, read in reads.items():
        clients.send(number, read)
    measured = array.array("d")
    while len(measured) < total:
        for number, chunk in clients.received():
            readers[number].feed(chunk)
            while (reply := readers[number].gets()) is not False:
                if isinstance(reply, hiredis.ReplyError):
                    raise ServerError(str(reply))
                if isinstance(reply, int):  # the reply of XACK
                    continue
                ((_, entries),) = reply
                now_ns = time.time_ns()
                measured.extend((now_ns - int(fields[1])) / 1e6 for _, fields in entries)
                ids = [entry_id for entry_id, _ in entries]
                clients.send(number, pack("XACK", "s", "g", *ids) + reads[number])
        if time.monotonic() > deadline:
            raise ServerError(f"{len(measured)} of {total} messages came in time")
    return measured


def _produce(port: int, rate: int, total: int) -> None:
    """Send each message at its time, with that time inside."""
    connection = connect(port)
    connection.settimeout(None)  # a socket with a timeout waits in spite of MSG_DONTWAIT
    start = time.monotonic() + START_SECONDS
    sent = answered = 0
    while answered < total:
        due = min(total, int((time.monotonic() - start) * rate))
        for _ in range(due - sent):
            connection.sendall(pack("XADD", "s", "*", "sent", time.time_ns()))
        sent = max(sent, due)
        answered += _take_replies(connection)
        time.sleep(PAUSE_SECONDS)


def _take_replies(connection: socket.socket) -> int:
    """Return how many replies have begun; the consumers see what was added."""
    try:
        return connection.recv(RECEIVE_BYTES, socket.MSG_DONTWAIT).count(b"$")
    except BlockingIOError:
        return 0
