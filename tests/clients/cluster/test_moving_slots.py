"""Cluster clients of redis-py and ioredis, whose streams move from node to node meanwhile."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from protocol.request import key_slot
from tests.clients.cluster import load
from tests.clients.cluster.load import Load
from tests.support.programs.cluster import Cluster, Node, move_slot, wait_until

pytestmark = pytest.mark.compat

# `make cluster-crash` takes a thousand.
STREAMS = 1_000 if "CLUSTER_LONG" in os.environ else 100
MOVES_OF_A_TAG = 3
KEYS_AT_ONCE = 3
BUSY_SECONDS = 120.0
IOREDIS = "ioredis@6.0.0"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("cluster"), ["rillway", "redis", "rillway"])
    try:
        made.create(replicas=0)
        yield made
    finally:
        made.close()


@pytest.fixture
def client(cluster: Cluster) -> Iterator[Any]:
    port = cluster.nodes[0].server.port
    with redis.RedisCluster(host="127.0.0.1", port=port, decode_responses=True) as client:
        yield client
        for node in cluster.nodes:
            node.client.flushall()


def move_all(cluster: Cluster, streams: list[list[str]]) -> None:
    """Each slot that has streams moves to another node, and on, and on."""
    chance = random.Random(1)
    slots = sorted({key_slot(together[0].encode()) for together in streams})
    for slot in slots * MOVES_OF_A_TAG:
        source = owner_of(cluster, slot)
        target = chance.choice([node for node in cluster.nodes if node is not source])
        move_slot(cluster, slot, source, target, KEYS_AT_ONCE)


def owner_of(cluster: Cluster, slot: int) -> Node:
    for first, last, primary, *_ in cluster.nodes[0].client.execute_command("CLUSTER SLOTS"):
        if first <= slot <= last:
            return next(node for node in cluster.nodes if node.id == primary[2])
    raise AssertionError(slot)


def check_while_slots_move(
    cluster: Cluster, client: Any, clients: Load, *, waits_itself: bool = False
) -> None:
    """`waits_itself`: the clients go on until they were given more entries than there are streams.

    redis-py's asyncio client is slow: it looks up all owners again whenever a slot has moved.
    """
    streams = load.streams_of(STREAMS)
    load.create(client, streams)
    with load.running(clients, cluster.nodes[0].server.port, streams) as report:
        move_all(cluster, streams)
        if not waits_itself:
            wait_until(lambda: len(report.given) > STREAMS, seconds=BUSY_SECONDS)
    load.check(client, streams, report)


@pytest.mark.parametrize(
    "clients", [load.with_threads, pytest.param(load.with_tasks, marks=pytest.mark.thorough)]
)
def test_redis_py_loses_nothing(cluster: Cluster, client: Any, clients: Load) -> None:
    check_while_slots_move(cluster, client, clients)


@pytest.mark.thorough  # installs from npm
def test_ioredis_loses_nothing(cluster: Cluster, client: Any, tmp_path: Path) -> None:
    installing = ["npm", "install", "--silent", "--prefix", str(tmp_path), IOREDIS]
    subprocess.run(installing, check=True, timeout=120)
    check_while_slots_move(cluster, client, load.with_node(tmp_path), waits_itself=True)
