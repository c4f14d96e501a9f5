"""An administrator, and a client of another user."""

from __future__ import annotations

import pytest

from server.inprocess.server import InProcessClient, InProcessServer


@pytest.fixture
def ann(server: InProcessServer, client: InProcessClient) -> InProcessClient:
    """A client that has logged in as ann, who may do nothing yet; `client` may do everything."""
    client.execute("ACL", "SETUSER", "ann", "on", ">p")
    found = server.connect()
    assert found.execute("AUTH", "ann", "p") == b"+OK\r\n"
    return found
