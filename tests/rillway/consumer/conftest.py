"""Both servers for the consumer: what it does must be the same against each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from tests.rillway.consumer.scene import Scene
from tests.support.programs.servers import RunningServer


@pytest.fixture(params=["rillway", "redis"])
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    server: RunningServer = request.getfixturevalue(f"{request.param}_server")
    url = f"redis://127.0.0.1:{server.port}"
    with redis.Redis.from_url(url, protocol=2) as client:
        client.flushall()
        yield Scene(url, client)
