"""Requests that were packed beforehand, sent in turn by some clients, each after its reply.

Replies are counted by their bytes, which all have the same number: so a reply of a thousand entries
costs the load no more than the copying. One of each is parsed before, and looked at.
"""

from __future__ import annotations

import itertools
import select
import socket
import time
from collections.abc import Sequence

from benchmarks.figures import Figure
from benchmarks.load.load import Address, Exchange
from benchmarks.load.processes import in_own_process
from benchmarks.machine import Stopwatch
from benchmarks.servers import Server, ServerError, Word, connect, pack

RECEIVE_BYTES = 1 << 20


class Cycling:
    """So many clients that send these requests, all of which get replies of one length."""

    def __init__(self, requests: Sequence[Sequence[Word]], clients: int) -> None:
        self.exchange: Exchange | None = None
        self._requests = [pack(*request) for request in requests]
        self._clients = clients

    def learn(self, server: Server) -> None:
        """Send each request once. Raises ServerError if replies are errors or of two lengths."""
        replies = [server.raw_reply(request) for request in self._requests]
        if len({len(reply) for reply in replies}) != 1:
            raise ServerError("the replies do not all have the same length")
        self.exchange = Exchange(len(self._requests[0]), replies[0])

    def run(self, at: Address, seconds: float) -> Figure:
        return in_own_process(lambda: self._run(at, seconds))

    def _run(self, at: Address, seconds: float) -> Figure:
        assert self.exchange is not None, "learn first"
        reply_bytes = len(self.exchange.reply)
        clients = {client.fileno(): client for client in self._connections(at)}
        missing = dict.fromkeys(clients, reply_bytes)
        requests = itertools.cycle(self._requests)
        buffer = bytearray(RECEIVE_BYTES)
        poll = select.epoll()
        for number in clients:
            poll.register(number, select.EPOLLIN)
        count = 0
        with Stopwatch(at.pid) as watch:
            end = time.perf_counter() + seconds
            for client in clients.values():
                client.sendall(next(requests))
            while time.perf_counter() < end:
                for number, _ in poll.poll():
                    client = clients[number]
                    received = client.recv_into(buffer)
                    if not received or received > missing[number]:
                        raise ServerError(f"a reply of {received} bytes, unlike those before")
                    missing[number] -= received
                    if missing[number] == 0:
                        count += 1
                        missing[number] = reply_bytes
                        client.sendall(next(requests))
        return Figure(count / watch.seconds, *watch.shares)

    def _connections(self, at: Address) -> list[socket.socket]:
        return [connect(at.port) for _ in range(self._clients)]
