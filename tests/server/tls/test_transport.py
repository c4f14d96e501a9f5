"""server/tls/transport.py between a client that encrypts and one that records, without sockets."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from server.tls.transport import EncryptedTransport
from tests.support.certificates import Authority

LARGE = b"0123456789abcdef" * 20_000


class Socket:
    """The transport of a socket: what is sent, and whether it is closed."""

    def __init__(self) -> None:
        self.sent = b""
        self.closed = False

    def write(self, data: bytes) -> None:
        assert not self.closed
        self.sent += data

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed


class Client:
    """A server's client: what it gets. `keeps`: it is still being answered at the end."""

    def __init__(self, keeps: bool = False) -> None:
        self.keeps = keeps
        self.transport: Any = None
        self.received = b""
        self.events: list[str] = []

    def connection_made(self, transport: object) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.received += data

    def eof_received(self) -> bool:
        self.events.append("eof")
        return self.keeps

    def connection_lost(self, exc: Exception | None) -> None:
        self.events.append("lost")


class Both:
    """Both ends of a connection: `peer` is OpenSSL's, `client` the server's."""

    def __init__(self, folder: Path, *, keeps: bool = False) -> None:
        authority = Authority(folder)
        own = authority.issue("server")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(own.certificate, own.key)
        self.socket, self.client = Socket(), Client(keeps)
        self.handshake: asyncio.Future[None] = asyncio.Future(loop=asyncio.new_event_loop())
        self.turns: list[Callable[[], None]] = []  # of the handshake
        self.transport = EncryptedTransport(
            context,
            lambda: cast("asyncio.Protocol", self.client),
            self.handshake,
            self.turns.append,
        )
        self.transport.connection_made(cast("asyncio.Transport", self.socket))
        self._received, self._sent = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.peer = ssl.create_default_context(cafile=authority.path).wrap_bio(
            self._received, self._sent, server_hostname="localhost"
        )

    def taken(self) -> bytes:
        """What the peer has written."""
        return self._sent.read()

    def exchange(self, size: int = 1 << 20) -> None:
        """What the peer has written arrives, `size` bytes at a time; what was sent comes back."""
        data = self.taken()
        for start in range(0, len(data), size):
            self.transport.data_received(data[start : start + size])
            self.run_turns()
        self._received.write(self.socket.sent)
        self.socket.sent = b""

    def run_turns(self) -> None:
        while self.turns:
            self.turns.pop(0)()

    def shake_hands(self, size: int = 1 << 20) -> None:
        while not self.handshake.done() or self._sent.pending:
            with contextlib.suppress(ssl.SSLWantReadError):
                self.peer.do_handshake()
            self.exchange(size)

    def read(self) -> bytes:
        """All that has come to the peer."""
        found = b""
        with contextlib.suppress(ssl.SSLWantReadError):
            while part := self.peer.read(1 << 20):
                found += part
        return found

    def end(self) -> None:
        """The peer's close_notify."""
        with contextlib.suppress(ssl.SSLWantReadError):
            self.peer.unwrap()
        self.exchange()


def test_a_handshake_waits_for_its_turn(tmp_path: Path) -> None:
    both = Both(tmp_path)
    with contextlib.suppress(ssl.SSLWantReadError):
        both.peer.do_handshake()
    hello = both.taken()
    both.transport.data_received(hello[:100])
    both.transport.data_received(hello[100:])
    assert (both.socket.sent, len(both.turns)) == (b"", 1)
    both.run_turns()
    assert both.socket.sent


def test_a_handshake_whose_peer_has_gone_takes_no_turn(tmp_path: Path) -> None:
    both = Both(tmp_path)
    both.transport.data_received(b"\x16")
    both.socket.close()
    both.transport.connection_lost(None)
    both.run_turns()
    assert both.socket.sent == b""
    assert isinstance(both.handshake.exception(), ConnectionResetError)


@pytest.mark.parametrize("size", [1, 7, 1000, 1 << 20])
def test_bytes_pass_in_both_directions_however_they_arrive(tmp_path: Path, size: int) -> None:
    both = Both(tmp_path)
    both.shake_hands(size)
    large = LARGE[: size * 3000]
    for data in (b"a", large, b"b"):
        both.peer.write(data)
        both.exchange(size)
    assert both.client.received == b"a" + large + b"b"
    for data in (b"c", LARGE, b"d"):
        both.transport.write(data)
    both.exchange()
    assert both.read() == b"c" + LARGE + b"d"


def test_a_request_that_comes_with_the_end_of_the_handshake_is_not_lost(tmp_path: Path) -> None:
    both = Both(tmp_path)
    for _ in range(2):
        with contextlib.suppress(ssl.SSLWantReadError):
            both.peer.do_handshake()
        if not both.handshake.done() and both.peer.version():
            both.peer.write(b"PING")
        both.exchange()
    assert both.client.received == b"PING"


def test_a_peer_that_closes_its_side_is_told_so_and_closed(tmp_path: Path) -> None:
    both = Both(tmp_path)
    both.shake_hands()
    both.peer.write(b"last")
    both.end()
    assert (both.client.received, both.client.events) == (b"last", ["eof"])
    assert both.socket.closed
    both.transport.write(b"late")
    with pytest.raises(ssl.SSLZeroReturnError):  # a close_notify
        both.peer.read(100)
    assert not both.transport.eof_received()
    both.transport.connection_lost(None)
    assert both.client.events == ["eof", "lost"]


def test_a_peer_that_closes_its_side_still_reads_what_is_under_way(tmp_path: Path) -> None:
    both = Both(tmp_path, keeps=True)
    both.shake_hands()
    both.end()
    assert both.transport.eof_received()  # the end of TCP
    assert not both.socket.closed
    both.transport.write(LARGE)
    both.exchange()
    assert both.read() == LARGE
    both.transport.close()
    assert both.socket.closed
    assert both.client.events == ["eof"]


def test_bytes_that_the_peer_did_not_send_close_the_connection(tmp_path: Path) -> None:
    both = Both(tmp_path)
    both.shake_hands()
    both.transport.data_received(b"\x17\x03\x03\x00\x20" + bytes(32))
    assert both.socket.closed
    assert both.client.received == b""


def test_a_handshake_that_fails_says_why(tmp_path: Path) -> None:
    both = Both(tmp_path)
    both.transport.data_received(b"*1\r\n$4\r\nPING\r\n")
    both.run_turns()
    with pytest.raises(ssl.SSLError):
        both.handshake.result()
    assert both.socket.closed
    assert both.client.transport is None


@pytest.mark.parametrize("by_end", [True, False])
def test_a_peer_that_leaves_during_the_handshake_is_no_client(tmp_path: Path, by_end: bool) -> None:
    both = Both(tmp_path)
    if by_end:
        assert not both.transport.eof_received()
    both.transport.connection_lost(None)
    with pytest.raises(ConnectionResetError):
        both.handshake.result()
    assert both.client.transport is None
