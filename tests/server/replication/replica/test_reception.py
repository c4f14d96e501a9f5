"""server/replication/replica/reception.py: replies where none is expected."""

from __future__ import annotations

import pytest

from commands.core.client import Client, Clients
from commands.core.gates import GATE_PRIMARY, GATE_REPLICA, GATE_SILENT
from protocol.request import Request
from server.inprocess.server import InProcessServer, ServerDied

PANIC = "This replica panicked sending an error to its master after processing the command"


def primary_of(server: InProcessServer) -> Client:
    """The client that runs the requests of the server's primary."""
    client = server.instance.feature(Clients).new()
    client.gates |= GATE_PRIMARY | GATE_SILENT
    return client


def critical(server: InProcessServer) -> list[str]:
    return [line for _, line in server.log_lines if line.startswith("== CRITICAL ==")]


@pytest.mark.parametrize(
    ("words", "error", "command"),
    [
        ((b"INCR", b"text"), "value is not an integer or out of range", "incr"),
        ((b"INCR",), "wrong number of arguments for 'incr' command", "incr"),
        (
            (b"NO-SUCH", b"x"),
            "unknown command 'NO-SUCH', with args beginning with: 'x' ",
            "<unknown>",
        ),
    ],
)
@pytest.mark.parametrize("behavior", ["ignore", "panic", "panic-on-replicas"])
@pytest.mark.parametrize("is_read_only", [True, False])
def test_an_error_for_the_primary_is_logged_and_may_end_a_read_only_replica(
    words: tuple[bytes, ...], error: str, command: str, behavior: str, *, is_read_only: bool
) -> None:
    server = InProcessServer()
    server.connect().execute("SET", "text", "x")
    config = server.instance.config
    config.replica_read_only, config.propagation_error_behavior = is_read_only, behavior
    client = primary_of(server)
    if behavior == "ignore" or not is_read_only:
        server.dispatcher.execute(client, Request(list(words)))
    else:
        with pytest.raises(ServerDied, match=f"{PANIC} '{command}'"):
            server.dispatcher.execute(client, Request(list(words)))
    assert critical(server) == [
        f"== CRITICAL == This replica is sending an error to its master: '{error}' after"
        f" processing the command '{command}'"
    ]
    assert server.instance.stats.unexpected_error_replies == 1
    assert client.output == []


@pytest.mark.parametrize(
    ("words", "name", "is_error"),
    [
        (("PING",), "ping", False),
        (("XINFO", "HELP"), "xinfo|help", False),
        (("GET", "foo"), "get", True),
    ],
)
def test_a_replica_that_would_be_answered_is_disconnected(
    words: tuple[str, ...], name: str, *, is_error: bool
) -> None:
    server = InProcessServer()
    replica = server.connect()
    replica.state.gates |= GATE_REPLICA
    replica.execute(*words)
    assert replica.state.closed
    begin = f"Replica generated a reply to command '{name}', disconnecting it: id="
    assert any(line.startswith(begin) for _, line in server.log_lines)
    assert bool(critical(server)) == is_error
