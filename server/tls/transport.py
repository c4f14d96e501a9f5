"""TLS between a client's socket and its connection: a protocol for one, a transport for the other.

OpenSSL works on buffers in memory, a record at a time, so that they stay small: a connection that
waits takes 20 KB. The loop's own TLS keeps a buffer of 256 KiB for each. What is written is
encrypted at once and left to the socket's transport, where the limits of output see it.

A peer that closes its side may still read, with a close_notify as with a bare end of TCP.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Callable
from typing import Any, cast

# The largest record of TLS. The buffers in memory grow to what they once held, and stay so.
_RECORD_BYTES = 16 * 1024


class EncryptedTransport:
    """One accepted connection, from its handshake on."""

    __slots__ = (
        "__weakref__", "_client", "_context", "_enqueue", "_handshake", "_has_ended", "_incoming",
        "_is_kept", "_make_client", "_outgoing", "_socket", "_ssl", "_waiting",
    )  # fmt: skip

    def __init__(
        self,
        context: ssl.SSLContext,
        make_client: Callable[[], asyncio.Protocol],
        handshake: asyncio.Future[None],
        enqueue: Callable[[Callable[[], None]], None],
    ) -> None:
        """`handshake`: its end; OSError says why it failed. The client is made after it.

        `enqueue` calls what it is given after the handshakes that were enqueued before.
        """
        self._context = context
        self._make_client = make_client
        self._handshake = handshake
        self._enqueue = enqueue
        self._waiting = b""  # bytes of the handshake, until it goes on
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._ssl = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._socket: asyncio.Transport
        self._client: asyncio.Protocol | None = None
        self._has_ended = False  # the peer has closed its side
        self._is_kept = False  # and is still to be answered

    # -- the socket's protocol -----------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is ready; the peer begins the handshake."""
        self._socket = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Encrypted bytes: of the handshake, then of the client."""
        if self._client is not None:
            self._receive(data)
            return
        if not self._waiting:
            self._enqueue(self._go_on)
        self._waiting += data

    def _go_on(self) -> None:
        """Go on with the handshake."""
        data, self._waiting = self._waiting, b""
        if data and not self._socket.is_closing():
            self._receive(data)

    def _receive(self, data: bytes) -> None:
        if len(data) <= _RECORD_BYTES:
            parts = self._decrypted(data)
        else:
            view = memoryview(data)
            starts = range(0, len(data), _RECORD_BYTES)
            parts = [p for at in starts for p in self._decrypted(view[at : at + _RECORD_BYTES])]
        if parts and self._client is not None:
            self._client.data_received(parts[0] if len(parts) == 1 else b"".join(parts))
        if self._has_ended and not self._is_kept:
            self._end()

    def eof_received(self) -> bool:
        """The end of TCP: returns True if the client is still to be answered."""
        self._go_on()
        if self._client is None:
            self._fail(ConnectionResetError("the peer closed the connection"))
        elif not self._has_ended:
            self._end()
        return self._is_kept

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is closed."""
        client, self._client = self._client, None  # this breaks a reference cycle
        if client is not None:
            client.connection_lost(exc)
        else:
            self._fail(ConnectionResetError("the connection was closed"))

    def pause_writing(self) -> None:
        """The peer does not read."""
        if self._client is not None:
            self._client.pause_writing()

    def resume_writing(self) -> None:
        """The peer reads again."""
        if self._client is not None:
            self._client.resume_writing()

    # -- the client's transport ----------------------------------------------------------------

    def write(self, data: bytes) -> None:
        """Encrypt and send."""
        if self._socket.is_closing():
            return
        if len(data) <= _RECORD_BYTES:
            self._ssl.write(data)
            self._send()
            return
        view = memoryview(data)
        for at in range(0, len(data), _RECORD_BYTES):
            self._ssl.write(view[at : at + _RECORD_BYTES])
            self._send()

    def close(self) -> None:
        """Send a close_notify, and close once all has left."""
        if not self._socket.is_closing():
            with contextlib.suppress(ssl.SSLError):  # the peer's close_notify is not awaited
                self._ssl.unwrap()
            self._send()
            self._socket.close()

    def abort(self) -> None:
        """Close the socket now."""
        self._socket.abort()

    def is_closing(self) -> bool:
        """Return True if nothing can be written any more."""
        return self._socket.is_closing()

    def get_write_buffer_size(self) -> int:
        """Encrypted bytes that wait for the peer."""
        return self._socket.get_write_buffer_size()

    def pause_reading(self) -> None:
        """Stop reading; data stays in the socket."""
        self._socket.pause_reading()

    def resume_reading(self) -> None:
        """Read on."""
        self._socket.resume_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """What the transports of asyncio know by this name."""
        if name == "sslcontext":
            return self._context
        if name == "peercert":
            return self._ssl.getpeercert()
        return self._socket.get_extra_info(name, default)

    # -- details -------------------------------------------------------------------------------

    def _decrypted(self, data: bytes | memoryview) -> list[bytes]:
        """The records that are whole with these bytes (or a memoryview of bytes)."""
        parts: list[bytes] = []
        self._incoming.write(data)
        try:
            if self._client is None:
                self._shake_hands()
            while size := self._incoming.pending or self._ssl.pending():
                part = self._ssl.read(min(size, _RECORD_BYTES))
                if not part:
                    self._has_ended = True
                    break
                parts.append(part)
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as error:
            self._send()  # the alert
            self._fail(error)
            self._socket.close()
        self._send()
        return parts

    def _shake_hands(self) -> None:
        """Go on with the handshake. Raises SSLWantReadError if more is to come, SSLError."""
        self._ssl.do_handshake()
        if not self._handshake.done():
            self._handshake.set_result(None)
            self._send()
            self._client = self._make_client()
            self._client.connection_made(cast("asyncio.Transport", self))

    def _send(self) -> None:
        if self._outgoing.pending:
            self._socket.write(self._outgoing.read())

    def _end(self) -> None:
        """Report that the peer has closed its side."""
        self._has_ended = True
        if self._client is not None and not self._socket.is_closing():
            self._is_kept = bool(self._client.eof_received())
            if not self._is_kept:
                self.close()

    def _fail(self, error: OSError) -> None:
        if not self._handshake.done():
            self._handshake.set_exception(error)
