"""The clients that go on later: at the end of the cycle, after the next poll, after a pause.

A client that is not ready keeps its requests unread (server/requests/session.py). `ClientState`
(commands/core/client.py) has the states; docs/architecture/server.md has their reasons.

Guarantees: a client that leaves a halting state resumes in the same cycle; those that yielded go
on one at a time, in order, after the loop has polled. Clients that have not logged in (strangers)
are in a queue of their own, so that no number of them delays the others.
"""

from __future__ import annotations

from typing import TypeAlias

import cython

from commands.core.client import Client, ClientEvent, ClientState
from commands.core.gates import GATE_AUTH
from protocol.requests import Argv

_POSTPONE: cython.int = ClientEvent.POSTPONE
_RESUME: cython.int = ClientEvent.RESUME
_YIELD: cython.int = ClientEvent.YIELD
_GO_ON: cython.int = ClientEvent.GO_ON
_AUTH: cython.long = GATE_AUTH
_BEING_ANSWERED = {ClientState.BEING_ANSWERED, ClientState.RESUMING, ClientState.YIELDED}

Queue: TypeAlias = dict[Client, None]


@cython.cclass
class ClientQueues:
    """The clients of one server that go on later."""

    def __init__(self) -> None:
        self._postponed: dict[Client, None] = {}  # Client.postponed is what each has asked for
        self._yielded: dict[Client, None] = {}
        self.strangers: dict[Client, None] = {}  # those of them that have not logged in
        self._resuming: dict[Client, None] = {}

    def postpone(self, client: Client, request: Argv) -> None:
        """Halt the client. `request` is kept until it resumes."""
        client.enter(_POSTPONE)
        client.postponed = request
        self._postponed[client] = None

    def resume_postponed(self) -> None:
        """Let the postponed clients resume. Their requests are admitted again, or not."""
        for client in self._postponed:
            self.resume(client)
        self._postponed.clear()

    def resume(self, client: Client) -> None:
        """Let the client go on at the end of this cycle: nothing halts it any more."""
        client.enter(_RESUME)
        self._resuming[client] = None

    def take_resuming(self) -> list[Client]:
        """The clients that go on now, in the order in which they were allowed to."""
        clients = list(self._resuming)
        self._resuming.clear()
        for client in clients:
            client.enter(_GO_ON)
        return clients

    def add_yielded(self, client: Client) -> None:
        """The client has used up its time slice: it goes on after the next poll."""
        client.enter(_YIELD)
        if client.gates & _AUTH:
            self.strangers[client] = None
        else:
            self._yielded[client] = None

    @property
    def has_yielded(self) -> bool:
        """True if any client waits for its next time slice."""
        return bool(self._yielded or self.strangers)

    def take_yielded(self) -> Client | None:
        """The client whose time slice is next, None if there is none."""
        return _take_first(self._yielded)

    def take_stranger(self) -> Client | None:
        """`take_yielded` among the clients that have not logged in."""
        return _take_first(self.strangers)

    def forget(self, client: Client) -> None:
        """The client is closed."""
        client.postponed = None
        for queue in (self._postponed, self._yielded, self.strangers, self._resuming):
            queue.pop(client, None)

    def stop(self) -> None:
        """The server has ended: no client goes on."""
        self._yielded.clear()
        self.strangers.clear()
        self._resuming.clear()


def _take_first(queue: Queue) -> Client | None:
    for client in queue:
        del queue[client]
        client.enter(_GO_ON)
        return client
    return None


def is_being_answered(client: Client) -> bool:
    """Return True if a request is under way and does not wait for other clients."""
    return client.state in _BEING_ANSWERED or (not client.closed and bool(client.output))
