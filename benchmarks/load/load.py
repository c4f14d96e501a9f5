"""What all loads have in common: the interface, and the connections of a load in Python."""

from __future__ import annotations

import select
from abc import ABC, abstractmethod
from collections.abc import Iterator

from benchmarks.figures import Figure
from benchmarks.servers import Server, ServerError, connect

RECEIVE_BYTES = 1 << 18
WAIT_SECONDS = 60.0


class Load(ABC):
    """Runs against a server for some time, and returns a figure.

    reply: the server's reply in `learn`.
    """

    reply = b""

    def learn(self, server: Server) -> None:  # noqa: B027  (most loads have to)
        """Record an example of the replies. Raises ServerError if they are not as expected."""

    @abstractmethod
    def run(self, server: Server, seconds: float) -> Figure:
        """Run for about `seconds`. Raises ServerError or RuntimeError if a reply is wrong."""


class Clients:
    """Connections to a server, each with a number."""

    def __init__(self, port: int, count: int) -> None:
        self._connections = {client.fileno(): client for client in map(connect, [port] * count)}
        self.numbers = tuple(self._connections)
        self._poll = select.epoll()
        for number in self.numbers:
            self._poll.register(number, select.EPOLLIN)

    def send(self, number: int, data: bytes) -> None:
        self._connections[number].sendall(data)

    def received(self) -> Iterator[tuple[int, bytes]]:
        """Wait for replies; the clients that have some, and the bytes. Raises ServerError."""
        ready = self._poll.poll(WAIT_SECONDS)
        if not ready:
            raise ServerError("no reply comes")
        for number, _ in ready:
            chunk = self._connections[number].recv(RECEIVE_BYTES)
            if not chunk:
                raise ServerError("the server closed the connection")
            yield number, chunk
