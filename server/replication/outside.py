"""What replication needs of the world: connections to other servers, pipes, another turn.

`server/replication/sockets.py` has them from the loop and the operating system; tests have a
network in memory (tests/support/network.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from server.persistence.files import File


class Pipe(Protocol):
    """From a child that writes a snapshot to the server that passes it on.

    The child uses `writer` and nothing else; the server everything else.
    """

    writer: File
    descriptor: int  # that the child must keep open; -1 if there is none

    def close_writer(self) -> None:
        """The child has its own: let the end be seen when that one is closed."""

    def watch(self, callback: Callable[[bytes], object]) -> None:
        """Call back with what comes; b"" is the end."""

    def pause(self) -> None:
        """Call back no more for now; the child has to wait when the pipe is full."""

    def resume(self) -> None:
        """Go on after `pause`."""

    def close(self) -> None:
        """Nothing more is wanted."""


class Receiver(Protocol):
    """Who is told about a connection that was asked for. After `lost` nothing comes any more."""

    def connected(self, address: bytes, local_address: bytes, descriptor: int) -> None:
        """It stands."""

    def received(self, data: bytes) -> None:
        """Bytes from the other side."""

    def lost(self, reason: str) -> None:
        """It could not be made, or is gone."""


class Wire(Protocol):
    """A connection that was asked for."""

    def write(self, data: bytes) -> None:
        """Send; what is sent before it stands, or after it is gone, is dropped."""

    def pause(self) -> None:
        """Receive nothing for now."""

    def resume(self) -> None:
        """Go on after `pause`."""

    def close(self) -> None:
        """Drop it; `lost` is not called."""


class Outside(Protocol):
    """See the module."""

    def connect(self, host: str, port: int, receiver: Receiver) -> Wire:
        """Begin to connect."""

    def open_pipe(self) -> Pipe:
        """A new pipe. Raises OSError."""

    def call_soon(self, callback: Callable[[], object]) -> None:
        """Call back after the loop has polled."""
