"""Graceful shutdown: waits for replicas that lag behind (SHUTDOWN, SIGTERM).

Writes are held back until every replica has acknowledged the whole stream, for at most
`shutdown-timeout` seconds; then the server ends. SHUTDOWN ABORT cancels it, and if the data cannot
be saved, the server goes on. The clients that sent SHUTDOWN wait for the outcome.

Source: Redis 7.0.
"""

from __future__ import annotations

from collections.abc import Callable

from commands.core.client import Client
from commands.core.instance import GATE_WRITES_HELD, Instance
from protocol import errors
from protocol.errors import ReplyError
from server.replication.replication import Replication


class Ending:
    """The shutdown of one server. `end(save, force)` ends it; False if it goes on."""

    def __init__(
        self,
        instance: Instance,
        replication: Replication,
        end: Callable[[bool | None, bool], bool],
    ) -> None:
        self._instance = instance
        self._replication = replication
        self._end = end
        self._save: bool | None = None
        self._force = False
        self._offset = 0  # that replicas must acknowledge

    def begin(self, *, save: bool | None, force: bool) -> bool:
        """Begin to wait for replicas. False if none lags behind, or if the data are torn
        (Dispatcher.end_script): the caller may end at once.
        """
        instance = self._instance
        timeout_s, self._offset = instance.config.shutdown_timeout, instance.replication.offset
        if not timeout_s or not self._lagging() or instance.is_torn:
            return False
        if instance.shutdown_at_ms:
            return True
        instance.host.log("notice", "Waiting for replicas before shutting down.")
        self._save, self._force = save, force
        instance.shutdown_at_ms = instance.now_ms + timeout_s * 1000
        instance.set_gate(GATE_WRITES_HELD, is_shut=True)
        self._replication.feed.ask_for_acknowledgement()
        return True

    def _lagging(self) -> int:
        state = self._instance.replication
        if state.is_replica:
            return 0
        return sum(replica.offset < self._offset for replica in state.replicas.values())

    def tick(self) -> None:
        """Called several times a second."""
        instance = self._instance
        if not instance.shutdown_at_ms:
            return
        lagging = self._lagging()
        if lagging and instance.now_ms < instance.shutdown_at_ms:
            return
        if lagging:
            instance.host.log("warning", f"{lagging} replicas lag behind at the shutdown.")
        waiting = self._waiting()
        self._go_on()
        if not self._end(self._save, self._force):
            self._refuse(waiting)

    def abort(self) -> bool:
        """SHUTDOWN ABORT. False if no shutdown is under way."""
        if not self._instance.shutdown_at_ms:
            return False
        self._instance.host.log("notice", "Shutdown manually aborted.")
        self._go_on()
        self._refuse(self._waiting())
        return True

    def _go_on(self) -> None:
        instance = self._instance
        instance.shutdown_at_ms = 0
        instance.set_gate(GATE_WRITES_HELD, is_shut=False)
        instance.host.resume_postponed()

    def _waiting(self) -> list[Client]:
        return [
            client
            for client in self._instance.blocked.clients
            if client.last_command is not None and client.last_command.fullname == b"shutdown"
        ]

    def _refuse(self, waiting: list[Client]) -> None:
        refusal = ReplyError(errors.SHUTDOWN_FAILED).wire
        for client in waiting:
            self._instance.unblock(client, refusal)
