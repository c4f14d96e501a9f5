"""redis-py's clients on a FakeServer, in the place of `fakeredis.FakeRedis` and `FakeAsyncRedis`.

They are `redis.Redis` and `redis.asyncio.Redis` with connections of another class: only how a
socket is opened differs.
"""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import redis
import redis.asyncio
from redis.asyncio.connection import UnixDomainSocketConnection as AsyncUnixConnection
from redis.connection import UnixDomainSocketConnection, parse_url

from rillway.testing.fake_server import FakeServer

# What redis-py shows in place of an address.
NAME = "FakeServer"
# Options that say where a server is.
PLACES = ("host", "port", "path", "unix_socket_path", "connection_class")


class FakeConnection(UnixDomainSocketConnection):
    """A connection of redis-py to a FakeServer."""

    host = NAME  # redis-py 7 looks for one

    def __init__(self, *, server: FakeServer, **options: Any) -> None:
        super().__init__(**options)  # type: ignore[no-untyped-call]
        # Of a Unix socket, redis-py 5.0 forgets it.
        self.socket_timeout = options.get("socket_timeout", self.socket_timeout)
        self._server = server

    def _connect(self) -> socket.socket:
        connected = self._server.connect()
        connected.settimeout(self.socket_timeout)
        return connected


class FakeAsyncConnection(AsyncUnixConnection):
    """The same for asyncio."""

    host = NAME

    def __init__(self, *, server: FakeServer, **options: Any) -> None:
        super().__init__(**options)
        self._server = server

    async def _connect(self) -> None:
        streams = await asyncio.open_unix_connection(sock=self._server.connect())
        self._reader, self._writer = streams


class FakeRedis(redis.Redis):
    """A `redis.Redis` without a port: of `server`, or of a server of its own."""

    def __init__(
        self,
        *,
        server: FakeServer | None = None,
        connection_pool: Any = None,
        single_connection_client: bool = False,
        **options: Any,
    ) -> None:
        """`options` are redis-py's; those that say where a server is have no effect."""
        owns_pool = connection_pool is None
        if connection_pool is None:
            plain = redis.Redis(unix_socket_path=NAME, **_without_place(options))
            connection_pool = _led_to(plain, FakeConnection, server)
        super().__init__(
            connection_pool=connection_pool, single_connection_client=single_connection_client
        )
        self.auto_close_connection_pool = owns_pool

    @classmethod
    def from_url(cls, url: str, *, server: FakeServer | None = None, **options: Any) -> FakeRedis:
        """A client with the URL's database, credentials and options, but not of its address."""
        return cls(server=server, **{**_url_options(url), **options})


class FakeAsyncRedis(redis.asyncio.Redis):
    """A `redis.asyncio.Redis` without a port: of `server`, or of a server of its own."""

    def __init__(
        self,
        *,
        server: FakeServer | None = None,
        connection_pool: Any = None,
        single_connection_client: bool = False,
        **options: Any,
    ) -> None:
        """As `FakeRedis`."""
        owns_pool = connection_pool is None
        if connection_pool is None:
            plain = redis.asyncio.Redis(unix_socket_path=NAME, **_without_place(options))
            connection_pool = _led_to(plain, FakeAsyncConnection, server)
        super().__init__(
            connection_pool=connection_pool, single_connection_client=single_connection_client
        )
        self.auto_close_connection_pool = owns_pool

    @classmethod
    def from_url(cls, url: str, *_: Any, **options: Any) -> FakeAsyncRedis:
        """As `FakeRedis.from_url`."""
        return cls(**{**_url_options(url), **options})


def _url_options(url: str) -> dict[str, Any]:
    return dict(parse_url(url))  # type: ignore[no-untyped-call]


def _without_place(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in PLACES}


def _led_to(client: Any, connection_class: type, server: FakeServer | None) -> Any:
    """The pool of a client that has not connected yet, with connections to a FakeServer."""
    client.auto_close_connection_pool = False
    pool = client.connection_pool
    pool.connection_class = connection_class
    pool.connection_kwargs["server"] = server or FakeServer()
    return pool
