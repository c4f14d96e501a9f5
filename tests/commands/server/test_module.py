"""MODULE without modules. The replies are those of redis-server 7.0.15."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessClient


@pytest.mark.parametrize("resp", ["2", "3"])
def test_no_modules_are_loaded(client: InProcessClient, resp: str) -> None:
    client.execute("HELLO", resp)
    assert client.execute("MODULE", "LIST") == b"*0\r\n"


def test_none_can_be_loaded(client: InProcessClient) -> None:
    reply = client.execute("MODULE", "LOAD", "x")
    assert reply == b"-ERR unknown subcommand 'LOAD'. Try MODULE HELP.\r\n"
    assert b"+LIST\r\n" in client.execute("MODULE", "HELP")
