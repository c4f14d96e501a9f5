"""The end of a loop cycle: what happens between the last request of a cycle and the next poll.

Once per cycle, in this order:
  1. ready keys are served, and clients that this unblocks go on with what they sent meanwhile.
     It must come before what follows: it makes output and changes for the steps below.
  2. clients that cache by prefix (CLIENT TRACKING ... BCAST) are told what changed, once. It must
     come before output, since it makes some.
  3. propagated changes reach the append-only file, then the replicas (`before_output`). It must
     come before output: no answer leaves before what it promises is as durable as the policy says.
  4. every client's output leaves in one write.
  5. if requests of a client were cut short because its turn was over, it goes on after the next
     poll, behind others of which that is true.

The loop runs `finish` by `call_soon` from the first event of a cycle. uvloop runs it after all
readable sockets were delivered and before it polls again: a group commit for free.
"""

from __future__ import annotations

from collections.abc import Callable

from commands.core.client import Client
from server import clock
from server.dispatch import Dispatcher
from server.session import Session


class EventLoopCycle:
    """Collects who has output and finishes the cycle. Knows no socket: `write` does it."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        schedule: Callable[[Callable[[], None]], object],
        write: Callable[[Client], None],
        now_ms: Callable[[], int] = clock.now_ms,
    ) -> None:
        self.dispatcher = dispatcher
        self.turns = dispatcher.turns
        self.sessions: dict[Client, Session] = {}
        self.before_output: list[Callable[[], None]] = []  # step 3
        self.after: list[Callable[[], None]] = []  # the server's own steps, e.g. rearm the timer
        self._schedule = schedule
        self._write = write
        self._now_ms = now_ms
        self._with_output: dict[Client, None] = {}
        self._scheduled = False
        self._is_going_on = False
        self.is_stopped = False

    def touch(self, client: Client) -> None:
        """`client` may have output; the cycle will be finished."""
        self._with_output[client] = None
        if not self._scheduled:
            self.wake()

    def add_output(self, client: Client) -> None:
        """As `touch`, also from a step of the cycle's end; it ends in any case."""
        self._with_output[client] = None

    def wake(self) -> None:
        """Something happened that the end of the cycle must see."""
        if not self._scheduled:
            self._scheduled = True
            self._schedule(self.finish)

    def stop(self) -> None:
        """The server has ended: what was answered leaves, and no request runs any more."""
        self.is_stopped = True
        self.before_output.clear()
        self.turns.stop()
        self.dispatcher.instance.blocked.ready_keys.clear()

    def finish(self) -> None:
        """The list above."""
        self._scheduled = False
        dispatcher = self.dispatcher
        if dispatcher.instance.blocked.ready_keys:
            dispatcher.waiters.serve_ready_keys()
        while self._resume_clients():
            pass
        tracking = dispatcher.instance.tracking
        if tracking.changes:
            tracking.broadcast()
        for step in self.before_output:
            step()
        clients, self._with_output = self._with_output, {}
        for client in clients:
            if client.output or client.close_after_reply:
                self._write(client)
        for step in self.after:
            step()
        if self.turns.has_yielded and not self._is_going_on:
            self._is_going_on = True
            self._schedule(self.go_on)
        dispatcher.end_cycle()

    def go_on(self) -> None:
        """The next turn of a client that gave way, and the end of this cycle."""
        self._is_going_on = False
        client = None if self.is_stopped else self.turns.take_yielded()
        session = self.sessions.get(client) if client is not None else None
        if client is not None and session is not None:
            self.dispatcher.start_batch(self._now_ms())
            session.resume()
            self._with_output[client] = None
        self.wake()

    def _resume_clients(self) -> bool:
        """Let the clients go on that were unblocked; whether there were any."""
        clients = self.turns.take_resuming()
        if not clients:
            return False
        for client in clients:
            if self.is_stopped:
                return False  # by a request that ran just now: no file takes a change any more
            session = self.sessions.get(client)
            if session is not None and not client.closed:
                self._with_output[client] = None
                session.resume()
        if self.dispatcher.instance.blocked.ready_keys:
            self.dispatcher.waiters.serve_ready_keys()
        return True
