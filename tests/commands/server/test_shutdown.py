"""SHUTDOWN."""

from __future__ import annotations

import errno

import pytest

from server.inprocess.server import InProcessClient, InProcessServer


@pytest.mark.parametrize("options", [(), ("NOSAVE",), ("now", "force"), ("NOSAVE", "NOW", "FORCE")])
def test_shutdown_stops_the_server_without_a_reply(options: tuple[str, ...]) -> None:
    server = InProcessServer()
    client = server.connect()
    assert client.pipeline(("SHUTDOWN", *options), ("SET", "k", "v")) == b""
    assert server.shutdown_requested
    assert client.closed
    assert len(server.instance.databases[0]) == 0


@pytest.mark.parametrize(
    "options",
    [("FOO",), ("SAVE", "NOSAVE"), ("ABORT", "NOW"), ("NOW", "FORCE", "x")],
)
def test_options_that_do_not_fit_are_a_syntax_error(options: tuple[str, ...]) -> None:
    server = InProcessServer()
    assert server.connect().execute("SHUTDOWN", *options) == b"-ERR syntax error\r\n"
    assert not server.shutdown_requested


def test_there_is_never_a_shutdown_to_abort(client: InProcessClient) -> None:
    assert client.execute("SHUTDOWN", "ABORT") == b"-ERR No shutdown in progress.\r\n"
    assert client.execute("SHUTDOWN", "ABORT", "abort") == b"-ERR No shutdown in progress.\r\n"


def test_what_the_disk_does_not_take_is_an_error_and_the_server_goes_on() -> None:
    server = InProcessServer()
    server.files.fail("create", errno.ENOSPC)
    client = server.connect()
    assert client.execute("SHUTDOWN", "SAVE") == b"-ERR Errors trying to SHUTDOWN. Check logs.\r\n"
    assert not server.shutdown_requested
    assert client.execute("PING") == b"+PONG\r\n"
    assert client.execute("SHUTDOWN", "SAVE", "FORCE") == b""
    assert server.shutdown_requested


def test_shutdown_is_not_queued_in_a_transaction() -> None:
    server = InProcessServer()
    client = server.connect()
    client.execute("MULTI")
    reply = client.execute("SHUTDOWN")
    assert reply == b"-ERR Command not allowed inside a transaction\r\n"
    assert not server.shutdown_requested
