"""What every load is: something that is run against a server for a while, and says a figure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from benchmarks.figures import Figure
from benchmarks.servers import Server


class Address(Protocol):
    """Where a load goes: a server, or something that answers in its place."""

    @property
    def pid(self) -> int: ...

    @property
    def port(self) -> int: ...


class Script(Protocol):
    """What a server that does nothing has to answer, so that the load goes on."""

    def join(self, client: int) -> None:
        """A client has come. Clients are numbers, which return when one has gone."""
        ...

    def answers(self, client: int, size: int) -> Iterable[tuple[int, bytes]]:
        """A client has sent so many bytes: who gets what."""
        ...


class Load(Protocol):
    """One kind of load."""

    @property
    def reply(self) -> bytes:
        """What the server answered in `learn`."""
        ...

    def learn(self, server: Server) -> None:
        """See once what replies are like. Raises ServerError if they are not as they should be."""
        ...

    def run(self, at: Address, seconds: float) -> Figure:
        """Make load for about so long. Raises ServerError or RuntimeError if a reply is wrong."""
        ...

    def script(self) -> Script | None:
        """For a server that does nothing but keep this load going; None if there is no such."""
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
    """Requests of some kinds, told apart by their length; a client sends one at a time."""

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
