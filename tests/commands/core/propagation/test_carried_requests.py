"""Requests that only Rillway knows, carried in an ECHO and unpacked again."""

from __future__ import annotations

import pytest

from commands.core.propagation.carried_requests import carried, propagate_carried
from commands.core.registry import Command
from protocol.errors import ReplyError
from protocol.request import Request
from protocol.requests import Argv
from server.inprocess.server import InProcessServer
from storage.append_only.carriers import wrap

CARRIER = wrap([b"xcfgset", b"s", b"ACK-JOURNAL", b"j"])


def unpacked(argv: list[bytes]) -> tuple[Command, Argv] | None:
    return carried(InProcessServer().connect().state, Request(argv))


def test_a_carrier_comes_with_its_command() -> None:
    command, request = unpacked(CARRIER) or (None, [])
    assert command is not None and command.fullname == b"xcfgset"
    assert request[1:] == [b"s", b"ACK-JOURNAL", b"j"]
    assert unpacked([b"ECHO", b"hello"]) is None


@pytest.mark.parametrize(
    "request_",
    [[b"NOSUCH", b"x"], [b"GET", b"x"], [b"SHUTDOWN"], [b"XCFGSET"], [b"\xff"]],
)
def test_what_is_carried_must_be_a_write_that_there_is(request_: list[bytes]) -> None:
    with pytest.raises(ReplyError, match="unknown here"):
        unpacked(wrap(request_))


def test_a_carrier_of_another_version_is_refused() -> None:
    with pytest.raises(ReplyError, match="in a form that is unknown"):
        unpacked([b"ECHO", b"rillway\x009*0"])


def test_a_client_cannot_send_one_and_its_echo_goes_nowhere() -> None:
    server = InProcessServer()
    client = server.connect()
    client.execute("XADD", "s", "1-1", "f", "v")
    server.propagated.clear()
    assert client.execute(*CARRIER) == b"$%d\r\n%b\r\n" % (len(CARRIER[1]), CARRIER[1])
    assert client.execute("XINFO", "POLICY", "s") == b"*0\r\n"
    assert server.propagated == []


def test_from_a_primary_it_runs() -> None:
    server = InProcessServer()
    client = server.connect()
    client.execute("XADD", "s", "1-1", "f", "v")
    client.state.replays = True
    client.execute(*CARRIER)
    assert b"ack-journal" in client.execute("XINFO", "POLICY", "s")


def test_nothing_is_built_without_a_sink() -> None:
    server = InProcessServer()
    server.instance.propagation.sinks.clear()
    client = server.connect().state
    propagate_carried(client, b"XCFGSET", b"s")
    assert not client.propagates and not client.instance.propagation.requests


def test_what_a_primary_sends_in_a_carrier_is_propagated(server: InProcessServer) -> None:
    client = server.connect()
    client.execute("XADD", "s", "1-1", "f", "v")
    client.execute("XGROUP", "CREATE", "s", "g", "0")
    client.execute("XGROUP", "CREATECONSUMER", "s", "g", "c")
    carrier = wrap([b"XGROUP", b"DELCONSUMER", b"s", b"g", b"c"])
    client.state.replays = True
    server.propagated.clear()
    client.execute(*carrier)
    assert server.propagated == [(0, [carrier])]
    client.execute(*carrier)  # which changes nothing any more
    assert server.propagated == [(0, [carrier])]
