"""server/metrics/connection.py: one HTTP connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from server.metrics.connection import (
    ANSWER_SECONDS,
    REQUEST_SECONDS,
    BadRequest,
    HttpConnection,
    HttpRequest,
    parse_request,
)


class Timer:
    def __init__(self, seconds: float, run: Callable[[], None]) -> None:
        self.seconds, self.run = seconds, run
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class Peer:
    """The loop and the transport of one connection, and what arrives at the other end."""

    def __init__(self, room: int = 1 << 30) -> None:
        self.timers: list[Timer] = []
        self.sent = b""
        self.room = room
        self.is_closed = self.is_aborted = self.has_left = False
        self.requests: list[HttpRequest] = []
        loop = cast("asyncio.AbstractEventLoop", self)
        self.connection = HttpConnection(loop, self.serve, self.left)
        self.connection.connection_made(cast("asyncio.BaseTransport", self))

    def call_later(self, seconds: float, run: Callable[[], None]) -> Timer:
        self.timers.append(Timer(seconds, run))
        return self.timers[-1]

    def serve(self, connection: HttpConnection, request: HttpRequest) -> None:
        self.requests.append(request)

    def left(self, connection: HttpConnection) -> None:
        self.has_left = True

    def get_extra_info(self, name: str) -> Any:
        return ("10.0.0.7", 4711) if name == "peername" else None

    def write(self, data: bytes) -> None:
        self.sent += data
        if len(self.sent) > self.room:
            self.connection.pause_writing()

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_aborted = True
        self.connection.connection_lost(None)

    @property
    def waiting(self) -> list[float]:
        return [timer.seconds for timer in self.timers if not timer.is_cancelled]


GET = b"GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Basic eDp5\r\n\r\n"


def test_a_request_may_come_in_pieces() -> None:
    peer = Peer()
    for byte in GET:
        peer.connection.data_received(bytes([byte]))
    (request,) = peer.requests
    assert (request.method, request.path) == ("GET", "/metrics")
    assert request.headers == {"host": "x", "authorization": "Basic eDp5"}
    assert peer.connection.peer == "10.0.0.7:4711"


def test_an_answer_ends_the_connection() -> None:
    peer = Peer()
    peer.connection.data_received(GET)
    peer.connection.answer(200, [b"one\n", b"two\n"])
    head, _, body = peer.sent.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"\r\nContent-Length: 8\r\nConnection: close" in head
    assert body == b"one\ntwo\n"
    assert peer.is_closed


@pytest.mark.parametrize(
    "data", [b"hello\r\n\r\n", b"GET /\r\n\r\n", b"GET x HTTP/1.1\r\n\r\n", b"*1\r\n$4\r\nPING\r\n"
             b"\r\n\r\n", b"GET / HTTP/1.1\r\nno colon\r\n\r\n", b"\x16\x03\x01" + b"x" * 9000]
)  # fmt: skip
def test_what_is_no_request_gets_400(data: bytes) -> None:
    peer = Peer()
    peer.connection.data_received(data)
    assert peer.sent.startswith(b"HTTP/1.1 400 ")
    assert peer.is_closed
    assert peer.requests == []


def test_a_client_that_does_not_ask_is_closed() -> None:
    peer = Peer()
    peer.connection.data_received(GET[:-1])
    assert peer.waiting == [REQUEST_SECONDS]
    peer.timers[0].run()
    assert (peer.is_aborted, peer.has_left, peer.waiting) == (True, True, [])


def test_a_client_that_does_not_read_is_closed_and_no_more_is_written_for_it() -> None:
    peer = Peer(room=1000)
    peer.connection.data_received(GET)
    peer.connection.answer(200, [b"x" * 400] * 100)
    assert len(peer.sent) < 2000
    assert peer.waiting == [ANSWER_SECONDS]
    peer.room = 5000
    peer.connection.resume_writing()
    assert 5000 < len(peer.sent) < 6000
    peer.timers[1].run()
    assert (peer.is_aborted, peer.waiting) == (True, [])


def test_an_answer_for_a_client_that_has_left_is_dropped() -> None:
    peer = Peer()
    peer.connection.data_received(GET)
    peer.connection.connection_lost(None)
    peer.connection.answer(200, [b"late"])
    assert peer.sent == b""


def test_a_client_may_close_its_side_once_it_has_asked() -> None:
    assert not Peer().connection.eof_received()
    peer = Peer()
    peer.connection.data_received(GET + b"more, which is ignored")
    peer.connection.data_received(b"and more")
    assert peer.connection.eof_received()
    assert len(peer.requests) == 1


def test_a_query_belongs_to_no_path() -> None:
    assert parse_request(b"GET /metrics?name=x HTTP/1.0").path == "/metrics"
    with pytest.raises(BadRequest):
        parse_request(b"")
