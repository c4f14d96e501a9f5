"""A cluster of three and three nodes grows and shrinks under load: nothing is lost meanwhile.

redis-cli reshards, rebalances, fixes, adds and removes nodes of Redis 7.0 and Rillway, and checks
after each step; producers and groups of waiting consumers go on.
"""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import pytest

from protocol.request import SLOT_COUNT, key_slot
from tests.clients.cluster import load
from tests.compat.conftest import cluster_of
from tests.support.programs.cluster import Cluster, Node, redis_cli, wait_until

pytestmark = pytest.mark.compat

STREAMS = 100
MOVED_SLOTS = 60
CLI_SECONDS = 120
# redis-cli takes a while for its steps: `make cluster-crash` has as many entries added as fit in.
PAUSE_SECONDS = load.PAUSE_SECONDS if "CLUSTER_LONG" in os.environ else 0.02
CLIENTS = partial(load.with_threads, pause_seconds=PAUSE_SECONDS)


# Primaries of both kinds, each with a replica of the other, or of its own.
cluster = cluster_of(["rillway", "redis", "rillway", "redis", "rillway", "rillway"])


def primaries(cluster: Cluster) -> list[Node]:
    return [node for node in cluster.nodes if node.role() == "master"]


def slots_of(node: Node) -> int:
    """The number of its slots."""
    ranges = node.client.execute_command("CLUSTER SLOTS")
    return sum(last - first + 1 for first, last, owner, *_ in ranges if owner[2] == node.id)


def reshard(source: Node, target: Node, slots: int) -> None:
    words = ["--cluster-from", source.id, "--cluster-to", target.id, "--cluster-slots", str(slots)]
    redis_cli("reshard", target.address, *words, "--cluster-yes", seconds=CLI_SECONDS)


def leave_open(cluster: Cluster, stream: str) -> None:
    """A move of the stream's slot begins, and nobody goes on with it before a key has moved.

    Later, `fix` may make the node the owner again that has more keys, and first remove its mark: a
    client that writes then makes a key there that the other node has as well. So it does with Redis
    alone.
    """
    slot = key_slot(stream.encode())
    source = next(node for node in primaries(cluster) if owns(node, slot))
    target = next(node for node in primaries(cluster) if node is not source)
    target.client.execute_command("CLUSTER SETSLOT", slot, "IMPORTING", source.id)
    source.client.execute_command("CLUSTER SETSLOT", slot, "MIGRATING", target.id)


def owns(node: Node, slot: int) -> bool:
    ranges = node.client.execute_command("CLUSTER SLOTS")
    return any(first <= slot <= last and owner[2] == node.id for first, last, owner, *_ in ranges)


def add(cluster: Cluster, kind: str, *, primary: Node | None = None) -> Node:
    node = cluster.add(kind)
    role = ["--cluster-slave", "--cluster-master-id", primary.id] if primary is not None else []
    redis_cli("add-node", node.address, cluster.nodes[0].address, *role)
    cluster.wait_until_agreed()
    if primary is not None:
        wait_until(partial(cluster.knows_replica, primary, node))
    return node


def remove(cluster: Cluster, node: Node) -> None:
    redis_cli("del-node", cluster.nodes[0].address, node.id)
    cluster.nodes.remove(node)
    node.stop()
    cluster.wait_until_agreed()


@pytest.mark.thorough
def test_slots_are_moved_and_mended_under_load(cluster: Cluster, client: Any) -> None:
    streams = load.streams_of(STREAMS)
    load.create(client, streams)
    first, second, third = primaries(cluster)[:3]
    with load.running(CLIENTS, first.server.port, streams) as report:
        for source, target in ((first, second), (second, third), (third, first)):
            reshard(source, target, MOVED_SLOTS)
            cluster.wait_until_agreed()
        leave_open(cluster, streams[0][0])
        redis_cli("fix", first.address, seconds=CLI_SECONDS)
        cluster.wait_until_agreed()
    load.check(client, streams, report)
    assert len(report.given) > STREAMS


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["rillway", "redis"])
def test_a_node_is_added_and_removed_under_load(cluster: Cluster, client: Any, kind: str) -> None:
    streams = load.streams_of(STREAMS)
    load.create(client, streams)
    first = cluster.nodes[0]
    with load.running(CLIENTS, first.server.port, streams) as report:
        added = add(cluster, kind)
        replica = add(cluster, "redis" if kind == "rillway" else "rillway", primary=added)
        weights = [f"{added.id}=0.01"]
        words = ["--cluster-use-empty-masters", "--cluster-weight", *weights]
        redis_cli("rebalance", first.address, *words, seconds=CLI_SECONDS)
        cluster.wait_until_agreed()
        assert 0 < slots_of(added) < SLOT_COUNT / 100
        reshard(added, first, slots_of(added))
        cluster.wait_until_agreed()
        remove(cluster, replica)
        remove(cluster, added)
    load.check(client, streams, report)
    assert len(report.given) > STREAMS
