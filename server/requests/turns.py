"""Turns: which clients may run a request now, and which go on later.

A client is in one of the states of `State`; docs/architecture/server.md has the transitions. While
a client is halted its requests wait unread (server/requests/session.py). What halts it is known to
its owner: a blocking command (commands/core/blocked_clients.py), a reply that is sent in
pieces (commands/core/long_reply.py), CLIENT PAUSE or a failover (server/requests/admission.py), its
end. This module keeps the rest: which clients are postponed, have yielded to others, or resume at
the end of the cycle.

Guarantees: a client that leaves a halting state resumes in the same cycle; those that yielded go
on one at a time, in order, after the loop has polled.
"""

from __future__ import annotations

from enum import Enum

import cython

from commands.core.client import Client
from protocol.requests import Argv


class State(Enum):
    """The event that a client's next request waits for."""

    READY = "nothing: it runs when it arrives"
    YIELDED = "the next poll: the client's turn is over"
    RESUMING = "the end of this cycle: what halted the client is over"
    BLOCKED = "a key, a time or a replica"
    ANSWERED_IN_PIECES = "the end of a long reply"
    POSTPONED = "the end of CLIENT PAUSE or of a failover"
    CLOSING = "nothing: it never runs; the connection closes once the output has left"
    CLOSED = "nothing: it never runs"


@cython.cclass
class Turns:
    """The turns of one server's clients."""

    def __init__(self) -> None:
        self._postponed: dict[Client, None] = {}  # Client.postponed is what each has asked for
        self._yielded: dict[Client, None] = {}
        self._resuming: dict[Client, None] = {}

    def state(self, client: Client) -> State:
        """The state of a client: the one that lasts longest if several apply."""
        if client.closed:
            return State.CLOSED
        if client.close_after_reply:
            return State.CLOSING
        if client.is_blocked:
            return State.BLOCKED
        if client.long_reply is not None:
            return State.ANSWERED_IN_PIECES
        if client in self._resuming:
            return State.RESUMING
        if client.postponed is not None:
            return State.POSTPONED
        return State.YIELDED if client in self._yielded else State.READY

    def is_halted(self, client: Client) -> bool:
        """Return True if the client's requests must wait for something other than its turn."""
        return (
            client.is_blocked
            or client.long_reply is not None
            or client.close_after_reply
            or client.closed
            or client.postponed is not None
        )

    def is_being_answered(self, client: Client) -> bool:
        """Return True if a request is under way and does not wait for other clients."""
        return not client.closed and (
            client.long_reply is not None
            or client in self._resuming
            or client in self._yielded
            or bool(client.output)
        )

    # -- postponed -----------------------------------------------------------------------------

    @property
    def has_postponed(self) -> bool:
        """True if a request of any client is postponed."""
        return bool(self._postponed)

    def postpone(self, client: Client, request: Argv) -> None:
        """Halt the client; `request` is kept until `take_postponed`."""
        self._postponed[client] = None
        client.postponed = request

    def is_postponed(self, client: Client) -> bool:
        """Return True if a request of the client is kept."""
        return client.postponed is not None

    def resume_postponed(self) -> None:
        """Let the postponed clients resume. Their requests are admitted again, or not."""
        self._resuming.update(self._postponed)

    def take_postponed(self, client: Client) -> Argv | None:
        """The request that was kept; the client is not postponed any more."""
        self._postponed.pop(client, None)
        request, client.postponed = client.postponed, None
        return request

    # -- yielded -------------------------------------------------------------------------------

    def give_way(self, client: Client) -> None:
        """The client has had its share of this cycle: it goes on after the next poll."""
        self._yielded[client] = None

    @property
    def has_yielded(self) -> bool:
        """True if any client waits for its next turn."""
        return bool(self._yielded)

    def has_given_way(self, client: Client) -> bool:
        """Return True if the client waits for its next turn."""
        return bool(self._yielded) and client in self._yielded

    def take_yielded(self) -> Client | None:
        """The client whose turn is next, None if there is none."""
        for client in self._yielded:
            del self._yielded[client]
            return client
        return None

    # -- resuming ------------------------------------------------------------------------------

    def resume(self, client: Client) -> None:
        """Let the client go on at the end of this cycle: nothing halts it any more."""
        self._resuming[client] = None

    def take_resuming(self) -> list[Client]:
        """The clients that go on now, in the order in which they were allowed to."""
        clients = list(self._resuming)
        self._resuming.clear()
        return clients

    # -- ends ----------------------------------------------------------------------------------

    def forget(self, client: Client) -> None:
        """The client is closed."""
        self.take_postponed(client)
        self._yielded.pop(client, None)

    def stop(self) -> None:
        """The server has ended: no client goes on."""
        self._yielded.clear()
        self._resuming.clear()
