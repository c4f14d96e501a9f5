"""A server inside of the test's process: no port, no other process, and milliseconds to start.

All FakeServers share one thread. redis-py connects by pairs of sockets, so everything works as with
any server: blocking reads, timeouts, pub/sub, transactions, scripts.

Its modules are rillway.app.*, which shadow nothing of the user's.
"""

from __future__ import annotations

import os
import socket
import weakref
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rillway.testing.directives import Value, normalized, words

if TYPE_CHECKING:
    import redis
    import redis.asyncio

CLOSE_SECONDS = 5.0


class FakeServer:
    """One server, with its own data. It ends with this object, or with `close`."""

    def __init__(self, **directives: Value) -> None:
        """Directives are those of the configuration file, with `_` for `-`.

        Raises ValueError for one that is wrong, or needs a port or a process.
        """
        embedded = import_module("rillway.app.server.inprocess.embedded")
        thread = import_module("rillway.app.server.inprocess.loop_thread").running()
        lines = {name: words(value) for name, value in normalized(directives).items()}
        self._service = thread.call(embedded.start, thread.loop, lines)
        self._door: socket.socket = self._service.door
        self._loop, self._owner = thread.loop, os.getpid()
        self._finalizer = weakref.finalize(self, _close, self._service, self._loop, self._owner)

    def client(self, **options: Any) -> redis.Redis:
        """A `redis.Redis` of this server; `options` are its own, such as `decode_responses`."""
        from rillway.testing import fake_connections

        client: redis.Redis = fake_connections.client(self, **options)
        return client

    def async_client(self, **options: Any) -> redis.asyncio.Redis:
        """A `redis.asyncio.Redis` of this server."""
        from rillway.testing import fake_connections

        client: redis.asyncio.Redis = fake_connections.async_client(self, **options)
        return client

    def connect(self) -> socket.socket:
        """A new connection, for clients other than redis-py. Raises OSError after `close`.

        A fork of the process that started the server can connect, too: that process serves it.
        """
        mine, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self._door, [b"\0"], [theirs.fileno()])
            except OSError:
                mine.close()
                raise ConnectionRefusedError("the FakeServer is closed") from None
        return mine

    def flush(self) -> None:
        """Empties all databases."""
        with self.client() as client:
            client.flushall()

    @property
    def log(self) -> str:
        """The last lines of the server's log."""
        return "\n".join(self._service.log_lines)

    @property
    def running(self) -> bool:
        """False after `close`, and after SHUTDOWN."""
        return not self._service.is_ending

    def close(self) -> None:
        """Ends the server, if this process has started it; clients then get ConnectionError."""
        if self._finalizer.alive and os.getpid() == self._owner:
            from asyncio import run_coroutine_threadsafe

            self._finalizer.detach()
            self._door.close()
            run_coroutine_threadsafe(self._service.closed(), self._loop).result(CLOSE_SECONDS)

    def __enter__(self) -> FakeServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> FakeServer:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()


def _close(service: Any, loop: Any, owner: int) -> None:
    """End a server, without waiting: this may be called by the garbage collector, in any thread."""
    if os.getpid() == owner:  # a fork has no part in it
        service.door.close()
        loop.call_soon_threadsafe(service.close)
