"""Both servers for the client: what it does must be the same against each."""

from __future__ import annotations

import pytest
import redis

from tests.support.programs.servers import RunningServer


@pytest.fixture(params=["rillway", "redis"])
def port(request: pytest.FixtureRequest) -> int:
    """Of an empty server."""
    server: RunningServer = request.getfixturevalue(f"{request.param}_server")
    with redis.Redis(port=server.port) as client:
        client.flushall()
    return server.port
