"""A server in this process for each test, and a client of it."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessClient, InProcessServer


@pytest.fixture
def server() -> InProcessServer:
    return InProcessServer()


@pytest.fixture
def client(server: InProcessServer) -> InProcessClient:
    return server.connect()
