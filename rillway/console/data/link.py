"""Connections to the server that are logged in as one user.

Replies are unprocessed: nested lists of bytes and ints, errors as redis.ResponseError. A request is
sent once: one that failed half-way may have been executed.

The console's own blocking work (dead letters) opens a connection of the pipeline by `url`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias
from urllib.parse import quote, urlsplit

import redis
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from rillway.pipeline.wire.urls import with_database

Word: TypeAlias = bytes | str | int
Reply: TypeAlias = Any

TIMEOUT_SECONDS = 10.0
# Each tail holds a connection while it waits.
CONNECTIONS = 500
UNREACHABLE = (redis.ConnectionError, redis.TimeoutError, OSError)
# Classes of redis-py, and the codes that they remove from the text.
CODES: tuple[tuple[type[Exception], str], ...] = (
    (redis.exceptions.NoPermissionError, "NOPERM"),
    (redis.exceptions.AuthenticationError, "NOAUTH"),
    (redis.exceptions.BusyLoadingError, "LOADING"),
    (redis.exceptions.ReadOnlyError, "READONLY"),
)


class Link:
    """Connections of one user, to be closed after use."""

    def __init__(self, url: str, user: str | None = None, password: str | None = None) -> None:
        self._url = url if user is None else with_user(url, user, password or "")
        self._clients: dict[int, Redis] = {}

    @property
    def default_db(self) -> int:
        """The database that the URL names."""
        return int(options_in(self._url).get("db", 0))

    def url(self, db: int) -> str:
        """The URL for separate connections, with the password."""
        return with_database(self._url, db)

    def client(self, db: int) -> Redis:
        """Return the pool of a database."""
        if db not in self._clients:
            client = Redis.from_url(
                self.url(db),
                protocol=2,
                socket_timeout=TIMEOUT_SECONDS,
                socket_connect_timeout=TIMEOUT_SECONDS,
                max_connections=CONNECTIONS,
                retry=Retry(NoBackoff(), 0),
            )
            client.response_callbacks.clear()
            self._clients[db] = client
        return self._clients[db]

    async def call(self, db: int, *words: Word) -> Reply:
        """Send one request and return its reply. Raises redis.RedisError."""
        return await self.client(db).execute_command(*words)  # type: ignore[no-untyped-call]

    async def call_all(self, db: int, requests: Iterable[Sequence[Word]]) -> list[Reply]:
        """Send requests in one pipeline; the list may contain errors. Raises redis.RedisError."""
        pipeline = self.client(db).pipeline(transaction=False)
        for words in requests:
            pipeline.execute_command(*words)
        return await pipeline.execute(raise_on_error=False)

    async def close(self) -> None:
        for client in self._clients.values():
            await client.aclose()
        self._clients.clear()


def options_in(url: str) -> dict[str, Any]:
    """Return what redis-py reads in a URL."""
    options: dict[str, Any] = redis.connection.parse_url(url)  # type: ignore[no-untyped-call]
    return options


def with_user(url: str, user: str, password: str) -> str:
    """Return the URL with these credentials instead of its own."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    netloc = f"{quote(user, safe='')}:{quote(password, safe='')}@{host}"  # no user: AUTH password
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.scheme}://{netloc}{parts.path}{query}"


def error_code(error: Exception) -> str:
    """Return the first word of an error reply, such as NOPERM."""
    for kind, code in CODES:
        if isinstance(error, kind):
            return code
    word = str(error).partition(" ")[0]
    return word if len(word) > 2 and word.isalpha() and word.isupper() else "ERR"
