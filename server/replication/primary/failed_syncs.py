"""Failed full synchronisations of a primary: the replica pauses before it gets another snapshot.

A synchronisation succeeds once the replica has caught up: it has acknowledged the offset that was
current at its first acknowledgement after the snapshot. It fails if the connection ends before,
because the replica could not load the snapshot (it does not say why), or because the stream since
then exceeded its output limit. A replica is identified by its IP and the port that it has
announced. During the pause it waits for a snapshot as others do, and gets a newline a second.
"""

from __future__ import annotations

from commands.core.instance import Instance
from commands.core.server_state import UNKNOWN
from commands.replication.replica_table import Replica, ReplicaPhase
from server.replication.backoff import Backoff


class FailedSyncs:
    """The failed synchronisations of one primary, by replica."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        # Replicas that have not caught up yet, and the offset at which they will have: UNKNOWN
        # until the first acknowledgement.
        self._running: dict[Replica, int] = {}
        self._failed: dict[str, Backoff] = {}

    def begin(self, replica: Replica) -> None:
        """Note that a snapshot for this replica begins."""
        if not replica.wants_snapshot_only:
            self._running[replica] = UNKNOWN

    def acknowledged(self, replica: Replica) -> None:
        """Note that the replica has loaded its snapshot, and perhaps caught up."""
        goal = self._running.get(replica)
        if goal == UNKNOWN:
            goal = self._running[replica] = self._instance.replication.offset
        if goal is not None and replica.offset >= goal:
            self.succeed(replica)

    def succeed(self, replica: Replica) -> None:
        """Note that the replica has caught up, or sends no acknowledgements."""
        if self._running.pop(replica, None) is not None:
            self._failed.pop(replica.name, None)

    def may_begin(self, replica: Replica) -> bool:
        """Return False while the replica pauses after a failure."""
        backoff = self._failed.get(replica.name)
        return backoff is None or backoff.is_over(self._instance.monotonic_ms)

    def refresh(self) -> None:
        """Note the failures of replicas that have disconnected before they had caught up."""
        monotonic_ms = self._instance.monotonic_ms
        for replica in [replica for replica in self._running if replica.client.closed]:
            has_loaded = self._running.pop(replica) != UNKNOWN
            if replica.name not in self._failed:
                self._failed[replica.name] = Backoff()
            backoff = self._failed[replica.name]
            backoff.fail(monotonic_ms)
            self._log(replica, backoff, self._reason(replica, has_loaded))
        for name in [
            name for name, backoff in self._failed.items() if backoff.is_old(monotonic_ms)
        ]:
            del self._failed[name]

    def _log(self, replica: Replica, backoff: Backoff, reason: str) -> None:
        self._instance.host.log(
            "warning",
            f"Full synchronization with replica {replica.name} failed, {backoff.failures} in a row:"
            f" {reason}. It gets no other snapshot for {backoff.pause_ms // 1000} s",
        )

    def _reason(self, replica: Replica, has_loaded: bool) -> str:
        if has_loaded:
            return "it had loaded the snapshot, and the connection ended before it had caught up"
        if replica.phase is not ReplicaPhase.ONLINE:
            return "the connection ended before it had all of the snapshot"
        reason = "it had all of the snapshot and closed the connection, as if it could not load it"
        if replica.is_rillway or replica.is_valkey:
            return reason
        return f"{reason} (its format is that of repl-snapshot-version); see the replica's log"
