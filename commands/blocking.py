"""Blocked clients: who waits for which key, and which keys have become ready.

A hash table maps a key to the clients that wait for it, first come first. A write that may serve
them calls `signal_key_as_ready`; the key goes on the ready list, once. Dispatch takes the list
before the loop polls again, or before a command runs that might take the data away, and runs each
waiter's retry (server/dispatch.py). A waiter that still finds nothing goes to the tail of each of
its keys and keeps its deadline.

Pure bookkeeping: no clock and no socket. Source: reference 1.14, seeds "How serving blocked
consumers work".
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from commands.client import Client

WatchedKey: TypeAlias = "tuple[int, bytes]"  # (database index, key)


@dataclass(slots=True, eq=False)
class Block:
    """A handler's decision to wait.

    `retry` runs the command again, from scratch but with `$` already resolved; it answers, raises
    a ReplyError, or decides to block again. `on_missing_key`: also wake when a key vanishes or
    holds another type (XREADGROUP). `timeout_reply` is what the client gets at the deadline or
    from CLIENT UNBLOCK ... TIMEOUT.
    """

    keys: list[bytes]
    timeout_ms: int  # 0: for ever
    retry: Callable[[Client], bytes | Block]
    timeout_reply: bytes
    on_missing_key: bool = False


@dataclass(slots=True, eq=False)
class Waiting:
    """A blocked client's state."""

    block: Block
    watched: list[WatchedKey]
    deadline_ms: int  # 0: none
    argv: list[bytes]  # the request, for the slow log


class BlockedClients:
    """The waiters of all databases, the ready keys, and the deadlines."""

    def __init__(self) -> None:
        self.waiters: dict[WatchedKey, dict[Client, None]] = {}
        self.ready_keys: dict[WatchedKey, None] = {}
        self.clients: dict[Client, None] = {}
        self._deadlines: list[tuple[int, int, Client, Waiting]] = []
        self._ticket = count()

    # -- who waits -----------------------------------------------------------------------------

    def block(self, client: Client, block: Block, deadline_ms: int, argv: list[bytes]) -> None:
        """Queue `client` on all of the keys. `deadline_ms` 0: wait for ever."""
        assert client.waiting is None
        watched = list(dict.fromkeys((client.db.index, key) for key in block.keys))
        waiting = Waiting(block, watched, deadline_ms, argv)
        client.waiting = waiting
        self.clients[client] = None
        for key in watched:
            self.waiters.setdefault(key, {})[client] = None
        if deadline_ms:
            heapq.heappush(self._deadlines, (deadline_ms, next(self._ticket), client, waiting))
            if len(self._deadlines) > 2 * len(self.clients) + 64:
                self._forget_served_deadlines()

    def unblock(self, client: Client) -> None:
        """Take `client` out of every queue; nothing if it does not wait."""
        waiting = client.waiting
        if waiting is None:
            return
        client.waiting = None
        del self.clients[client]
        for key in waiting.watched:
            queue = self.waiters[key]
            del queue[client]
            if not queue:
                del self.waiters[key]

    def requeue(self, client: Client, block: Block) -> None:
        """Wait again, at the tail of every queue, with the old deadline."""
        waiting = client.waiting
        assert waiting is not None
        waiting.block = block
        for key in waiting.watched:
            queue = self.waiters[key]
            del queue[client]
            queue[client] = None

    def _forget_served_deadlines(self) -> None:
        # Clients that block with long timeouts and are served at once would pile up here.
        self._deadlines = [item for item in self._deadlines if item[2].waiting is item[3]]
        heapq.heapify(self._deadlines)

    # -- which keys are ready ------------------------------------------------------------------

    def signal_key_as_ready(self, db_index: int, key: bytes) -> None:
        """`key` may serve its waiters now."""
        watched = (db_index, key)
        if watched in self.waiters:
            self.ready_keys[watched] = None

    def signal_all_as_ready(self, db_index: int) -> None:
        """Every watched key of a database may have changed (FLUSHDB, SWAPDB)."""
        for watched in self.waiters:
            if watched[0] == db_index:
                self.ready_keys[watched] = None

    def take_ready_keys(self) -> list[WatchedKey]:
        """The ready keys in the order in which they were signalled; the list is empty then."""
        ready = list(self.ready_keys)
        self.ready_keys.clear()
        return ready

    # -- deadlines -----------------------------------------------------------------------------

    def next_deadline_ms(self) -> int | None:
        """The earliest deadline of a client that still waits."""
        heap = self._deadlines
        while heap and heap[0][2].waiting is not heap[0][3]:
            heapq.heappop(heap)
        return heap[0][0] if heap else None

    def take_expired(self, now_ms: int) -> list[Client]:
        """The clients whose deadline has come, earliest first; they still wait."""
        expired: list[Client] = []
        while (deadline := self.next_deadline_ms()) is not None and deadline <= now_ms:
            expired.append(heapq.heappop(self._deadlines)[2])
        return expired

    # -- INFO clients --------------------------------------------------------------------------

    def keys_on_missing_key(self) -> int:
        """How many watched keys have a waiter that wakes when the key vanishes."""
        return sum(
            any(c.waiting is not None and c.waiting.block.on_missing_key for c in queue)
            for queue in self.waiters.values()
        )
