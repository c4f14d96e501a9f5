"""The server of the consumer: Rillway; each night Redis as well, where it does the same."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from tests.rillway.consumer.scene import Scene
from tests.support.programs.servers import RunningServer


@pytest.fixture(params=["rillway", pytest.param("redis", marks=pytest.mark.thorough)])
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    yield from scene_of(request.getfixturevalue(f"{request.param}_server"))


@pytest.fixture
def rillway_scene(rillway_server: RunningServer) -> Iterator[Scene]:
    """For what only Rillway has."""
    yield from scene_of(rillway_server)


@pytest.fixture
def redis_scene(redis_server: RunningServer) -> Iterator[Scene]:
    """For what is done where the server has no delays."""
    yield from scene_of(redis_server)


def scene_of(server: RunningServer) -> Iterator[Scene]:
    url = f"redis://127.0.0.1:{server.port}"
    with redis.Redis.from_url(url, protocol=2) as client:
        client.flushall()
        yield Scene(url, client)
