"""The I/O interface of replication: connections to other servers, pipes, deferred calls.

`server/replication/sockets.py` implements it over the event loop and the operating system,
`server/inprocess/memory_network.py` in memory, for tests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from server.persistence.files import File


class Pipe(Protocol):
    """A pipe from a child that writes a snapshot to the server that sends it on.

    The child uses only `writer`; the server uses the rest.
    """

    writer: File
    descriptor: int  # that the child must keep open; -1 if there is none

    def close_writer(self) -> None:
        """Close the server's copy of the writer, so that the pipe ends with the child's copy."""

    def watch(self, callback: Callable[[bytes], object]) -> None:
        """Call back with received bytes; b"" is the end."""

    def pause(self) -> None:
        """Stop the callbacks for now; the child waits once the pipe is full."""

    def resume(self) -> None:
        """Go on after `pause`."""

    def close(self) -> None:
        """Close the pipe."""


class Receiver(Protocol):
    """The callbacks of a requested connection. None follows after `lost`."""

    def connected(self, address: bytes, local_address: bytes, descriptor: int) -> None:
        """The connection is open."""

    def received(self, data: bytes) -> None:
        """Bytes from the peer."""

    def lost(self, reason: str) -> None:
        """The connection failed or was closed by the peer."""


class Wire(Protocol):
    """A requested connection."""

    def write(self, data: bytes) -> None:
        """Send; bytes sent before it is open, or after it is lost, are dropped."""

    def pause(self) -> None:
        """Stop reading for now."""

    def resume(self) -> None:
        """Go on after `pause`."""

    def close(self) -> None:
        """Close it; `lost` is not called."""


class Outside(Protocol):
    """Creates connections and pipes, and defers calls."""

    def connect(self, host: str, port: int, receiver: Receiver) -> Wire:
        """Begin to connect."""

    def open_pipe(self) -> Pipe:
        """A new pipe. Raises OSError."""

    def call_soon(self, callback: Callable[[], object]) -> None:
        """Call back after the loop has polled."""
