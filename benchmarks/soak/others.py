"""The well-behaved clients: XADD, GET and XREADGROUP at a modest rate, from a process of their own.

A request is sent when it is due, whether or not the earlier ones have their replies: one that is
slow does not delay the others, nor hide what they would have waited (no coordinated omission).
"""

from __future__ import annotations

import select
import socket
import time
from collections import deque
from multiprocessing import get_context
from typing import Any, NamedTuple

import hiredis

from benchmarks.load.processes import OwnProcess
from benchmarks.servers import Server, connect, pack

PERIOD_SECONDS = 0.002
CLIENTS = 2
# How long the last requests may wait once no more are sent.
PATIENCE_SECONDS = 60.0
STREAM, KEY = "soak:stream", "soak:key"
# In turn. NOACK: nothing stays pending, so the server keeps nothing of them.
REQUESTS = [
    pack("XADD", STREAM, "MAXLEN", "~", "1000", "*", "field", "value"),
    pack("GET", KEY),
    pack("XREADGROUP", "GROUP", "group", "one", "COUNT", "10", "NOACK", "STREAMS", STREAM, ">"),
]


class Delay(NamedTuple):
    """When a request was due (monotonic clock), and how long after that its reply arrived."""

    due: float
    ms: float


class Heard(NamedTuple):
    """What the clients got: the delays, errors, and the number of requests without a reply."""

    delays: list[Delay]
    errors: list[str]
    unanswered: int


class Others:
    """The clients, from now until `heard`."""

    def __init__(self, server: Server) -> None:
        server.call("XGROUP", "CREATE", STREAM, "group", "$", "MKSTREAM")
        server.call("SET", KEY, "value")
        self._stop = get_context("fork").Event()
        self._process = OwnProcess(lambda: _talk(server.port, self._stop))

    def heard(self) -> Heard:
        """Stop the clients; return what they got."""
        self._stop.set()
        return self._process.result()


class _Client:
    """One connection, with the requests that wait for their replies."""

    def __init__(self, port: int) -> None:
        self.socket = connect(port)
        self.reader = hiredis.Reader()
        self.waiting: deque[float] = deque()


def _talk(port: int, stop: Any) -> Heard:
    """Send requests until `stop` is set, and wait for the replies."""
    clients = [_Client(port) for _ in range(CLIENTS)]
    by_socket: dict[socket.socket, _Client] = {client.socket: client for client in clients}
    heard = Heard([], [], 0)
    due, sent = time.monotonic(), 0
    deadline = None
    while deadline is None or (
        any(client.waiting for client in clients) and time.monotonic() < deadline
    ):
        if deadline is None and stop.is_set():
            deadline = time.monotonic() + PATIENCE_SECONDS
        wait = due - time.monotonic() if deadline is None else PERIOD_SECONDS
        if wait <= 0:
            client = clients[sent % CLIENTS]
            client.socket.sendall(REQUESTS[sent % len(REQUESTS)])
            client.waiting.append(due)
            due, sent = due + PERIOD_SECONDS, sent + 1
        for ready in select.select(by_socket, [], [], max(wait, 0))[0]:
            _read(by_socket[ready], heard)
    return heard._replace(unanswered=sum(len(client.waiting) for client in clients))


def _read(client: _Client, heard: Heard) -> None:
    """Take the replies that have arrived. Raises ConnectionError if the server has closed."""
    received = client.socket.recv(1 << 16)
    if not received:
        raise ConnectionError("the server has closed the connection of a well-behaved client")
    client.reader.feed(received)
    now = time.monotonic()
    while (reply := client.reader.gets()) is not False:
        due = client.waiting.popleft()
        heard.delays.append(Delay(due, (now - due) * 1000))
        if isinstance(reply, hiredis.ReplyError):
            heard.errors.append(str(reply))
