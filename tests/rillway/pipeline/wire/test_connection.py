"""Connections: requests out, replies back, and errors that give no password away."""

from __future__ import annotations

import pytest

from rillway.pipeline.wire.connection import (
    Connection,
    ConnectionLost,
    ServerError,
    has_error,
    pack,
)

pytestmark = pytest.mark.integration


def test_a_request_is_packed_as_an_array_of_bulk_strings() -> None:
    assert pack("GET", b"k", 12) == b"*3\r\n$3\r\nGET\r\n$1\r\nk\r\n$2\r\n12\r\n"


def test_a_call_gives_the_reply(link: Connection) -> None:
    assert link.call("PING") == b"PONG"
    assert link.call("XADD", "s", "1-0", "f", b"\xff") == b"1-0"
    assert link.call("XRANGE", "s", "-", "+") == [[b"1-0", [b"f", b"\xff"]]]
    assert link.call("GET", "missing") is None


def test_a_call_raises_the_servers_error(link: Connection) -> None:
    link.call("SET", "k", "v")
    with pytest.raises(ServerError, match="wrong kind of value") as raised:
        link.call("XLEN", "k")
    assert raised.value.code == "WRONGTYPE"


def test_several_requests_have_their_errors_among_their_replies(link: Connection) -> None:
    first, second, third = link.call_all([("PING",), ("NONSENSE",), ("PING",)])
    assert first == third == b"PONG"
    assert isinstance(second, ServerError)


def test_replies_are_received_together_whatever_they_are(link: Connection) -> None:
    link.call("SET", "k", b"v" * 100_000)
    link.send((pack("EXISTS", "none") + pack("GET", "none") + pack("GET", "k")) * 30 + pack("PING"))
    replies = link.receive_all(90)
    assert replies == [0, None, b"v" * 100_000] * 30
    assert not has_error(replies) and has_error([*replies, ServerError("ERR")])
    assert link.receive() == b"PONG"
    assert link.receive_all(0) == []


def test_the_database_of_the_url_is_selected(link: Connection) -> None:
    with Connection(f"{link.url}/3") as other:
        other.call("SET", "k", "v")
    assert link.call("EXISTS", "k") == 0


def test_a_connection_that_the_server_closes_is_lost(link: Connection) -> None:
    with Connection(link.url) as other:
        number = other.call("CLIENT", "ID")
        link.call("CLIENT", "KILL", "ID", number)
        with pytest.raises(ConnectionLost, match="redis://127"):
            other.call("PING")


def test_no_message_holds_a_password(link: Connection) -> None:
    url = link.url.replace("redis://", "redis://somebody:secret@")
    with pytest.raises(ConnectionLost) as raised:
        Connection(url)
    assert "secret" not in str(raised.value)
    assert "somebody:***@127.0.0.1" in str(raised.value)
