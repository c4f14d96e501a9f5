"""The end of a primary whose replicas do not have everything yet (SHUTDOWN, SIGTERM).

Writes are held back until every replica has acknowledged all there is, for `shutdown-timeout`
seconds at most; then the server ends. It may be called off meanwhile, and if the disk does not
take what it has to, the server goes on. Whoever sent SHUTDOWN waits for what comes of it.

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
    """Of one server. `end(save, force)` ends it; False if it goes on."""

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
        self._offset = 0  # that replicas must have

    def begin(self, *, save: bool | None, force: bool) -> bool:
        """Wait for replicas. False if there is nothing to wait for: end at once."""
        instance = self._instance
        timeout_s, self._offset = instance.config.shutdown_timeout, instance.replication.offset
        if not timeout_s or not self._lagging():
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
        """Some times a second."""
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
        """SHUTDOWN ABORT. False if there is nothing to call off."""
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
