"""Full synchronisations that fail on a primary: the replica waits before it gets another snapshot.

A synchronisation succeeds with the first acknowledgement after the snapshot. It fails if the
connection ends before, which is all that a replica says when it cannot load what it gets. The
replica is recognized by its address: its IP and the port that it has announced. While it pauses, it
waits for a snapshot as others do, and gets a newline a second.
"""

from __future__ import annotations

from commands.core.instance import Instance
from commands.replication.replica_table import Replica, ReplicaPhase
from server.replication.backoff import Backoff


class FailedSyncs:
    """The failed synchronisations of one primary, by replica."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._running: list[Replica] = []  # which have not acknowledged their snapshot
        self._failed: dict[str, Backoff] = {}

    def begin(self, replica: Replica) -> None:
        """A snapshot begins for this replica."""
        if not replica.wants_snapshot_only:
            self._running.append(replica)

    def succeed(self, replica: Replica) -> None:
        """The replica has loaded its snapshot."""
        if replica in self._running:
            self._running.remove(replica)
            self._failed.pop(replica.name, None)

    def may_begin(self, replica: Replica) -> bool:
        """Return False while the replica pauses after a failure."""
        backoff = self._failed.get(replica.name)
        return backoff is None or backoff.is_over(self._instance.now_ms)

    def look(self) -> None:
        """Note the replicas that have left before they acknowledged."""
        now_ms = self._instance.now_ms
        for replica in [replica for replica in self._running if replica.client.closed]:
            self._running.remove(replica)
            if replica.name not in self._failed:
                self._failed[replica.name] = Backoff()
            backoff = self._failed[replica.name]
            backoff.fail(now_ms)
            self._log(replica, backoff)
        for name in [name for name, backoff in self._failed.items() if backoff.is_old(now_ms)]:
            del self._failed[name]

    def _log(self, replica: Replica, backoff: Backoff) -> None:
        self._instance.host.log(
            "warning",
            f"Full synchronization with replica {replica.name} failed {backoff.failures} times in a"
            f" row: {self._reason(replica)}. It gets no other snapshot for"
            f" {backoff.pause_ms // 1000} s",
        )

    def _reason(self, replica: Replica) -> str:
        if replica.phase is not ReplicaPhase.ONLINE:
            return "the connection ended before it had all of the snapshot"
        reason = "it had all of the snapshot and closed the connection, as if it could not load it"
        if replica.is_rillway or replica.is_valkey:
            return reason
        return f"{reason} (its format is that of repl-snapshot-version); see the replica's log"
