"""Clients that wait until replicas have what they wrote (WAIT, WAITAOF).

Each waits in a `Block` like any other; here is what they wait for. The replicas are asked how far
they are once per cycle, however many clients ask, and the clients are looked at once per cycle,
however many replicas have answered: only those for whom the number has changed run their command
again.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from commands.core.blocking import Block
from commands.core.client import Client
from commands.core.instance import Instance
from server.replication.feed import Feed


@dataclass(slots=True)
class _Waiter:
    block: Block
    offset: int
    counted: int  # when it was looked at last
    on_disk: bool


class WaitingClients:
    """Of one instance."""

    def __init__(self, instance: Instance, feed: Feed) -> None:
        self._instance = instance
        self._state = instance.replication
        self._feed = feed
        self._waiters: dict[Client, _Waiter] = {}
        self._must_ask = False
        self._has_news = False

    def add(self, client: Client, block: Block, counted: int, *, on_disk: bool) -> None:
        """A client is about to wait; `counted` replicas have what it wrote."""
        self._waiters[client] = _Waiter(block, client.replicated_offset, counted, on_disk)
        self._must_ask = True

    def note_acknowledgement(self) -> None:
        """A replica has said how far it is, or is gone."""
        self._has_news = bool(self._waiters)

    def finish_cycle(self) -> None:
        """Answer those who have waited long enough; ask the replicas for the others.

        To be called before the feed is flushed.
        """
        if self._has_news:
            self._has_news = False
            self._look()
        if self._must_ask:
            self._must_ask = False
            if self._state.is_feeding and self._state.failover == "no-failover":
                self._feed.ask_for_acknowledgement()

    def _look(self) -> None:
        must_ask = self._must_ask
        online = self._state.online_replicas
        offsets = sorted(replica.offset for replica in online)
        synced = sorted(replica.synced_offset for replica in online)
        for client, waiter in list(self._waiters.items()):
            if client.waiting is None or client.waiting.block is not waiter.block:
                del self._waiters[client]  # it was answered, or has left
                continue
            reached = synced if waiter.on_disk else offsets
            if len(reached) - bisect_left(reached, waiter.offset) != waiter.counted:
                del self._waiters[client]  # it comes again if it waits on
                self._instance.dispatcher.wake(client)
        self._must_ask = must_ask  # those who came again have been heard of just now
