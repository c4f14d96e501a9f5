"""Raw RESP: replies kept byte for byte, and a plain client for one connection.

`ReplyReader` cuts a byte stream into whole replies of RESP2 or RESP3 without decoding them;
`parse` lays one reply out as a tree whose parts still join to the very same bytes; `RespClient`
sends commands and hands back raw replies. A test that compares servers compares these bytes, so
nothing here may normalise, decode or drop anything.

Leaves out: streamed aggregates (`*?`), which Redis does not send.
"""

from __future__ import annotations

import select
import socket
import ssl
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

Argument: TypeAlias = bytes | str | int
Command: TypeAlias = Sequence[Argument]

CRLF = b"\r\n"
BULK_KINDS = b"$=!"
ARRAY_KINDS = b"*~>"
MAP_KINDS = b"%|"
SCALAR_KINDS = b"+-:_#,("
RECEIVE_BYTES = 256 * 1024


class BrokenReply(Exception):
    """The bytes are no RESP, or the server closed the connection in the middle of a reply."""


def to_bytes(argument: Argument) -> bytes:
    """Text as UTF-8, a number in decimal, bytes as they are."""
    if isinstance(argument, bytes):
        return argument
    return str(argument).encode()


def encode_command(argv: Command) -> bytes:
    """`argv` as a RESP array of bulk strings."""
    arguments = [to_bytes(argument) for argument in argv]
    parts = [b"*%d\r\n" % len(arguments)]
    parts.extend(b"$%d\r\n%b\r\n" % (len(argument), argument) for argument in arguments)
    return b"".join(parts)


class ReplyReader:
    """Cuts a byte stream into whole replies. Bytes of an unfinished reply are scanned only once."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._scanned = 0
        self._missing = 1  # elements still to come before the reply at the front is whole

    def feed(self, data: bytes) -> None:
        self._buffer += data

    def next_reply(self) -> bytes | None:
        """The raw bytes of the next whole reply, or None when more bytes are needed.

        An attribute (`|`) belongs to the reply that follows it.
        """
        buffer, at, missing = self._buffer, self._scanned, self._missing
        while missing:
            line_end = buffer.find(CRLF, at)
            if line_end < 0:
                break
            kind = buffer[at]
            end = line_end + 2
            if kind in SCALAR_KINDS:
                missing -= 1
            elif kind in BULK_KINDS:
                size = self._number(at, line_end)
                end += size + 2 if size >= 0 else 0
                if end > len(buffer):
                    break
                missing -= 1
            elif kind in ARRAY_KINDS:
                missing += max(self._number(at, line_end), 0) - 1
            elif kind in MAP_KINDS:
                # An attribute only precedes an element: the element itself is still to come.
                missing += 2 * max(self._number(at, line_end), 0) - (kind != ord("|"))
            else:
                raise BrokenReply(f"no RESP type: {bytes(buffer[at:end])!r}")
            at = end
        if missing:
            self._scanned, self._missing = at, missing
            return None
        reply = bytes(buffer[:at])
        del buffer[:at]
        self._scanned = 0
        self._missing = 1
        return reply

    def _number(self, start: int, line_end: int) -> int:
        header = bytes(self._buffer[start + 1 : line_end])
        try:
            return int(header)
        except ValueError:
            raise BrokenReply(f"no length: {header!r}") from None


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply, or an element of one.

    head: its bytes without its elements: the line, for a bulk string with the payload's line.
    items: its elements, in order; those of a map alternate between key and value.
    """

    head: bytes
    items: tuple[Reply, ...] = ()

    @property
    def kind(self) -> bytes:
        """The type byte: b"+", b"-", b":", b"$", b"*", b"%" ..."""
        return self.head[:1]

    @property
    def is_null(self) -> bool:
        return self.head in (b"_\r\n", b"$-1\r\n", b"*-1\r\n")

    @property
    def text(self) -> bytes:
        """What a scalar or a bulk string says, without type, length and CRLF."""
        line, _, payload = self.head[1:].partition(CRLF)
        return payload[:-2] if self.kind in (b"$", b"=", b"!") else line

    @property
    def number(self) -> int:
        return int(self.text)

    def raw(self) -> bytes:
        """The reply's raw bytes."""
        return b"".join(self._parts())

    def _parts(self) -> Iterator[bytes]:
        yield self.head
        for item in self.items:
            yield from item._parts()


