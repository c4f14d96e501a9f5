"""Null replicas, which read the stream and keep nothing, to measure the primary's cost.

They are the same for every primary, and use as little processor time as possible.
"""

from __future__ import annotations

import contextlib
import selectors
import signal
import socket
import time
from multiprocessing import get_context

from benchmarks.servers import Server, ServerError, connect, pack

CHUNK_BYTES = 1 << 20
ACK_SECONDS = 1.0
ATTACH_SECONDS = 60.0


def attach(count: int, server: Server) -> None:
    """Have the server feed `count` replicas until it ends. Raises ServerError if it does not."""
    connections = [connect(server.port) for _ in range(count)]
    for connection in connections:
        connection.sendall(pack("PSYNC", "?", "-1"))
    process = get_context("fork").Process(target=_drain, args=(connections,), daemon=True)
    process.start()
    for connection in connections:
        connection.close()
    server.wait_until(lambda: online(server) == count, ATTACH_SECONDS)
    if online(server) != count:
        raise ServerError(f"{online(server)} of {count} replicas are online")


def online(server: Server) -> int:
    """How many of its replicas are online."""
    return sum("state=online" in value for value in server.info("replication").values())


def _drain(connections: list[socket.socket]) -> None:
    """Read until the server has closed all connections."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends when the server does
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    left = set(connections)
    buffer = bytearray(CHUNK_BYTES)
    with selectors.DefaultSelector() as selector:
        for connection in connections:
            selector.register(connection, selectors.EVENT_READ, connection)
        told = time.monotonic()
        while left:
            for key, _ in selector.select(ACK_SECONDS):
                if not _received(key.data, buffer):
                    selector.unregister(key.data)
                    left.remove(key.data)
            if time.monotonic() > told + ACK_SECONDS:
                told = time.monotonic()
                for connection in left:
                    _acknowledge(connection)


def _received(connection: socket.socket, buffer: bytearray) -> int:
    try:
        return connection.recv_into(buffer)
    except OSError:
        return 0


def _acknowledge(connection: socket.socket) -> None:
    """Acknowledge, as a replica does; the next read notices a connection that is closed."""
    with contextlib.suppress(OSError):
        connection.sendall(pack("REPLCONF", "ACK", "0"))
