"""Graceful shutdown: waits for replicas that lag behind (SHUTDOWN, SIGTERM), or hands over to one.

Writes are held back until every replica has acknowledged the whole stream, for at most
`shutdown-timeout` seconds; then the server ends. SHUTDOWN ABORT cancels it, and if the data cannot
be saved, the server goes on. The clients that sent SHUTDOWN wait for the outcome; those that send
it meanwhile wait, too, and their options do not count.

With FAILOVER a replica takes over first (server/hand_over.py). If none can, or none has when the
time is over, the shutdown goes on without it.

Source: Redis 7.0, by experiment. Deliberately different: a replica that has acknowledged everything
before the GETACK is in sync.
"""

from __future__ import annotations

from collections.abc import Callable

from commands.core.blocked_clients import BlockedClients
from commands.core.client import Client
from commands.core.gates import GATE_ENDING, HOLDING_GATES
from commands.core.instance import Instance
from commands.core.services import Services
from commands.replication.replica_table import Replica, ReplicaTable
from commands.server.save import waits_for_shutdown
from protocol import errors
from protocol.errors import ReplyError
from server.hand_over import HandOver
from server.replication.replication import Replication


class Ending:
    """The shutdown of one server. `end(save, force)` ends it; False if it goes on."""

    def __init__(
        self,
        instance: Instance,
        replication: Replication,
        end: Callable[[bool | None, bool], bool],
    ) -> None:
        self.signal = 0  # the signal that began it, or begins it with the next tick
        self._instance = instance
        self._replication = replication
        self._hand_over = HandOver(instance, replication)
        self._end = end
        self._save: bool | None = None
        self._force = False
        self._offset = 0  # that replicas must acknowledge

    # -- beginning -----------------------------------------------------------------------------

    def begin(self, *, save: bool | None, now: bool, force: bool, failover: bool) -> bool:
        """Begin to wait for replicas. False if the caller is to end the server at once (`finish`).

        With `now`, if no replica lags behind, or if the data are torn (Dispatcher.end_script),
        there is nothing to wait for; with `failover` there is if a replica can take over.
        """
        instance = self._instance
        if instance.shutdown_at_ms:
            return True
        instance.host.log("warning", "User requested shutdown...")
        timeout_s, self._offset = instance.config.shutdown_timeout, instance.replication.offset
        if instance.is_torn:
            return False
        if not (failover and self._begin_hand_over(timeout_s * 1000, now)):
            if now or not timeout_s or not self._lagging():
                return False
            self._wait()
        self._save, self._force = save, force
        instance.shutdown_at_ms = instance.monotonic_ms + timeout_s * 1000
        return True

    def _begin_hand_over(self, timeout_ms: int, now: bool) -> bool:
        refusal = "shutdown-timeout is 0"
        if timeout_ms:
            refusal = self._hand_over.begin(timeout_ms, now=now)
        if refusal:
            self._instance.host.log("warning", f"Not handing over: {refusal}.")
        return not refusal

    def _wait(self) -> None:
        """Hold writes back until the replicas have everything."""
        instance = self._instance
        instance.host.log("notice", "Waiting for replicas before shutting down.")
        self._offset = instance.replication.offset
        if not instance.replication.is_replica and not instance.gates & HOLDING_GATES:
            self._replication.feed.ask_for_acknowledgement()  # the stream is its own
        instance.set_gate(GATE_ENDING, is_shut=True)

    def _lagging(self) -> list[Replica]:
        replicas = self._instance.feature(ReplicaTable).replicas.values()
        return [replica for replica in replicas if replica.offset < self._offset]

    @property
    def due_signal(self) -> int:
        """A signal that came while the cron was paused (DEBUG PAUSE-CRON); 0 if there is none."""
        return 0 if self._instance.shutdown_at_ms else self.signal

    # -- the end -------------------------------------------------------------------------------

    def tick(self) -> None:
        """Called several times a second."""
        instance = self._instance
        if not instance.shutdown_at_ms:
            return
        if instance.monotonic_ms < instance.shutdown_at_ms:
            if self._hand_over.is_under_way:
                self._go_on_handing_over()
                return
            if self._lagging():
                return
        # Held writes stay held meanwhile: if the server ends, they never run.
        if self._finish(self._save, self._force):
            instance.shutdown_at_ms = 0
        else:
            self._go_on()

    def _go_on_handing_over(self) -> None:
        """Look whether a replica has taken over, or none will."""
        instance, hand_over = self._instance, self._hand_over
        if hand_over.has_succeeded:
            instance.host.log("notice", "A replica has taken over.")
            hand_over.is_under_way = False
            # Clients whose writes waited learn of the new primary before the connections close.
            instance.shutdown_at_ms = instance.monotonic_ms
            return
        left_ms = instance.shutdown_at_ms - instance.monotonic_ms
        if hand_over.has_failed and not hand_over.asks_again(left_ms):
            instance.host.log("warning", "Not handed over: no replica has taken over.")
            hand_over.is_under_way = False
            self._wait()

    def finish(self, *, save: bool | None, force: bool) -> bool:
        """End the server, whatever its replicas have. False if it goes on."""
        self._offset = self._instance.replication.offset
        return self._finish(save, force)

    def _finish(self, save: bool | None, force: bool) -> bool:
        if self._hand_over.is_under_way:
            self._instance.host.log("warning", "Not handed over: no replica took over in time.")
        self._report_replicas()
        self._instance.host.tell_supervisor("STOPPING=1")
        if self._end(save, force):
            return True
        self.signal = 0
        return False

    def _report_replicas(self) -> None:
        """Log which replicas miss data that this server acknowledged."""
        log, state = self._instance.host.log, self._instance.replication
        lagging = self._lagging()
        for replica in lagging:
            lag_s = (
                (self._instance.monotonic_ms - replica.heard_ms) // 1000 if replica.is_online else 0
            )
            log(
                "warning",
                f"Lagging replica {replica.ip.decode('latin-1')}:{replica.port} reported offset"
                f" {state.offset - replica.offset} behind master, lag={lag_s},"
                f" state={replica.phase.value}.",
            )
        count = len(self._instance.feature(ReplicaTable).replicas)
        if count:
            in_sync = f"{count - len(lagging)} of {count} replicas are in sync"
            log("notice", f"{in_sync} when shutting down.")

    # -- going on ------------------------------------------------------------------------------

    def abort(self) -> bool:
        """SHUTDOWN ABORT. False if no shutdown is under way."""
        if not self._instance.shutdown_at_ms and not self.signal:
            return False
        self._instance.host.log("notice", "Shutdown manually aborted.")
        self._go_on()
        return True

    def _go_on(self) -> None:
        """Refuse those who wait for the end, and let writes run again."""
        instance = self._instance
        refusal = ReplyError(errors.SHUTDOWN_FAILED).wire
        waiting = self._waiting()
        self._hand_over.cancel()
        instance.shutdown_at_ms = 0
        self.signal = 0
        instance.set_gate(GATE_ENDING, is_shut=False)
        for client in waiting:
            instance.feature(Services).runner.end_waiting(client, refusal)
        instance.host.resume_postponed()

    def _waiting(self) -> list[Client]:
        return list(filter(waits_for_shutdown, self._instance.feature(BlockedClients).clients))
