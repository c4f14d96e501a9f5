"""A node of a cluster in the process, without a bus; it owns all slots, and knows another node."""

from __future__ import annotations

from random import Random

import pytest

from commands.cluster.mode import ClusterMode
from commands.core.propagation import Sink
from protocol.request import words_of_all
from server.cluster.core import Cluster
from server.cluster.events import Tick
from server.cluster.host.runner import InstanceData
from server.cluster.nodes import PRIMARY, Node
from server.cluster.state import WRITABLE_AFTER_MS, Settings
from server.inprocess.server import InProcessServer
from storage.keyspace.database import SlotIndex
from tests.commands.streams.talk import NOW_MS, Talk

OTHER_ID = "b" * 40


@pytest.fixture
def server() -> InProcessServer:
    return InProcessServer(now_ms=NOW_MS, databases="1")


@pytest.fixture
def node(server: InProcessServer) -> Cluster:
    """The core of the node; it is up."""
    instance = server.instance
    node = Cluster(Settings(), InstanceData(instance), Random(1), monotonic_ms=server.monotonic_ms)
    instance.databases[0].slots = SlotIndex()
    instance.feature(ClusterMode).enable(node)
    node.add_slots_range([b"0", b"16383"])
    other = node.state.new_node(OTHER_ID, PRIMARY, server.monotonic_ms)
    other.ip, other.port, other.pong_received_ms = "10.0.0.2", 7002, server.monotonic_ms
    settle(server, node)
    return node


def settle(server: InProcessServer, node: Cluster) -> None:
    """Let the node look at its state, after the time in which it does not serve."""
    node.step(Tick(), NOW_MS)
    node.step(Tick(), NOW_MS + WRITABLE_AFTER_MS + 1)
    server.instance.feature(ClusterMode).refresh()


@pytest.fixture
def other(node: Cluster) -> Node:
    found = node.state.find(OTHER_ID)
    assert found is not None
    return found


@pytest.fixture
def client(server: InProcessServer, node: Cluster) -> Talk:
    return Talk(server)


@pytest.fixture
def propagated(server: InProcessServer) -> list[str]:
    """The requests that are propagated from now on, each as one string."""
    seen: list[str] = []

    def take(wire: bytes, last_db: int) -> None:
        seen.extend(b" ".join(argv).decode() for argv in words_of_all(wire))

    server.instance.propagation.add_sink(Sink(lambda db_index: None, take))
    return seen
