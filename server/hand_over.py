"""The hand-over of a primary that ends: a replica takes its role first (SHUTDOWN FAILOVER).

In a cluster the furthest replica is asked to begin a manual failover (CLUSTER FAILOVER). Elsewhere
it is FAILOVER. Both hold writes back until the replica has all of them, so that nothing is lost.

Source: Valkey 9.0, in a cluster. Deliberately different: the primary waits until the replica has
taken over, and two servers without a cluster can do it, too. Under Sentinel nothing is handed over:
it takes half a minute to accept a failover that it has not ordered.
"""

from __future__ import annotations

import re

from commands.cluster.mode import ClusterMode
from commands.core.client import Clients
from commands.core.instance import Instance
from commands.replication.replica_table import ReplicaTable
from server.replication.primary import failover
from server.replication.replication import Replication

ASKED_MS = 6_000  # in a cluster: longer than a manual failover lasts
_SENTINEL = rb"sentinel-[0-9a-f]{8}-(cmd|pubsub)"  # names of its connections


class HandOver:
    """The hand-over of one server."""

    def __init__(self, instance: Instance, replication: Replication) -> None:
        self._instance = instance
        self._replication = replication
        self._asked_ms = 0
        self.is_under_way = False

    def begin(self, timeout_ms: int, *, now: bool) -> str:
        """Begin it; return why that cannot be, or an empty text.

        With `now` a replica must have everything already.
        """
        refusal = self._refusal(now)
        if not refusal:
            if self._instance.is_cluster:
                refusal = self._ask()
            else:
                self._replication.failover.start(None, timeout_ms, force=False)
        self.is_under_way = not refusal
        return refusal

    def _refusal(self, now: bool) -> str:
        instance = self._instance
        state, replicas = instance.replication, instance.feature(ReplicaTable).online
        if state.is_replica:
            return "this server is a replica"
        if state.failover != failover.NONE:
            return "a failover is under way"
        if not replicas:
            return "no replica is online"
        if now and all(replica.offset < state.offset for replica in replicas):
            return "no replica has everything"
        clients = instance.feature(Clients).by_id.values()
        if any(re.fullmatch(_SENTINEL, client.name) for client in clients):
            return "Sentinel must order it (SENTINEL FAILOVER)"
        return ""

    def _ask(self) -> str:
        node = self._instance.feature(ClusterMode).node
        is_asked = node is not None and node.hand_over()
        self._asked_ms = self._instance.monotonic_ms
        return "" if is_asked else "no replica can be asked"

    @property
    def has_succeeded(self) -> bool:
        """True if another server has this one's role."""
        state = self._instance.replication
        return state.is_replica and state.failover == failover.NONE

    @property
    def has_failed(self) -> bool:
        """True if nothing will come of it: in a cluster time shows that, or a lack of replicas."""
        instance = self._instance
        if instance.is_cluster:
            is_late = instance.monotonic_ms - self._asked_ms >= ASKED_MS
            return is_late or not instance.feature(ReplicaTable).online
        state = instance.replication
        return state.failover == failover.NONE and not state.is_replica

    def asks_again(self, left_ms: int) -> bool:
        """Ask a replica of the cluster once more, if there is time. True if one was asked."""
        return self._instance.is_cluster and left_ms > ASKED_MS and not self._ask()

    def cancel(self) -> None:
        """Call it off. A replica that was asked may take over all the same.

        To stay the primary then (FAILOVER ABORT) would make two of them.
        """
        if self.is_under_way and self._instance.replication.failover == failover.WAITING:
            self._replication.failover.abort()
        self.is_under_way = False
