"""What every load is: something that is run against a server for a while, and says a figure."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from benchmarks.figures import Figure
from benchmarks.servers import Server


class Exchange(NamedTuple):
    """What a load sends and awaits: the bytes of one request, and the reply."""

    request_bytes: int
    reply: bytes


class Address(Protocol):
    """Where a load goes: a server, or something that answers in its place."""

    @property
    def pid(self) -> int: ...

    @property
    def port(self) -> int: ...


class Load(Protocol):
    """One kind of load. `exchange` is None if nothing but a real server could answer it."""

    @property
    def exchange(self) -> Exchange | None: ...

    def learn(self, server: Server) -> None:
        """See once what replies are like. Raises ServerError if they are not as they should be."""
        ...

    def run(self, at: Address, seconds: float) -> Figure:
        """Make load for about so long. Raises ServerError or RuntimeError if a reply is wrong."""
        ...
