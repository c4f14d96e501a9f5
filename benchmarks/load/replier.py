"""A null server: receives requests without parsing them, and sends the replies of a script.

A load's rate with it is the load's ceiling, or rather a lower bound of that: for many clients
without a pipeline, a Python loop that receives and sends is no faster than Redis.
"""

from __future__ import annotations

import os
import select
import signal
import socket
from collections.abc import Iterator
from types import TracebackType

from benchmarks.load.load import Script
from benchmarks.machine import end_with_parent, pinned

RECEIVE_BYTES = 1 << 18
# redis-benchmark requests two directives first, and accepts an error as the reply.
CONFIG = b"*3\r\n$6\r\nCONFIG\r\n"


class Replier:
    """The null server's process, for the duration of a `with` block."""

    def __init__(self, script: Script, core: int) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port = int(self._listener.getsockname()[1])
        with pinned({core}):
            self.pid = os.fork()
        if self.pid == 0:
            try:
                end_with_parent()
                _answer(self._listener, script)
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


def _newcomers(listener: socket.socket) -> Iterator[socket.socket]:
    """Accept all pending connections, so that no request runs before earlier clients have joined.

    A reader that joined after the batch for which it waits would wait for ever.
    """
    while True:
        try:
            client, _ = listener.accept()
        except BlockingIOError:
            return
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield client


def _answer(listener: socket.socket, script: Script) -> None:
    listener.setblocking(False)
    poll = select.epoll()
    poll.register(listener, select.EPOLLIN)
    clients: dict[int, socket.socket] = {}
    buffer = bytearray(RECEIVE_BYTES)
    while True:
        ready = [number for number, _ in poll.poll()]
        for client in _newcomers(listener):
            clients[client.fileno()] = client
            poll.register(client, select.EPOLLIN)
            script.join(client.fileno())
        for number in ready:
            if number == listener.fileno():
                continue
            client = clients[number]
            try:
                size = client.recv_into(buffer)
            except ConnectionResetError:
                size = 0
            if size == 0:
                poll.unregister(client)
                clients.pop(number).close()
            elif buffer.startswith(CONFIG):
                client.sendall(b"-ERR no directives\r\n" * 2)
            else:
                for receiver, reply in script.answers(number, size):
                    clients[receiver].sendall(reply)
