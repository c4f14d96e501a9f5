"""The interface of loads: each runs against a server for some time, and returns a figure."""

from __future__ import annotations

from typing import Protocol

from benchmarks.figures import Figure
from benchmarks.servers import Server


class Address(Protocol):
    """The target of a load."""

    @property
    def pid(self) -> int: ...

    @property
    def port(self) -> int: ...


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
