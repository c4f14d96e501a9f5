"""A cluster of Rillway, Redis 7.0 and Redis 8.2, for a module of tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rillway.pipeline.wire.cluster import connect
from rillway.pipeline.wire.connection import Connection
from tests.support.programs import cluster as nodes


def three_nodes(folder: Path) -> Iterator[nodes.Cluster]:
    """For a fixture."""
    made = nodes.Cluster(folder, ["rillway", "redis", "newer"])
    try:
        made.create(replicas=0)
        yield made
    finally:
        made.close()


def emptied(made: nodes.Cluster) -> Iterator[Connection]:
    """For a fixture: a connection to the cluster, which holds nothing."""
    with connect(f"redis://{made.nodes[0].address}") as connection:
        for node in connection.nodes():
            node.call("FLUSHALL")
        yield connection


def move(made: nodes.Cluster, slot: int) -> None:
    """To the next node. No connection is told."""
    (source,) = [node for node in made.nodes if _owns(node, slot)]
    target = made.nodes[(made.nodes.index(source) + 1) % len(made.nodes)]
    nodes.move_slot(made, slot, source, target, 1)


def _owns(node: nodes.Node, slot: int) -> bool:
    with Connection(f"redis://{node.address}") as connection:
        ranges = connection.call("CLUSTER", "SLOTS")
    return any(
        begin <= slot <= end and port == node.server.port
        for begin, end, (_, port, *_), *_ in ranges
    )
