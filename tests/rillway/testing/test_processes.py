"""Clusters for tests: what they hold, how they are emptied, and what is said when they fail."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import redis

import rillway.testing
from rillway.testing import RillwayCluster, ServerFailed
from tests.support.waiting import until

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def cluster() -> Iterator[RillwayCluster]:
    """Two primaries, each with a replica."""
    with rillway.testing.cluster(primaries=2, replicas=1, maxclients=77) as cluster:
        yield cluster


def test_all_slots_are_served_when_it_has_started(cluster: RillwayCluster) -> None:
    with cluster.client(decode_responses=True) as client:
        for number in range(50):
            client.xadd(f"orders:{number}", {"n": number})
        assert client.config_get("maxclients")["maxclients"] == "77"
        assert len(client.get_primaries()) == len(client.get_replicas()) == 2
    for server in cluster.servers:  # the replicas have what was sent, soon
        with redis.Redis.from_url(server.url) as node:
            until(partial(has_keys, node))


def has_keys(node: redis.Redis) -> bool:
    return bool(node.dbsize())


def test_flushing_empties_all_nodes(cluster: RillwayCluster) -> None:
    with cluster.client() as client:
        client.mset_nonatomic({f"key:{number}": number for number in range(50)})
    cluster.flush()
    for server in cluster.servers:
        with redis.Redis.from_url(server.url) as node:
            assert node.dbsize() == 0


async def test_the_asyncio_client_goes_to_the_node_of_each_key(cluster: RillwayCluster) -> None:
    async with cluster.async_client() as client:
        for number in range(20):
            assert await client.set(f"key:{number}", number)


def test_nodes_keep_ports_and_slots_over_a_restart(cluster: RillwayCluster) -> None:
    ports = [server.port for server in cluster.servers]
    cluster.restart()
    assert [server.port for server in cluster.servers] == ports
    with cluster.client() as client:
        assert client.set("key", "value")


def test_a_node_that_was_killed_is_started_again(cluster: RillwayCluster) -> None:
    process = cluster.servers[1]._process
    assert process is not None
    process.send_signal(signal.SIGKILL)
    process.wait(60)
    assert not cluster.running
    with pytest.raises(ServerFailed, match=r"not all nodes run: running, exit status -9, running"):
        cluster.flush()
    cluster.start()
    cluster.flush()


def test_a_password_is_that_of_all_nodes(tmp_path: Path) -> None:
    directives = {"requirepass": "secret"}
    cluster = RillwayCluster(directives, primaries=1, replicas=1, folder=tmp_path)
    with cluster, cluster.client() as client:
        assert client.ping()
    assert (tmp_path / "0/nodes.conf").exists()
    assert "Ready to accept connections" in cluster.log


async def test_it_is_an_asynchronous_context_as_well() -> None:
    async with rillway.testing.cluster(primaries=1) as cluster:
        assert cluster.running
    assert not cluster.running


def test_a_node_that_does_not_start_is_an_error_with_its_own_words() -> None:
    with pytest.raises(ServerFailed, match="'maxclients'"):
        rillway.testing.cluster(maxclients="many").start()


@pytest.mark.parametrize("name", ["port", "cluster_port", "cluster_enabled", "dir"])
def test_what_the_harness_needs_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be set here"):
        rillway.testing.cluster(**{name: "1"})  # type: ignore[arg-type]


def test_a_cluster_has_a_primary() -> None:
    with pytest.raises(ValueError, match="one primary or more"):
        rillway.testing.cluster(primaries=0)
