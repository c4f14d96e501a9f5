"""A client that sends scripts to a server in this process."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessClient, InProcessServer


@pytest.fixture
def server() -> InProcessServer:
    return InProcessServer()


@pytest.fixture
def client(server: InProcessServer) -> InProcessClient:
    return server.connect()
