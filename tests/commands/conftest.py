"""A server of its own for each test of the commands, and clients of it."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessClient, InProcessServer
from tests.commands.keys.conversation import Conversation


@pytest.fixture
def talk() -> Conversation:
    """With a server that is not that of the other fixtures."""
    return Conversation()


@pytest.fixture
def server() -> InProcessServer:
    return InProcessServer()


@pytest.fixture
def client(server: InProcessServer) -> InProcessClient:
    return server.connect()
