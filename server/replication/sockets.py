"""TCP connections to a primary, and pipes from a child process, over the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import ssl
from collections.abc import Callable
from typing import Protocol, TypeAlias, cast

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


# Runs a callback as an event of its own: between `enter` and `leave`.
Run: TypeAlias = "Callable[[Callable[[], object]], None]"

_READ_BYTES = 64 << 10
# The size of a pipe's buffer, if the system allows it: fewer switches between the two processes.
_PIPE_BYTES = 1 << 20


class Sockets:
    """`Outside` over an event loop. Each callback runs between `enter` and `leave`."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        enter: Callable[[], object],
        leave: Callable[[], object],
        encryption: Callable[[], ssl.SSLContext | None],
    ) -> None:
        """`encryption`: the context for connections from now on, None for plain ones."""
        self._encryption = encryption
        self._loop = loop
        self._enter = enter
        self._leave = leave

    def connect(self, host: str, port: int, receiver: Receiver) -> Wire:
        """Begin to connect over TCP, or TLS."""
        return _LinkWire(self._loop, host, port, self._encryption(), receiver, self._run)

    def open_pipe(self) -> Pipe:
        """Return a new pipe of the operating system. Raises OSError."""
        return _OsPipe(self._loop, self._run)

    def call_soon(self, callback: Callable[[], object]) -> None:
        """Call back after the loop has polled."""
        self._loop.call_soon(self._run, callback)

    def _run(self, callback: Callable[[], object]) -> None:
        self._enter()
        try:
            callback()
        finally:
            self._leave()


class _LinkWire(asyncio.Protocol):
    """`Wire` over TCP, or TLS."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        host: str,
        port: int,
        encryption: ssl.SSLContext | None,
        receiver: Receiver,
        run: Run,
    ) -> None:
        self._receiver = receiver
        self._run = run
        self._transport: asyncio.Transport | None = None
        self._is_closed = False
        self._connecting = loop.create_task(self._connect(loop, host, port, encryption))

    async def _connect(
        self,
        loop: asyncio.AbstractEventLoop,
        host: str,
        port: int,
        encryption: ssl.SSLContext | None,
    ) -> None:
        try:
            await loop.create_connection(lambda: self, host, port, ssl=encryption)
        except (
            OSError,
            UnicodeError,
        ) as error:  # the latter: of no host
            if not self._is_closed:
                self._is_closed = True
                reason = getattr(error, "strerror", None) or str(error)
                self._run(lambda: self._receiver.lost(reason))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Report the open connection to the receiver."""
        self._transport = cast("asyncio.Transport", transport)
        if self._is_closed:
            self._transport.abort()
            return
        sock = transport.get_extra_info("socket")
        peer, own = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
        descriptor = sock.fileno() if sock is not None else -1
        self._run(lambda: self._receiver.connected(_format(peer), _format(own), descriptor))

    def data_received(self, data: bytes) -> None:
        """Pass received bytes on to the receiver."""
        if not self._is_closed:
            self._run(lambda: self._receiver.received(data))

    def connection_lost(self, error: Exception | None) -> None:
        """Report the lost connection to the receiver, unless it was closed here."""
        if not self._is_closed:
            self._is_closed = True
            reason = str(error) if error else "closed by the peer"
            self._run(lambda: self._receiver.lost(reason))

    def write(self, data: bytes) -> None:
        """Send bytes; before it is open, and after it is lost, they are dropped."""
        if self._transport is not None and not self._is_closed:
            self._transport.write(data)

    def pause(self) -> None:
        """Stop reading for now."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def resume(self) -> None:
        """Read again."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def close(self) -> None:
        """Close the connection, or stop connecting; `lost` is not called."""
        self._is_closed = True
        if self._transport is not None:
            self._transport.abort()
        elif not self._connecting.done():
            self._connecting.cancel()


def _format(address: tuple[str, int] | None) -> bytes:
    if not address:
        return b"?:0"
    host, port = address[0], address[1]
    return (f"[{host}]:{port}" if ":" in host else f"{host}:{port}").encode()


class _OsPipe:
    """`Pipe` of the operating system."""

    def __init__(self, loop: asyncio.AbstractEventLoop, run: Run) -> None:
        self._loop = loop
        self._run = run
        self._reading, self.descriptor = os.pipe()
        os.set_blocking(self._reading, False)
        with contextlib.suppress(OSError, AttributeError):
            fcntl.fcntl(self._reading, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self.writer: File = _PipeEnd(self.descriptor)
        self._callback: Callable[[bytes], object] | None = None
        self._is_watched = False

    def close_writer(self) -> None:
        """Close the server's copy of the writer, so that the pipe ends with the child's copy."""
        self.writer.close()

    def watch(self, callback: Callable[[bytes], object]) -> None:
        """Call back with received bytes; b"" is the end."""
        self._callback = callback
        self.resume()

    def pause(self) -> None:
        """Stop the callbacks for now; the child waits once the pipe is full."""
        if self._is_watched:
            self._is_watched = False
            self._loop.remove_reader(self._reading)

    def resume(self) -> None:
        """Start the callbacks again."""
        if not self._is_watched and self._reading >= 0:
            self._is_watched = True
            self._loop.add_reader(self._reading, self._read)

    def _read(self) -> None:
        try:
            data = os.read(self._reading, _READ_BYTES)
        except BlockingIOError:
            return
        if not data:
            self.pause()
        callback = self._callback
        assert callback is not None
        self._run(lambda: callback(data))

    def close(self) -> None:
        """Close the server's end of the pipe."""
        self.pause()
        if self._reading >= 0:
            os.close(self._reading)
            self._reading = -1


class _PipeEnd:
    """The writer's end, as a `File`."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, data: bytes) -> int:
        """Write to the pipe, and return the number of bytes written."""
        return os.write(self._descriptor, data)

    def sync(self) -> None:
        """A pipe keeps nothing."""

    def begin_sync(self) -> None:
        """A pipe keeps nothing."""

    def truncate(self, size: int) -> None:
        """A pipe keeps nothing."""

    def size(self) -> int:
        """A pipe keeps nothing."""
        return 0

    def close(self) -> None:
        """Close this copy of the writer's end."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
