"""The interface of loads: each runs against a server for some time, and returns a figure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from benchmarks.figures import Figure
from benchmarks.servers import Server


class Address(Protocol):
    """The target of a load: a server, or a null server."""

    @property
    def pid(self) -> int: ...

    @property
    def port(self) -> int: ...


class Script(Protocol):
    """The replies of a null server, so that the load goes on."""

    def join(self, client: int) -> None:
        """A client has connected. Clients are numbers, which are reused after one has left."""
        ...

    def answers(self, client: int, size: int) -> Iterable[tuple[int, bytes]]:
        """A client has sent `size` bytes: returns the replies, each with its client."""
        ...


class Load(Protocol):
    """One kind of load."""

    @property
    def reply(self) -> bytes:
        """The server's reply in `learn`."""
        ...

    def learn(self, server: Server) -> None:
        """Record an example of the replies. Raises ServerError if they are not as expected."""
        ...

    def run(self, at: Address, seconds: float) -> Figure:
        """Run for about `seconds`. Raises ServerError or RuntimeError if a reply is wrong."""
        ...

    def script(self) -> Script | None:
        """The script of a null server for this load; None if there is none."""
        ...


class SameReply:
    """One reply for each request; all of them have the same lengths."""

    def __init__(self, request_bytes: int, reply: bytes) -> None:
        self._request_bytes = request_bytes
        self._reply = reply
        self._received: dict[int, int] = {}

    def join(self, client: int) -> None:
        self._received[client] = 0

    def answers(self, client: int, size: int) -> Iterable[tuple[int, bytes]]:
        size += self._received[client]
        count, self._received[client] = divmod(size, self._request_bytes)
        return ((client, self._reply * count),)


class ReplyByLength:
    """Requests of several kinds, distinguished by length; a client sends one at a time."""

    def __init__(self, replies: dict[int, bytes]) -> None:
        self._replies = replies
        self._received: dict[int, int] = {}

    def join(self, client: int) -> None:
        self._received[client] = 0

    def answers(self, client: int, size: int) -> Iterable[tuple[int, bytes]]:
        size += self._received[client]
        reply = self._replies.get(size)
        self._received[client] = size if reply is None else 0
        return () if reply is None else ((client, reply),)
