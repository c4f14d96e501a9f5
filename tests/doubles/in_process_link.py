"""The console's link to a server that runs in this process, without sockets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import hiredis
import redis
from redis._parsers.base import BaseParser

from rillway.console.data.link import Link, Reply, Word
from server.inprocess.server import InProcessServer


class InProcessLink(Link):
    """Each call is a cycle of the server. What blocks is answered after five seconds of its clock.

    `before`: called with each request before it is sent. `is_lost`: no request gets through.
    """

    def __init__(
        self, server: InProcessServer, user: str | None = None, password: str | None = None
    ) -> None:
        super().__init__("redis://127.0.0.1", user, password)
        self.server = server
        self._client = server.connect()
        self._login = None if user is None else (user or "default", password or "")
        self.is_lost = False
        self.requests: list[tuple[Word, ...]] = []

    async def call(self, db: int, *words: Word) -> Reply:
        (reply,) = await self.call_all(db, [words])
        if isinstance(reply, redis.RedisError):
            raise reply
        return reply

    async def call_all(self, db: int, requests: Iterable[Sequence[Word]]) -> list[Reply]:
        if self.is_lost:
            raise redis.ConnectionError("Connection refused")
        if self._login is not None:
            login, self._login = self._login, None
            self._raise(self._send("AUTH", *login))
        self._raise(self._send("SELECT", db))
        return [self._send(*words) for words in requests]

    def _raise(self, reply: Reply) -> None:
        if isinstance(reply, redis.RedisError):
            raise reply

    def _send(self, *words: Word) -> Reply:
        self.requests.append(words)
        answer = self._client.execute(*words)
        if not answer:
            self.server.advance(5000)
            answer = self._client.received()
        reader = hiredis.Reader(replyError=BaseParser.parse_error)
        reader.feed(answer)
        return reader.gets()
