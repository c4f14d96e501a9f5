"""Blocked clients: who waits for which key, and until when.

A hash table maps a key to a FIFO of the clients that wait for it. When a key becomes ready
(commands/core/instance.py), dispatch runs each waiter's retry, before the loop polls
again, or before a command runs that might remove the data (server/requests/waiters.py). A waiter
that still finds nothing moves to the end of the queue of each of its keys and keeps its deadline.

Readers that tail one stream send identical requests: they share one `Block`, and the reply is built
once for all of them (fan-out).

Pure bookkeeping: no clock and no socket. All times are monotonic. The order of service is that of
Redis 7.4.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from typing import TypeAlias

import cython

from commands.core.client import Client, ClientEvent, Clients
from commands.core.instance import Instance, WatchedKey
from commands.core.long_reply import LongReply
from protocol.records import entity
from storage.stream import Stream
from storage.types.value import Value

# Empty queues that are kept for later.
_SPARE_QUEUES = 4096
# As measured: a key's queue; a client's place in one.
_QUEUE_BYTES = 250
PLACE_BYTES = 160
_BLOCK: cython.int = ClientEvent.BLOCK
_RESUME: cython.int = ClientEvent.RESUME


@entity
class Block:
    """A handler's decision to wait.

    `retry` runs the command again, from scratch but with `$` already resolved; it answers, raises a
    ReplyError, returns a new Block, or returns None to keep waiting as before. `is_common`: it
    changes nothing, and clients that send the same request in the same RESP version may share the
    Block, because they all get the same reply (XREAD after given IDs). `on_missing_key`: also wake
    when a key vanishes or holds another type (XREADGROUP). `wake_ms`: also run it again at that
    monotonic time, because time alone may bring something (XREADGROUP with CLAIM). `finds_nothing`:
    a quick check before `retry`; True if `retry` would find nothing, in which case its side effects
    are already done. `value_type`: only a key that holds such a value wakes the client, unless
    `on_missing_key`. `timeout_reply` is what the client gets at the deadline or from CLIENT UNBLOCK
    ... TIMEOUT; None: there is no deadline, and CLIENT UNBLOCK does not end the wait.
    """

    keys: list[bytes]
    timeout_ms: int  # 0: for ever
    retry: Callable[[Client], bytes | Block | LongReply | None]
    timeout_reply: bytes | None
    on_missing_key: bool = False
    wake_ms: int | None = None
    is_common: bool = False
    finds_nothing: Callable[[Client], bool] | None = None
    value_type: type[Value] = Stream


@entity
class Waiting:
    """A blocked client's state; shared by those that wait with a common Block and no deadline."""

    block: Block
    watched: list[WatchedKey]  # a key that the request names twice is there twice
    deadline_ms: int  # monotonic; 0: none
    argv: list[bytes]  # the request


Alarm: TypeAlias = tuple[int, int, Client, Block | Waiting]  # when_ms, a ticket, whose, why


class Alarms:
    """A heap of times at which blocked clients must be looked at: deadlines or times to wake.

    Entries of clients that no longer wait are dropped when they reach the top, or all at once when
    they outnumber the waiting clients.
    """

    __slots__ = ("_clients", "_heap", "_ticket")

    def __init__(self, clients: dict[Client, Waiting]) -> None:
        self._clients = clients
        self._heap: list[Alarm] = []
        self._ticket = count()

    def __len__(self) -> int:
        return len(self._heap)

    def set(self, when_ms: int, client: Client, reason: Block | Waiting) -> None:
        """Add an alarm, valid while `reason` is the client's."""
        heapq.heappush(self._heap, (when_ms, next(self._ticket), client, reason))
        if len(self._heap) > 2 * len(self._clients) + 64:
            # Clients that block with long timeouts and are served at once would pile up here.
            self._heap = [alarm for alarm in self._heap if self._is_valid(alarm)]
            heapq.heapify(self._heap)

    def next_ms(self) -> int | None:
        """The earliest time that still matters."""
        heap = self._heap
        while heap and not self._is_valid(heap[0]):
            heapq.heappop(heap)
        return heap[0][0] if heap else None

    def take_due(self, monotonic_ms: int) -> list[Client]:
        """The clients whose time has come, earliest first."""
        due: list[Client] = []
        while (when_ms := self.next_ms()) is not None and when_ms <= monotonic_ms:
            due.append(heapq.heappop(self._heap)[2])
        return due

    def _is_valid(self, alarm: Alarm) -> bool:
        _, _, client, reason = alarm
        waiting = self._clients.get(client)
        return waiting is not None and (waiting is reason or waiting.block is reason)


