"""Sentinel, of Redis and of Valkey, over a Rillway and a Valkey: each takes over from the other."""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from redis.exceptions import ResponseError

from tests.compat.conftest import compared_valkey_or_skip
from tests.failover.cluster import NAME, Cluster, Node, direct_client, wait_for

FAR_MS = 4_000_000_000_000  # a Unix time
SECONDS = 60.0


def fill(node: Node) -> None:
    with node.client() as client:
        for number in range(1, 400):
            client.xadd("s", {"number": number}, id=f"{number}-1")
        client.xgroup_create("s", "g", id="0")
        client.xreadgroup("g", "alice", {"s": ">"}, count=150)
        client.xack("s", "g", *(f"{number}-1" for number in range(1, 100)))
        client.xdel("s", "120-1", "300-1")
        client.hset("h", mapping={"kept": 1, "timed": 2})
        client.execute_command("HPEXPIREAT", "h", FAR_MS, "FIELDS", 1, "timed")


def contents(node: Node) -> list[Any]:
    """What the server has, but the times of consumers, which pass."""
    with node.client() as client:
        (group,) = client.xinfo_groups("s")
        (consumer,) = client.xinfo_consumers("s", "g")
        return [
            client.xrange("s"),
            group,
            (consumer["name"], consumer["pending"]),
            [entry["message_id"] for entry in client.xpending_range("s", "g", "-", "+", 1000)],
            client.hgetall("h"),
            client.execute_command("HPEXPIRETIME", "h", "FIELDS", 2, "kept", "timed"),
        ]


def move_on(cluster: Cluster, old: Node, cause: Callable[[], object]) -> Node:
    """Another than `old` leads, and takes writes."""
    cause()
    wait_for(lambda: cluster.primary() not in (None, old), "no other server leads", SECONDS)
    found = cluster.primary()
    assert found is not None
    wait_for(lambda: found.replication().get("role") == "master", "it does not lead", SECONDS)
    return found


def ask_for_failover(cluster: Cluster) -> None:
    """SENTINEL FAILOVER, until Sentinel knows that the replica is fit: it asks every 10 seconds."""

    def is_accepted() -> bool:
        with direct_client(cluster.sentinel_ports[0]) as client, suppress(ResponseError):
            return bool(client.execute_command("SENTINEL", "FAILOVER", NAME))
        return False

    wait_for(is_accepted, "Sentinel finds no replica fit", SECONDS)


def write(node: Node, last_id: str) -> None:
    wait_for(lambda: node.replication()["min_slaves_good_slaves"], "no replica is good", SECONDS)
    with node.client() as client:
        client.xadd("s", {"number": last_id}, id=last_id)
        client.xreadgroup("g", "alice", {"s": ">"}, count=10)
        client.execute_command("HPEXPIREAT", "h", FAR_MS + 1, "FIELDS", 1, "timed")


@pytest.mark.integration
@pytest.mark.thorough
@pytest.mark.parametrize("first", ["rillway", "valkey"])
@pytest.mark.parametrize("maker", ["redis", "valkey"])
def test_a_rillway_and_a_valkey_take_over_from_each_other(
    tmp_path: Path, maker: str, first: str
) -> None:
    valkey = compared_valkey_or_skip()
    sentinel = ("redis-sentinel",) if maker == "redis" else (valkey, "--sentinel")
    kinds = ("rillway", valkey) if first == "rillway" else (valkey, "rillway")
    with Cluster(tmp_path / "set", kinds, sentinel=sentinel) as cluster:
        old, other = cluster.nodes
        fill(old)
        expected = contents(old)
        wait_for(lambda: contents(other) == expected, "the replica differs", SECONDS)

        assert move_on(cluster, old, lambda: old.signal(signal.SIGKILL)) is other
        assert contents(other) == expected
        old.start()
        cluster.wait_until_whole()
        write(other, "500-1")
        wait_for(lambda: contents(old) == contents(other), "the former primary differs", SECONDS)

        assert move_on(cluster, other, lambda: ask_for_failover(cluster)) is old
        cluster.wait_until_whole()
        write(old, "501-1")
        wait_for(lambda: contents(old) == contents(other), "the former primary differs", SECONDS)
