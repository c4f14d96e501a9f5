"""A server that does nothing: it answers every request with the same bytes.

What a load reaches with it is the load's ceiling, or rather a bound from below: for many clients
without a pipeline, a loop in Python that receives and sends is itself no faster than Redis.
"""

from __future__ import annotations

import os
import select
import signal
import socket
from types import TracebackType

from benchmarks.load.load import Exchange
from benchmarks.machine import pinned

RECEIVE_BYTES = 1 << 18
# redis-benchmark asks for two directives first, and takes an error for an answer.
CONFIG = b"\r\n$6\r\nCONFIG\r\n"


class Replier:
    """The process that answers, for the time of a `with` block."""

    def __init__(self, exchange: Exchange, core: int) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port = int(self._listener.getsockname()[1])
        with pinned({core}):
            self.pid = os.fork()
        if self.pid == 0:
            try:
                _answer(self._listener, exchange)
            finally:
                os._exit(1)

    def __enter__(self) -> Replier:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._listener.close()
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def _answer(listener: socket.socket, exchange: Exchange) -> None:
    poll = select.epoll()
    poll.register(listener, select.EPOLLIN)
    clients: dict[int, socket.socket] = {}
    unanswered: dict[int, int] = {}
    buffer = bytearray(RECEIVE_BYTES)
    while True:
        for number, _ in poll.poll():
            if number == listener.fileno():
                client, _ = listener.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                clients[client.fileno()] = client
                unanswered[client.fileno()] = 0
                poll.register(client, select.EPOLLIN)
                continue
            client = clients[number]
            try:
                size = client.recv_into(buffer)
            except ConnectionResetError:
                size = 0
            if size == 0:
                poll.unregister(client)
                clients.pop(number).close()
            elif CONFIG in buffer[:size]:
                client.sendall(b"-ERR no directives\r\n" * 2)
            else:
                count, unanswered[number] = divmod(
                    unanswered[number] + size, exchange.request_bytes
                )
                client.sendall(exchange.reply * count)
