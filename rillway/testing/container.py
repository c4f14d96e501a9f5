"""A drop-in replacement for testcontainers' `RedisContainer`, without a container.

For suites that use that class: `RillwayContainer` replaces it, needs no container engine, and
starts in a fraction of a second.

Leaves out what only applies to containers: volumes, networks, environment, commands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rillway.testing.directives import Value
from rillway.testing.process import RillwayServer

if TYPE_CHECKING:
    import redis
    import redis.asyncio


class RillwayContainer:
    """`with RillwayContainer() as container: container.get_client().xadd(...)`."""

    def __init__(
        self,
        image: str = "rillway",
        port: int = 6379,
        password: str | None = None,
        **directives: Value,
    ) -> None:
        """`image` is ignored; it exists because RedisContainer has it.

        `port` is the port *inside* of the container, the argument of `get_exposed_port`. Raises
        ValueError for a directive that is reserved for the harness.
        """
        self.image = image
        self.port = port
        self.password = password
        if password is not None:
            directives["requirepass"] = password
        self._directives = directives
        self._server: RillwayServer | None = None

    def start(self) -> RillwayContainer:
        """Starts the server and waits until it answers. Raises ServerFailed."""
        if self._server is None:
            self._server = RillwayServer(self._directives)
        self._server.start()
        return self

    def stop(self, force: bool = True, delete_volume: bool = True) -> None:
        """Ends the server; its data goes with it."""
        if self._server is not None:
            self._server.stop()
            self._server = None

    def get_container_host_ip(self) -> str:
        return self._started().host

    def get_exposed_port(self, port: int | str) -> int:
        """The port on the host. Raises ValueError for any other port than the constructor's."""
        if int(port) != self.port:
            raise ValueError(f"port {port} is not exposed; the server's is {self.port}")
        return self._started().port

    def get_connection_url(self) -> str:
        """`redis://HOST:PORT/0`, with the password if there is one."""
        return self._started().url

    def get_client(self, **options: Any) -> redis.Redis:
        """A redis-py client; `options` are its own. The caller closes it."""
        import redis

        return redis.Redis.from_url(self.get_connection_url(), **options)

    async def get_async_client(self, **options: Any) -> redis.asyncio.Redis:
        """A redis-py asyncio client, as AsyncRedisContainer returns."""
        import redis.asyncio

        return redis.asyncio.Redis.from_url(self.get_connection_url(), **options)

    def get_logs(self) -> tuple[bytes, bytes]:
        """The server's output as (stdout, stderr); all of it is in the first."""
        return self._started().log.encode(), b""

    def __enter__(self) -> RillwayContainer:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _started(self) -> RillwayServer:
        if self._server is None:
            raise RuntimeError("the container is not started")
        return self._server
