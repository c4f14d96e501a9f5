"""redis-py's connections to a FakeServer: only the opening of the socket differs."""

from __future__ import annotations

import asyncio
import socket
from typing import Any, Protocol

import redis
import redis.asyncio
from redis.asyncio.connection import UnixDomainSocketConnection as AsyncUnixConnection
from redis.connection import UnixDomainSocketConnection

# What redis-py shows in place of an address.
NAME = "FakeServer"
# Options that say where a server is.
PLACES = ("host", "port", "path", "unix_socket_path", "connection_class")


class Server(Protocol):
    """A server that opens sockets to itself."""

    def connect(self) -> socket.socket:
        """A new connection. Raises OSError."""


class FakeConnection(UnixDomainSocketConnection):
    """A connection of `redis.Redis`."""

    host = NAME  # redis-py 7 looks for one

    def __init__(self, *, server: Server, **options: Any) -> None:
        super().__init__(**options)  # type: ignore[no-untyped-call]
        # redis-py 5.0 ignores this option for Unix sockets.
        self.socket_timeout = options.get("socket_timeout", self.socket_timeout)
        self._server = server

    def _connect(self) -> socket.socket:
        connected = self._server.connect()
        connected.settimeout(self.socket_timeout)
        return connected


class FakeAsyncConnection(AsyncUnixConnection):
    """A connection of `redis.asyncio.Redis`."""

    host = NAME

    def __init__(self, *, server: Server, **options: Any) -> None:
        super().__init__(**options)
        self._server = server

    async def _connect(self) -> None:
        streams = await asyncio.open_unix_connection(sock=self._server.connect())
        self._reader, self._writer = streams


def pool(server: Server, options: dict[str, Any]) -> Any:
    """A pool of connections for `redis.Redis`; `options` are those of that class."""
    return _led_to(server, redis.Redis(unix_socket_path=NAME, **_used(options)), FakeConnection)


def async_pool(server: Server, options: dict[str, Any]) -> Any:
    """A pool of connections for `redis.asyncio.Redis`, like `pool`."""
    client = redis.asyncio.Redis(unix_socket_path=NAME, **_used(options))
    return _led_to(server, client, FakeAsyncConnection)


def client(server: Server, *, single_connection_client: bool = False, **options: Any) -> Any:
    """A `redis.Redis`, which closes its pool."""
    made = redis.Redis(
        connection_pool=pool(server, options), single_connection_client=single_connection_client
    )
    made.auto_close_connection_pool = True
    return made


def async_client(server: Server, *, single_connection_client: bool = False, **options: Any) -> Any:
    """A `redis.asyncio.Redis`, which closes its pool."""
    made: redis.asyncio.Redis = redis.asyncio.Redis(
        connection_pool=async_pool(server, options),
        single_connection_client=single_connection_client,
    )
    made.auto_close_connection_pool = True
    return made


def _used(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in PLACES}


def _led_to(server: Server, client: Any, connection_class: type) -> Any:
    """The pool of an unconnected client, changed to make connections of a class to `server`."""
    client.auto_close_connection_pool = False
    pool = client.connection_pool
    pool.connection_class = connection_class
    pool.connection_kwargs["server"] = server
    return pool
