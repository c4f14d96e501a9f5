"""Fixtures for tests that talk to a running Rillway over its socket.

`server` is the session's Rillway, emptied before each test; `run_rillway` (tests/conftest.py)
starts one with directives of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import pytest

from tests.support.programs.servers import RunningServer
from tests.support.resp import RespClient

Connect: TypeAlias = Callable[..., RespClient]


@pytest.fixture
def server(rillway_server: RunningServer) -> RunningServer:
    """The session's Rillway, without a key in any database."""
    with rillway_server.connect() as client:
        assert client.send("FLUSHALL") == b"+OK\r\n"
    return rillway_server


@pytest.fixture
def connect(server: RunningServer) -> Iterator[Connect]:
    """Opens connections to `server` (`protocol`, `timeout_seconds`); they close with the test."""
    opened: list[RespClient] = []

    def open_one(*, protocol: int = 2, timeout_seconds: float = 10.0) -> RespClient:
        client = server.connect(protocol=protocol, timeout_seconds=timeout_seconds)
        opened.append(client)
        return client

    yield open_one
    for client in opened:
        client.close()
