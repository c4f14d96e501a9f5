"""One connection to a server: requests out, parsed replies in, several in flight at once.

redis-py reads 500,000 entries a second where this reads more than a million: a task that converts
entries has no time for a general client. The URL is read by redis-py all the same, so what it
takes is taken here: redis://, rediss:// and unix://, user, password, database, timeouts, TLS files.

Leaves out: reconnecting. A read is repeated as a whole by the caller (Spark retries
tasks), and a write must not be repeated without knowing what became of it.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, TypeAlias

import hiredis
import redis

from rillway.net.routing import Address
from rillway.pipeline.wire.urls import TIMEOUT_SECONDS, public_url

Word: TypeAlias = bytes | str | int
# Nested lists of bytes and ints, None for null; a ServerError may stand inside of EXEC's reply.
Reply: TypeAlias = Any

RECEIVE_BYTES = 1 << 18
# What the reader returns when it needs more bytes; False would equal the reply 0.
_NOTHING = object()


class ServerError(Exception):
    """An error reply of the server. `code` is its first word, e.g. `ERR` or `WRONGTYPE`."""

    @property
    def code(self) -> str:
        return str(self).partition(" ")[0]


class ConnectionLost(Exception):
    """No connection, or none any more. The text names the server, never a password."""


class NodeAway(ConnectionLost):
    """A node of a cluster does not answer, or no node has a slot. The same text for all keys."""


def has_error(replies: Iterable[Reply]) -> bool:
    """Return True if one of the replies is a ServerError."""
    return ServerError in set(map(type, replies))


def _new_reader() -> hiredis.Reader:
    return hiredis.Reader(replyError=ServerError, notEnoughData=_NOTHING)


def pack(*words: Word) -> bytes:
    """One request as it is sent."""
    # Its stub has a tuple of one word.
    data: bytes = hiredis.pack_command(words)  # type: ignore[arg-type]
    return data


def exec_reply(replies: Sequence[Reply]) -> list[Reply] | None:
    """The reply to EXEC, of those to MULTI, the requests and EXEC; None if a watched key changed.

    Raises ServerError if the transaction was refused: that of the request for which it was.
    """
    *queued, reply = replies
    if isinstance(reply, ServerError):
        raise next((each for each in queued if isinstance(each, ServerError)), reply)
    found: list[Reply] | None = reply
    return found


class ReplyTooLong(Exception):
    """A reply has more bytes than it may have. The connection is of no use after that: reopen."""


class Connection:
    """Use as a context manager, or close it. Raises ConnectionLost wherever it is lost.

    `received_bytes`: of all replies so far; `changes`: how often it was learned that keys are on
    another server; `left_out`: nodes of a cluster that are asked nothing.
    """

    changes = 0
    is_cluster = False
    left_out: Mapping[Address, NodeAway] = {}

    def __init__(self, url: str) -> None:
        self.url = url
        self.received_bytes = 0
        self._reader = _new_reader()
        self._socket = self._open(url)

    def _open(self, url: str) -> socket.socket:
        """A socket that is logged in and has its database; redis-py does that."""
        client = redis.Redis.from_url(
            # RESP2, whatever redis-py's default: replies then look the same on every server.
            url,
            protocol=2,
            socket_timeout=TIMEOUT_SECONDS,
        )
        # Annotated as what all kinds of connections have, and a socket is not among that.
        opened: Any = client.connection_pool.make_connection()
        self._opened = opened
        try:
            opened.connect()
        except redis.RedisError as error:
            raise ConnectionLost(f"{public_url(url)}: {error}") from None
        connected: socket.socket = opened._sock
        return connected

    @property
    def database(self) -> int:
        """The number of the database, which the URL names."""
        return int(self._opened.db or 0)

    # -- requests ---------------------------------------------------------------------------------

    def call(self, *words: Word) -> Reply:
        """One request and its reply. Raises ServerError."""
        self.send(pack(*words))
        return self.receive()

    def call_all(self, requests: Iterable[Sequence[Word]]) -> list[Reply]:
        """Requests in one pipeline; errors are in the list, they are not raised."""
        packed = [pack(*words) for words in requests]
        self.send(b"".join(packed))
        return self.receive_all(len(packed))

    def call_each(
        self, requests: Iterable[Sequence[Word]], convert: Callable[[Reply], Any]
    ) -> list[Any]:
        """The same with what becomes of each reply: one is dropped before the next is read."""
        packed = [pack(*words) for words in requests]
        self.send(b"".join(packed))
        replies = (self.receive_any() for _ in packed)
        return [each if isinstance(each, ServerError) else convert(each) for each in replies]

    # -- what is more in a cluster (cluster.py) ---------------------------------------------------

    def of(self, key: str) -> Connection:
        """The connection to the server that has a key."""
        return self

    def nodes(self) -> list[Connection]:
        """The connections to all servers that have keys."""
        return [self]

    def leave_out(self) -> None:
        """New connections, to all nodes that answer: from now on others are asked nothing."""
        self.reopen()

    def away(self, key: str) -> NodeAway | None:
        """Why the server that has a key is asked nothing; None if it is asked."""
        return None

    def place(self, key: str) -> object:
        """What is the same for keys that are on one server."""
        return None

    def slot(self, key: str) -> int | None:
        """The slot of a key: what is changed together must be in one."""
        return None

    def refresh(self) -> None:
        """Ask once more which servers have keys."""

    def learn(self, error: ServerError) -> None:
        """Take note of where a slot is now, if this says so."""

    def redirected(self, key: str, error: ServerError, began: float) -> Connection:
        """The connection on which a request is to be repeated. Raises `error` if it is not."""
        raise error

    # -- requests in flight -----------------------------------------------------------------------

    def send(self, data: bytes | memoryview) -> None:
        """Requests that are packed; their replies must be received, one by one."""
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise self._lost(error) from error

    def receive(self, max_bytes: int | None = None) -> Reply:
        """The next reply. Raises ServerError, ReplyTooLong."""
        reply = self.receive_any(max_bytes)
        if isinstance(reply, ServerError):
            raise reply
        return reply

    def receive_any(self, max_bytes: int | None = None) -> Reply:
        """The next reply; an error is returned as one. Raises ReplyTooLong."""
        reply = self._reader.gets()
        start = self.received_bytes
        while reply is _NOTHING:
            self._read_on()
            if max_bytes is not None and self.received_bytes - start > max_bytes:
                raise ReplyTooLong(f"a reply has more than {max_bytes:,} bytes")
            reply = self._reader.gets()
        return reply

    def receive_all(self, count: int) -> list[Reply]:
        """The next replies; errors are in the list, they are not raised."""
        replies: list[Reply] = []
        while True:
            # A loop in C: there is a reply for each row that is written.
            replies += islice(iter(self._reader.gets, _NOTHING), count - len(replies))
            if len(replies) == count:
                return replies
            self._read_on()

    def _read_on(self) -> None:
        try:
            data = self._socket.recv(RECEIVE_BYTES)
        except OSError as error:
            raise self._lost(error) from error
        if not data:
            raise self._lost("the server closed the connection")
        self._reader.feed(data)
        self.received_bytes += len(data)

    def _lost(self, reason: object) -> ConnectionLost:
        return ConnectionLost(f"{public_url(self.url)}: {reason}")

    # -- end --------------------------------------------------------------------------------------

    def reopen(self) -> None:
        """A new connection instead of this one: what was underway is dropped."""
        self.close()
        self._reader = _new_reader()
        self._socket = self._open(self.url)

    def close(self) -> None:
        self._opened.disconnect()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
