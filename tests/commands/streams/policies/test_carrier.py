"""How policies reach files and replicas."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessServer
from tests.commands.streams.talk import Talk, carrier


def test_a_carrier_restores_a_policy(client: Talk) -> None:
    client.do("XADD s 1-1 f v")
    client.replay(carrier("XPOLICY s retain RETAIN-LEN 5"))
    assert client.fields("XINFO POLICY s")["retain-len"] == 5


def test_clients_cannot_send_one(client: Talk) -> None:
    client.do("XADD s 1-1 f v")
    assert "unknown command 'XPOLICY'" in client.error("XPOLICY s retain RETAIN-LEN 5")
    client.client.execute(*carrier("XPOLICY s retain RETAIN-LEN 5").split(" ", 1))
    assert client.fields("XINFO POLICY s") == {}


@pytest.mark.parametrize("request_", ["XPOLICY s unheard-of 5", "XPOLICY none retain RETAIN-LEN 5"])
def test_what_is_unknown_is_refused(client: Talk, server: InProcessServer, request_: str) -> None:
    client.do("XADD s 1-1 f v")
    client.client.state.replays = True
    assert client.client.execute(*carrier(request_).split(" ", 1)).startswith(b"-ERR ")