@cython.cclass
class BlockedClients:
    """The waiters of all databases, the deadlines and the times to wake."""

    def __init__(self, instance: Instance) -> None:
        self.waiters: dict[WatchedKey, dict[Client, None]] = {}
        self.timed = 0  # clients with a deadline
        # The keys with waiters that wake when the key vanishes, and how often each is waited for.
        self.on_missing_key: dict[WatchedKey, int] = {}
        # Empty queues for keys to come: a reader of thousands of keys would make and free as many.
        self._spare: list[dict[Client, None]] = []
        instance.ready_keys.awaited = self.waiters
        instance.ready_keys.awaited_missing = self.on_missing_key
        self.clients: dict[Client, Waiting] = {}
        self._deadlines = Alarms(self.clients)
        self._wakes = Alarms(self.clients)
        instance.feature(Clients).on_close.append(self.unblock)

    # -- queues of waiters ---------------------------------------------------------------------

    def block(self, client: Client, block: Block, deadline_ms: int, argv: list[bytes]) -> None:
        """Queue `client` on all of the keys. `deadline_ms` 0: wait for ever."""
        waiting = None
        if block.is_common and not deadline_ms:
            waiting = self._common_waiting(client, block)
        if waiting is None:
            index = client.db.index
            waiting = Waiting(block, [(index, key) for key in block.keys], deadline_ms, argv)
        client.enter(_BLOCK)
        self.clients[client] = waiting
        spare, waiters = self._spare, self.waiters
        for key in waiting.watched:
            queue = waiters.get(key)
            if queue is None:
                queue = waiters[key] = spare.pop() if spare else {}
            queue[client] = None
        if block.on_missing_key:
            for key in waiting.watched:
                self.on_missing_key[key] = self.on_missing_key.get(key, 0) + 1
        if deadline_ms:
            self.timed += 1
            self._deadlines.set(deadline_ms, client, waiting)
        if block.wake_ms is not None:
            self._set_wake(client, block)

    def _common_waiting(self, client: Client, block: Block) -> Waiting | None:
        """The state of the last client in the queue, if it waits with the same Block."""
        queue = self.waiters.get((client.db.index, block.keys[0]))
        waiting = self.clients[next(reversed(queue))] if queue else None
        return waiting if waiting is not None and waiting.block is block else None

    def common_block(self, client: Client, key: bytes, argv: list[bytes]) -> Block | None:
        """The common Block of the last client in the queue of `key`, if its request was the
        same.
        """
        queue = self.waiters.get((client.db.index, key))
        if queue is None:
            return None
        other = next(reversed(queue))
        waiting = self.clients[other]
        if not waiting.block.is_common or waiting.argv != argv or other.resp != client.resp:
            return None
        return waiting.block

    def unblock(self, client: Client) -> None:
        """Take `client` out of every queue; nothing if it does not wait."""
        waiting = self.clients.pop(client, None)
        if waiting is None:
            return
        client.enter(_RESUME)
        if waiting.deadline_ms:
            self.timed -= 1
        spare, waiters = self._spare, self.waiters
        for key in waiting.watched:
            queue = waiters.get(key)
            if queue is None:
                continue  # the request names the key twice
            queue.pop(client, None)
            if not queue:
                del waiters[key]
                if len(spare) < _SPARE_QUEUES:
                    spare.append(queue)
        if waiting.block.on_missing_key:
            for key in waiting.watched:
                left = self.on_missing_key.pop(key) - 1
                if left:
                    self.on_missing_key[key] = left

    def waits_on(self, client: Client, block: Block) -> bool:
        """Return True if the client still waits because of this Block."""
        waiting = self.clients.get(client)
        return waiting is not None and waiting.block is block

    def requeue(self, client: Client, block: Block) -> None:
        """Wait again, at the tail of every queue, with the old deadline."""
        self.wait_on(client, block)
        for key in self.clients[client].watched:
            queue = self.waiters[key]
            queue.pop(client, None)
            queue[client] = None

    def wait_on(self, client: Client, block: Block) -> None:
        """Wait again, at the same place in every queue: the client was woken by time alone."""
        waiting = self.clients[client]
        if block is not waiting.block:
            assert not waiting.block.is_common
            waiting.block = block
        if block.wake_ms is not None:
            self._set_wake(client, block)

    def _set_wake(self, client: Client, block: Block) -> None:
        assert block.wake_ms is not None
        self._wakes.set(block.wake_ms, client, block)

    # -- times ---------------------------------------------------------------------------------

    def next_alarm_ms(self) -> int | None:
        """The earliest deadline or time to wake of a client that still waits."""
        deadline_ms, wake_ms = self._deadlines.next_ms(), self._wakes.next_ms()
        if deadline_ms is None or wake_ms is None:
            return wake_ms if deadline_ms is None else deadline_ms
        return min(deadline_ms, wake_ms)

    def take_expired(self, monotonic_ms: int) -> list[Client]:
        """The clients whose deadline has come, earliest first; they still wait."""
        return self._deadlines.take_due(monotonic_ms)

    def take_woken(self, monotonic_ms: int) -> list[Client]:
        """The clients whose command is to run again by now, earliest first; they still wait."""
        return self._wakes.take_due(monotonic_ms)

    def places_of(self, client: Client) -> int:
        """The number of queues that a client waits in."""
        waiting = self.clients.get(client)
        return 0 if waiting is None else len(waiting.watched)

    def memory_bytes(self) -> int:
        """The memory of the queues, beside that of the clients' places in them."""
        return _QUEUE_BYTES * len(self.waiters)
