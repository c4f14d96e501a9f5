"""One HTTP connection: a request of at most 8 KiB, its answer, and the end.

A client that does not send its request within 5 seconds is closed, and so is one that has not taken
its answer after 30. The answer is written as fast as it is read: no more than the transport's
buffer is held for it.

Source: RFC 9112, as far as GET needs it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import cast

from protocol.records import frozen_record

MOST_REQUEST_BYTES = 8192
REQUEST_SECONDS = 5.0
ANSWER_SECONDS = 30.0

REASONS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


@frozen_record
class HttpRequest:
    """A request without its body."""

    method: str
    path: str
    headers: dict[str, str]  # by name in lower case


class BadRequest(Exception):
    """This is no HTTP request."""


class HttpConnection(asyncio.Protocol):
    """One connection."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        serve: Callable[[HttpConnection, HttpRequest], None],
        left: Callable[[HttpConnection], None],
    ) -> None:
        """`serve` answers a request, now or later; `left` is called when the connection is lost."""
        self.peer = ""
        self._loop = loop
        self._serve = serve
        self._left = left
        self._received = b""
        self._is_asking = True
        self._is_paused = False
        self._pieces: Iterator[bytes] | None = None
        self._transport: asyncio.Transport | None = None
        self._timer = loop.call_later(REQUEST_SECONDS, self.abort)

    @property
    def is_asking(self) -> bool:
        """True as long as the request is not complete."""
        return self._is_asking

    # -- the transport's calls -----------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is ready."""
        self._transport = cast("asyncio.Transport", transport)
        name = transport.get_extra_info("peername")
        self.peer = f"{name[0]}:{name[1]}" if name else "?"

    def data_received(self, data: bytes) -> None:
        """A part of the request; what comes after it is ignored."""
        if not self._is_asking:
            return
        self._received += data
        head, end, _ = self._received.partition(b"\r\n\r\n")
        if not end and len(self._received) <= MOST_REQUEST_BYTES:
            return
        self._is_asking = False
        self._received = b""
        self._timer.cancel()
        self._timer = self._loop.call_later(ANSWER_SECONDS, self.abort)
        try:
            request = parse_request(head if end else b"")
        except BadRequest:
            self.answer(400, [b"Bad request\n"])
            return
        self._serve(self, request)

    def eof_received(self) -> bool:
        """The client has closed its side: it still reads if it has asked for something."""
        return not self._is_asking

    def pause_writing(self) -> None:
        """The client does not read as fast."""
        self._is_paused = True

    def resume_writing(self) -> None:
        """It has read most of it."""
        self._is_paused = False
        self._go_on()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is closed."""
        self._timer.cancel()
        self._transport = self._pieces = None
        self._left(self)

    # -- the answer ----------------------------------------------------------------------------

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()
        else:  # it has not begun
            self._left(self)

    def answer(
        self,
        status: int,
        body: Iterable[bytes],
        content_type: str = "text/plain; charset=utf-8",
        **headers: str,
    ) -> None:
        """Send the answer and close; nothing if the connection is lost."""
        body = list(body)
        fields = {
            "Content-Type": content_type,
            "Content-Length": str(sum(map(len, body))),
            "Connection": "close",
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        lines = [f"HTTP/1.1 {status} {REASONS[status]}"]
        lines += [f"{name}: {value}" for name, value in fields.items()]
        head = "".join(f"{line}\r\n" for line in [*lines, ""]).encode()
        self._pieces = chain([head], body)
        self._go_on()

    def _go_on(self) -> None:
        """Write as much as the transport takes."""
        transport, pieces = self._transport, self._pieces
        if transport is None or pieces is None:
            return
        while not self._is_paused:
            piece = next(pieces, None)
            if piece is None:
                self._pieces = None
                transport.close()
                return
            transport.write(piece)


def parse_request(head: bytes) -> HttpRequest:
    """The request line and the header fields. Raises BadRequest."""
    first, *lines = head.decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1.") or not words[1].startswith("/"):
        raise BadRequest
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise BadRequest
        headers[name.lower()] = value.strip()
    return HttpRequest(words[0], words[1].partition("?")[0], headers)
