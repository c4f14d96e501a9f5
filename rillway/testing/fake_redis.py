"""redis-py's clients with a FakeServer, in the place of `fakeredis.FakeRedis` and `FakeAsyncRedis`.

They are `redis.Redis` and `redis.asyncio.Redis` with connections of another class.
"""

from __future__ import annotations

from typing import Any

import redis
import redis.asyncio
from redis.connection import parse_url

from rillway.testing.fake_connections import async_pool, pool
from rillway.testing.fake_server import FakeServer


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
        """`options` are redis-py's; the address of a server among them has no effect."""
        super().__init__(
            connection_pool=connection_pool or pool(server or FakeServer(), options),
            single_connection_client=single_connection_client,
        )
        self.auto_close_connection_pool = connection_pool is None

    @classmethod
    def from_url(cls, url: str, *, server: FakeServer | None = None, **options: Any) -> FakeRedis:
        """A client with the URL's database, credentials and options; its address is ignored."""
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
        """Takes the same arguments as `FakeRedis`."""
        super().__init__(
            connection_pool=connection_pool or async_pool(server or FakeServer(), options),
            single_connection_client=single_connection_client,
        )
        self.auto_close_connection_pool = connection_pool is None

    @classmethod
    def from_url(cls, url: str, *_: Any, **options: Any) -> FakeAsyncRedis:
        """A client like that of `FakeRedis.from_url`."""
        return cls(**{**_url_options(url), **options})


def _url_options(url: str) -> dict[str, Any]:
    return dict(parse_url(url))  # type: ignore[no-untyped-call]
