"""server/session.py: requests in order, and those that must wait."""

from __future__ import annotations

from server.inprocess import InProcessServer


def test_a_broken_request_is_answered_after_those_before_it_and_ends_the_connection() -> None:
    client = InProcessServer().connect()
    reply = client.feed(b"PING\r\n*1\r\n:1\r\n")
    assert reply == b"+PONG\r\n-ERR Protocol error: expected '$', got ':'\r\n"
    assert client.closed


def test_requests_behind_a_blocking_one_wait_for_it() -> None:
    server = InProcessServer()
    client = server.connect()
    client.pipeline(("XREAD", "BLOCK", "10", "STREAMS", "s", "$"), ("ECHO", "1"), ("ECHO", "2"))
    assert client.received() == b""
    server.advance(10)
    assert client.received() == b"*-1\r\n$1\r\n1\r\n$1\r\n2\r\n"


def test_two_blocking_requests_of_one_pipeline_block_one_after_the_other() -> None:
    server = InProcessServer()
    client = server.connect()
    block = ("XREAD", "BLOCK", "10", "STREAMS", "s", "$")
    client.pipeline(block, block, ("PING",))
    server.advance(10)
    assert client.received() == b"*-1\r\n"
    server.advance(10)
    assert client.received() == b"*-1\r\n+PONG\r\n"


def test_a_paused_client_runs_its_request_when_the_pause_ends() -> None:
    server = InProcessServer()
    writer, admin = server.connect(), server.connect()
    admin.execute("CLIENT", "PAUSE", "100", "WRITE")
    assert writer.execute("GET", "k") == b"$-1\r\n"
    assert writer.pipeline(("SET", "k", "v"), ("GET", "k")) == b""
    server.advance(100)
    assert writer.received() == b"+OK\r\n$1\r\nv\r\n"


def test_nothing_runs_after_quit() -> None:
    server = InProcessServer()
    client = server.connect()
    assert client.pipeline(("QUIT",), ("SET", "k", "v")) == b"+OK\r\n"
    assert client.closed
    assert server.connect().execute("GET", "k") == b"$-1\r\n"
