"""Clients that wait until replicas have acknowledged their writes (WAIT, WAITAOF).

Each client waits in a `Block` like any other. Requests and acknowledgements are batched: however
many clients wait, the replicas are asked for their offsets once per cycle; however many replicas
answer, the clients are checked once per cycle, and only those whose count has changed run their
command again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

from commands.core.blocked_clients import Block, BlockedClients
from commands.core.client import Client
from commands.core.gates import GATE_MIGRATING, HOLDING_GATES
from commands.core.instance import Instance
from commands.replication.replica_table import ReplicaTable
from protocol.records import record
from server.replication.primary.feed import Feed

_SILENT_GATES = HOLDING_GATES & ~GATE_MIGRATING


@record
class _Waiter:
    block: Block
    offset: int
    counted: int  # the replicas counted at the last check
    on_disk: bool


class WaitingClients:
    """The clients of one instance that wait for replicas."""

    def __init__(
        self, instance: Instance, feed: Feed, run_again: Callable[[Client], object]
    ) -> None:
        """`run_again` runs the command of a client that waits once more."""
        self._instance = instance
        self._blocked = instance.feature(BlockedClients)
        self._run_again = run_again
        self._state = instance.replication
        self._replicas = instance.feature(ReplicaTable)
        self._feed = feed
        self._waiters: dict[Client, _Waiter] = {}
        self._must_ask = False
        self._has_news = False

    def add(self, client: Client, block: Block, counted: int, *, on_disk: bool) -> None:
        """A client is about to wait; `counted` replicas have acknowledged its writes."""
        self._waiters[client] = _Waiter(block, client.replicated_offset, counted, on_disk)
        self._must_ask = True

    def note_acknowledgement(self) -> None:
        """A replica has acknowledged an offset, or is lost."""
        self._has_news = bool(self._waiters)

    def finish_cycle(self) -> None:
        """Answer the clients whose writes are acknowledged; ask the replicas for the others.

        To be called before the feed is flushed.
        """
        if self._has_news:
            self._has_news = False
            self._answer_acknowledged()
        if self._must_ask and not self._instance.gates & _SILENT_GATES:
            self._must_ask = False
            if self._state.is_feeding:
                self._feed.ask_for_acknowledgement()

    def _answer_acknowledged(self) -> None:
        must_ask = self._must_ask
        online = self._replicas.online
        offsets = sorted(replica.offset for replica in online)
        synced = sorted(replica.synced_offset for replica in online)
        for client, waiter in list(self._waiters.items()):
            if not self._blocked.waits_on(client, waiter.block):
                del self._waiters[client]  # it was answered, or has left
                continue
            reached = synced if waiter.on_disk else offsets
            if len(reached) - bisect_left(reached, waiter.offset) != waiter.counted:
                del self._waiters[client]  # it comes again if it waits on
                self._run_again(client)
        self._must_ask = must_ask  # commands that ran again here need not ask again
