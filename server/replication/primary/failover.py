"""FAILOVER: a primary hands its role over to a replica that has everything.

    waiting-for-sync      writes are held back until a replica (the given one, or the first that
                          is ready) has acknowledged the whole stream; it is asked to. Of several
                          it is the first that answers: one that hangs may have everything
    failover-in-progress  this server follows it, and asks it to take over (PSYNC ... FAILOVER)
    no-failover           it took over, and this server is its replica; or it refused, and this
                          server stays the primary

After a time limit the first step is cancelled; with FORCE the second one begins instead, and writes
that the replica lacks are lost. From the second step on, cancelling begins a new history, because
the replica may have taken over already.

Source: Redis 7.0. Deliberately different: replicas are asked; Redis waits until one acknowledges by
itself, which is once a second.
"""

from __future__ import annotations

from collections.abc import Callable

from commands.core.gates import GATE_BUSY, GATE_FAILOVER
from commands.core.instance import Instance
from commands.replication.replica_table import Replica, ReplicaTable
from server.replication.primary.feed import GETACK, Feed
from server.replication.replica.link import Link

NONE, WAITING, IN_PROGRESS = "no-failover", "waiting-for-sync", "failover-in-progress"


class Failover:
    """The failover of one instance. `follow` and `promote` change the role."""

    def __init__(
        self,
        instance: Instance,
        feed: Feed,
        link: Link,
        follow: Callable[[str, int], object],
        promote: Callable[[], object],
    ) -> None:
        self._instance = instance
        self._state = instance.replication
        self._table = instance.feature(ReplicaTable)
        self._feed = feed
        self._link = link
        self._follow = follow
        self._promote = promote
        self._target: tuple[str, int] | None = None
        self._until_ms = 0  # 0: no limit
        self._is_forced = False
        self._asked_offset = -1  # the end of the stream after the last GETACK
        self._asked_ms = 0  # the time of the first
        link.refused = self._refused

    def start(self, target: tuple[str, int] | None, timeout_ms: int, *, force: bool) -> None:
        """Hold writes back, and wait for the replica."""
        self._target = target
        self._until_ms = self._instance.monotonic_ms + timeout_ms if timeout_ms else 0
        self._is_forced = force
        self._asked_offset = -1
        self._state.failover = WAITING
        self._instance.set_gate(GATE_FAILOVER, is_shut=True)
        self._log(f"FAILOVER requested to {self._aim}.")
        self.tick()

    def abort(self) -> None:
        """FAILOVER ABORT."""
        self._log_abort("Failover manually aborted")
        if self._state.failover == IN_PROGRESS:
            self._promote()
        self._finish()

    def tick(self) -> None:
        """Called several times a second, and when a replica has acknowledged."""
        if self._instance.gates & GATE_BUSY:
            return  # a script runs, and has not propagated its changes yet
        if self._state.failover == WAITING:
            self._wait()
        elif self._state.failover == IN_PROGRESS and self._state.is_link_up:
            self._finish()

    def _wait(self) -> None:
        ready = self._ready()
        if ready is not None:
            host, port = ready
            self._log(f"Failover target {host}:{port} is synced, failing over.")
            self._hand_over(host, port)
        elif self._until_ms and self._instance.monotonic_ms >= self._until_ms:
            if self._is_forced and self._target is not None:
                host, port = self._target
                self._log(f"FAILOVER to {host}:{port} time out exceeded, failing over.")
                self._hand_over(host, port)
            else:
                self._log_abort("Replica never caught up before timeout")
                self._finish()
        elif self._asked_offset != self._state.offset:
            if self._asked_offset < 0:
                self._asked_ms = self._instance.monotonic_ms
            self._feed.ask_for_acknowledgement()
            self._asked_offset = self._state.offset

    def _ready(self) -> tuple[str, int] | None:
        """The address of a replica that may take over and has acknowledged everything."""
        needed = self._state.offset
        if needed == self._asked_offset:
            needed -= len(GETACK)  # the answer is the offset before it
        replicas = self._table.online
        is_choice = self._target is None and len(replicas) > 1
        if is_choice and self._asked_offset < 0:
            return None
        for replica in replicas:
            place = place_of(replica)
            answers = not is_choice or replica.heard_ms >= self._asked_ms
            if replica.offset >= needed and answers and self._target in (None, place):
                return place
        return None

    def _hand_over(self, host: str, port: int) -> None:
        self._state.failover = IN_PROGRESS
        self._link.failover = True
        self._follow(host, port)

    def _refused(self, reason: str) -> None:
        """The replica did not take over, or cannot be reached."""
        if self._state.failover == IN_PROGRESS:
            self._log_abort(f"{reason}. This server stays the primary.")
            self._promote()
            self._finish()

    def _finish(self) -> None:
        self._link.failover = False
        self._state.failover = NONE
        self._instance.set_gate(GATE_FAILOVER, is_shut=False)
        self._instance.host.resume_postponed()

    @property
    def _aim(self) -> str:
        return "any replica" if self._target is None else f"{self._target[0]}:{self._target[1]}"

    def _log_abort(self, reason: str) -> None:
        self._log(f"FAILOVER to {self._aim} aborted: {reason}")

    def _log(self, message: str) -> None:
        self._instance.host.log("notice", message)


def place_of(replica: Replica) -> tuple[str, int]:
    """The address at which other servers reach the replica."""
    return replica.ip.decode("latin-1"), replica.port
