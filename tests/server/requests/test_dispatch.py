"""server/requests/dispatch.py: lookup, statistics, bugs in handlers."""

from __future__ import annotations

import pytest

from commands.core.client import Client
from commands.core.registry import COMMANDS
from protocol.requests import Argv
from server.inprocess.server import InProcessClient, InProcessServer


def test_a_command_is_found_in_any_spelling(client: InProcessClient) -> None:
    assert (
        client.execute("PING") == client.execute("ping") == client.execute("PiNg") == b"+PONG\r\n"
    )


def test_an_unknown_command_is_answered_as_redis_does() -> None:
    reply = InProcessServer().connect().execute("NOPE", "a")
    assert reply == b"-ERR unknown command 'NOPE', with args beginning with: 'a' \r\n"


def test_an_unknown_subcommand_names_its_container() -> None:
    reply = InProcessServer().connect().execute("XGROUP", "NOPE", "s")
    assert reply == b"-ERR unknown subcommand 'NOPE'. Try XGROUP HELP.\r\n"


def test_an_http_request_closes_the_connection_before_its_body_can_run() -> None:
    server = InProcessServer()
    client = server.connect()
    assert client.feed(b"POST / HTTP/1.1\r\nHost: x\r\n\r\nSET k v\r\n") == b""
    assert client.closed
    assert server.connect().execute("EXISTS", "k") == b":0\r\n"


def test_wrong_arity_is_refused_before_the_handler_runs(client: InProcessClient) -> None:
    assert client.execute("GET") == b"-ERR wrong number of arguments for 'get' command\r\n"
    reply = client.execute("XGROUP", "CREATE", "s")
    assert reply == b"-ERR wrong number of arguments for 'xgroup|create' command\r\n"


def test_calls_failures_and_rejections_are_counted_apart() -> None:
    server = InProcessServer()
    client = server.connect()
    client.execute("SET", "k", "v")
    client.execute("GET", "k")
    client.execute("GET")
    client.execute("XADD", "k", "*", "f", "v")
    get, xadd = (server.instance.stats.of(COMMANDS[name]) for name in (b"get", b"xadd"))
    assert (get.calls, get.failed_calls, get.rejected_calls) == (1, 0, 1)
    assert (xadd.calls, xadd.failed_calls, xadd.rejected_calls) == (1, 1, 0)
    assert server.instance.stats.errors == {b"ERR": 1, b"WRONGTYPE": 1}


def test_a_bug_in_a_handler_affects_no_other_client_and_its_traceback_is_shown(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    server = InProcessServer()
    client = server.connect()

    def broken(client: Client, argv: Argv) -> bytes:
        raise ZeroDivisionError

    monkeypatch.setattr(COMMANDS[b"echo"], "handler", broken)
    assert client.execute("ECHO", "x").startswith(b"-ERR internal error")
    assert any("ZeroDivisionError" in text for _, text in server.log_lines)
    assert "in broken\n    raise ZeroDivisionError" in caplog.text
    assert client.execute("PING") == b"+PONG\r\n"