def parse(raw: bytes) -> Reply:
    """One whole reply as a tree; `parse(raw).raw() == raw`. Raises BrokenReply."""
    reply, end = _parse_at(raw, 0)
    if end != len(raw):
        raise BrokenReply(f"bytes after the reply: {raw[end:]!r}")
    return reply


def _parse_at(raw: bytes, start: int) -> tuple[Reply, int]:
    line_end = raw.find(CRLF, start)
    if line_end < 0:
        raise BrokenReply(f"unfinished reply: {raw[start:]!r}")
    end = line_end + 2
    kind = raw[start]
    if kind in SCALAR_KINDS:
        return Reply(raw[start:end]), end
    size = int(raw[start + 1 : line_end])
    if kind in BULK_KINDS:
        if size >= 0:
            end += size + 2
        return Reply(raw[start:end]), end
    count = 2 * size if kind in MAP_KINDS else size
    head = raw[start:end]
    items = []
    for _ in range(count):
        item, end = _parse_at(raw, end)
        items.append(item)
    return Reply(head, tuple(items)), end


class RespClient:
    """One blocking connection to a server on this machine. Replies are raw bytes.

    A pushed message (`>`) is a reply like any other: it is returned where it arrived.
    """

    def __init__(
        self,
        address: int | Path,
        *,
        context: ssl.SSLContext | None = None,
        protocol: int = 2,
        timeout_seconds: float = 30.0,
    ) -> None:
        """`address`: a port, or the path of a Unix socket; over TLS with a `context`."""
        if isinstance(address, Path):
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.settimeout(timeout_seconds)
            self._socket.connect(str(address))
        else:
            self._socket = socket.create_connection(("127.0.0.1", address), timeout_seconds)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if context is not None:
            self._socket = context.wrap_socket(self._socket, server_hostname="localhost")
        self._reader = ReplyReader()
        if protocol == 3:
            hello = self.send("HELLO", 3)
            assert not hello.startswith(b"-"), hello

    def send(self, *argv: Argument) -> bytes:
        """Sends one command and returns its reply."""
        self.write(*argv)
        return self.read_reply()

    def pipeline(self, commands: Iterable[Command]) -> list[bytes]:
        """Sends all commands in one write and returns a reply for each."""
        count = self.write_all(commands)
        return [self.read_reply() for _ in range(count)]

    def write_all(self, commands: Iterable[Command]) -> int:
        """Sends all commands in one write and waits for nothing; how many there were."""
        encoded = [encode_command(argv) for argv in commands]
        self.write_bytes(b"".join(encoded))
        return len(encoded)

    def write(self, *argv: Argument) -> None:
        """Sends one command and waits for nothing."""
        self.write_bytes(encode_command(argv))

    def write_bytes(self, data: bytes) -> None:
        """Sends bytes as they are, be they a request or not."""
        self._socket.sendall(data)

    def read_reply(self) -> bytes:
        """The next reply. Raises BrokenReply when the server closes first, TimeoutError."""
        while (reply := self._reader.next_reply()) is None:
            self._receive()
        return reply

    def arrived(self) -> list[bytes]:
        """The whole replies that are here already; waits for nothing. Not over TLS."""
        replies = []
        while True:
            while (reply := self._reader.next_reply()) is not None:
                replies.append(reply)
            readable, _, _ = select.select([self._socket], [], [], 0)
            if not readable:
                return replies
            self._receive()

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> RespClient:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _receive(self) -> None:
        data = self._socket.recv(RECEIVE_BYTES)
        if not data:
            raise BrokenReply("the server closed the connection")
        self._reader.feed(data)
