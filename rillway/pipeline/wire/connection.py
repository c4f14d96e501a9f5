"""One connection to a server: requests out, parsed replies in, several in flight at once.

Reads more than a million entries a second, twice as many as redis-py. redis-py still parses the
URL, so all its URLs work: redis://, rediss:// and unix://, user, password, database, timeouts, TLS
files.

Does not reconnect. The caller repeats a read as a whole (Spark retries tasks), and a write
must not be repeated while its outcome is unknown.
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
# Nested lists of bytes and ints, None for null; the reply to EXEC may contain a ServerError.
Reply: TypeAlias = Any

RECEIVE_BYTES = 1 << 18
# The reader returns this when it needs more bytes; False would equal the reply 0.
_NOTHING = object()


class ServerError(Exception):
    """An error reply of the server. `code` is its first word, e.g. `ERR` or `WRONGTYPE`."""

    @property
    def code(self) -> str:
        return str(self).partition(" ")[0]


class ConnectionLost(Exception):
    """The connection failed or was lost. The message names the server, never a password."""


class NodeAway(ConnectionLost):
    """A node of a cluster does not answer, or no node has a slot. The message names no key."""


def has_error(replies: Iterable[Reply]) -> bool:
    """Return True if one of the replies is a ServerError."""
    return ServerError in set(map(type, replies))


def _new_reader() -> hiredis.Reader:
    return hiredis.Reader(replyError=ServerError, notEnoughData=_NOTHING)


def pack(*words: Word) -> bytes:
    """Return a request as it is sent."""
    # The stub declares a tuple of one word.
    data: bytes = hiredis.pack_command(words)  # type: ignore[arg-type]
    return data


def exec_reply(replies: Sequence[Reply]) -> list[Reply] | None:
    """Return the reply to EXEC, the last of a transaction's replies; None if a watched key changed.

    Raises the ServerError of the request for which the transaction was refused.
    """
    *queued, reply = replies
    if isinstance(reply, ServerError):
        raise next((each for each in queued if isinstance(each, ServerError)), reply)
    found: list[Reply] | None = reply
    return found


class ReplyTooLong(Exception):
    """A reply exceeds the limit of bytes. The connection is unusable until it is reopened."""


class Connection:
    """A connection to one server. Every method raises ConnectionLost.

    It is a context manager. `received_bytes`: the size of all replies so far; `changes`: how often
    keys turned out to be on another server; `left_out`: nodes of a cluster that get no requests,
    and why.
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
        """Open a socket by redis-py, which logs in and selects the database."""
        client = redis.Redis.from_url(
            # RESP2, whatever redis-py's default: replies then look the same on every server.
            url,
            protocol=2,
            socket_timeout=TIMEOUT_SECONDS,
        )
        # Untyped: not all kinds of redis-py's connections declare a socket.
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
        """The number of the database that the URL selects."""
        return int(self._opened.db or 0)

    # -- requests ---------------------------------------------------------------------------------

    def call(self, *words: Word) -> Reply:
        """Send one request and return its reply. Raises ServerError."""
        self.send(pack(*words))
        return self.receive()

    def call_all(self, requests: Iterable[Sequence[Word]]) -> list[Reply]:
        """Send requests in one pipeline; errors are returned among the replies, not raised."""
        packed = [pack(*words) for words in requests]
        self.send(b"".join(packed))
        return self.receive_all(len(packed))

    def call_each(
        self, requests: Iterable[Sequence[Word]], convert: Callable[[Reply], Any]
    ) -> list[Any]:
        """Like call_all, but convert each reply before the next is read, to keep few in memory."""
        packed = [pack(*words) for words in requests]
        self.send(b"".join(packed))
        replies = (self.receive_any() for _ in packed)
        return [each if isinstance(each, ServerError) else convert(each) for each in replies]

    # -- overridden for a cluster (cluster.py) ----------------------------------------------------

    def of(self, key: str) -> Connection:
        """Return the connection to the server that has a key."""
        return self

    def nodes(self) -> list[Connection]:
        """Return the connections to all servers that have keys."""
        return [self]

    def leave_out(self) -> None:
        """Reconnect to all nodes that answer; the others get no requests from now on."""
        self.reopen()

    def away(self, key: str) -> NodeAway | None:
        """Return why the server that has a key is left out; None if it is not."""
        return None

    def place(self, key: str) -> object:
        """Return an object that identifies the server of a key."""
        return None

    def slot(self, key: str) -> int | None:
        """Return the slot of a key: a transaction must stay within one. None without a cluster."""
        return None

    def refresh(self) -> None:
        """Ask again which servers have which keys."""

    def learn(self, error: ServerError) -> None:
        """Remember where a slot is now, if the error says so."""

    def redirected(self, key: str, error: ServerError, began: float) -> Connection:
        """Return the connection to repeat a request on. Raises `error` if there is none."""
        raise error

    # -- requests in flight -----------------------------------------------------------------------

    def send(self, data: bytes | memoryview) -> None:
        """Send packed requests; their replies must be received, one by one."""
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise self._lost(error) from error

    def receive(self, max_bytes: int | None = None) -> Reply:
        """Return the next reply. Raises ServerError, ReplyTooLong."""
        reply = self.receive_any(max_bytes)
        if isinstance(reply, ServerError):
            raise reply
        return reply

    def receive_any(self, max_bytes: int | None = None) -> Reply:
        """Return the next reply, also if it is an error. Raises ReplyTooLong."""
        reply = self._reader.gets()
        start = self.received_bytes
        while reply is _NOTHING:
            self._read_on()
            if max_bytes is not None and self.received_bytes - start > max_bytes:
                raise ReplyTooLong(f"a reply has more than {max_bytes:,} bytes")
            reply = self._reader.gets()
        return reply

    def receive_all(self, count: int) -> list[Reply]:
        """Return the next replies; errors are returned among them, not raised."""
        replies: list[Reply] = []
        while True:
            # A loop in C, since there is a reply for each row written.
            replies += islice(iter(self._reader.gets, _NOTHING), count - len(replies))
            if len(replies) == count:
                return replies
            self._read_on()

    def receive_raw(self) -> bytes:
        """Return the next bytes, of what is no reply; all replies before were received."""
        try:
            data = self._socket.recv(RECEIVE_BYTES)
        except OSError as error:
            raise self._lost(error) from error
        if not data:
            raise self._lost("the server closed the connection")
        return data

    def _read_on(self) -> None:
        data = self.receive_raw()
        self._reader.feed(data)
        self.received_bytes += len(data)

    def _lost(self, reason: object) -> ConnectionLost:
        return ConnectionLost(f"{public_url(self.url)}: {reason}")

    # -- end --------------------------------------------------------------------------------------

    def reopen(self) -> None:
        """Replace the connection; requests in flight are dropped."""
        self.close()
        self._reader = _new_reader()
        self._socket = self._open(self.url)

    def close(self) -> None:
        self._opened.disconnect()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
