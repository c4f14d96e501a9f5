"""Gossip: who is in the cluster, at which address, and who has failed."""

from __future__ import annotations

from server.cluster.nodes import Node
from server.cluster.outbox import Outbox
from server.cluster.state import ClusterState


class Gossip:
    """Learns of nodes and failures."""

    def __init__(self, state: ClusterState, outbox: Outbox) -> None:
        self._state = state
        self._outbox = outbox

    def start_handshake(
        self, ip: str, port: int, bus_port: int, flags: int, now_ms: int
    ) -> Node | None:
        """Dial a node whose ID is not known yet; None if that is under way already."""
        state = self._state
        for other in state.nodes.values():
            if other.in_handshake and other.ip == ip and other.bus_port == bus_port:
                return None
        node = state.new_node(state.random_id(), flags, now_ms)
        node.ip, node.port, node.bus_port = ip, port, bus_port
        return node
