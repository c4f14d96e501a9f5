"""Requests that were packed beforehand, sent in turn by some clients, each after its reply.

Replies are counted by their bytes, whose number is known: so a reply of a thousand entries costs
the load no more than the copying. Each request is sent once before, and what all replies are is
compared between the servers.
"""

from __future__ import annotations

import hashlib
import itertools
import select
import socket
import time
from collections.abc import Sequence

from benchmarks.figures import Figure
from benchmarks.load.load import Address
from benchmarks.load.processes import in_own_process
from benchmarks.machine import Stopwatch
from benchmarks.servers import Server, ServerError, Word, connect, pack

RECEIVE_BYTES = 1 << 20


class Cycling:
    """A number of clients that send these requests, which always get the same replies."""

    def __init__(self, requests: Sequence[Sequence[Word]], clients: int) -> None:
        self.reply = b""
        self._reply_bytes: list[int] = []
        self._requests = [pack(*request) for request in requests]
        self._clients = clients

    def learn(self, server: Server) -> None:
        """Send each request once. Raises ServerError if it is refused."""
        digest = hashlib.sha256()
        self._reply_bytes.clear()
        for request in self._requests:
            reply = server.raw_reply(request)
            digest.update(reply)
            self._reply_bytes.append(len(reply))
        self.reply = digest.digest()

    def run(self, at: Address, seconds: float) -> Figure:
        return in_own_process(lambda: self._run(at, seconds))

    def _run(self, at: Address, seconds: float) -> Figure:
        assert self._reply_bytes, "learn first"
        clients = {client.fileno(): client for client in self._connections(at)}
        turns = itertools.cycle(zip(self._requests, self._reply_bytes, strict=True))
        missing: dict[int, int] = {}
        buffer = bytearray(RECEIVE_BYTES)
        poll = select.epoll()
        count = 0
        with Stopwatch(at.pid) as watch:
            end = time.perf_counter() + seconds
            for number, client in clients.items():
                poll.register(number, select.EPOLLIN)
                request, missing[number] = next(turns)
                client.sendall(request)
            while time.perf_counter() < end:
                for number, _ in poll.poll():
                    client = clients[number]
                    received = client.recv_into(buffer)
                    if not received or received > missing[number]:
                        raise ServerError(f"a reply of {received} bytes, unlike those before")
                    missing[number] -= received
                    if missing[number] == 0:
                        count += 1
                        request, missing[number] = next(turns)
                        client.sendall(request)
        return Figure(count / watch.seconds, *watch.shares)

    def _connections(self, at: Address) -> list[socket.socket]:
        return [connect(at.port) for _ in range(self._clients)]
