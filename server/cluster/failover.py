"""Changes of this node's role: replicas that replace their primary, and primaries that give way."""

from __future__ import annotations

from server.cluster.events import EmptyData, Promote
from server.cluster.nodes import Node
from server.cluster.outbox import Outbox
from server.cluster.state import ClusterState


class Failover:
    """The role of this node."""

    def __init__(self, state: ClusterState, outbox: Outbox) -> None:
        self._state = state
        self._outbox = outbox

    def follow(self, primary: Node) -> None:
        """Become a replica of another node."""
        self._state.follow(primary)

    def leave_cluster(self) -> None:
        """Become a primary without anything: CLUSTER RESET."""
        state, me = self._state, self._state.myself
        state.migrating.clear()
        state.importing.clear()
        if me.is_replica:
            state.make_primary(me)
            state.do(Promote())
            state.do(EmptyData())
