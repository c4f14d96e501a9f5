"""The end of an event loop cycle: the work between its last request and the next poll.

Once per cycle, in this order:
  1. Ready keys are served, and the clients that this unblocks go on with their unread requests.
     First, because it produces output and changes for the steps below.
  2. Clients that cache by prefix (CLIENT TRACKING ... BCAST) get one invalidation message. Before
     output, because it produces some.
  3. Propagated changes go to the append-only file, then to the replicas (`before_output`). Before
     output: a reply is sent only when its change is as durable as `appendfsync` says.
  4. Each client's output is sent in one write.
  5. Clients that have used up their time slice go on after the next poll, first come, first served:
     one that has logged in, and as many of the others as their common time slice allows. The
     sockets of a few of the others are read again (`Strangers`).

The first event of a cycle schedules `finish` with `call_soon`. uvloop runs it after it has
delivered all readable sockets and before it polls again, which makes it a group commit.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Protocol

import cython

from commands.core.client import Client, ClientState
from server.requests.command_clock import CommandClock
from server.requests.dispatch import Dispatcher
from server.requests.session import Session

_CLOSING: cython.int = ClientState.CLOSING
_CLOSED: cython.int = ClientState.CLOSED
_YIELDED: cython.int = ClientState.YIELDED

# The number of waiting sockets of strangers that are read after a poll.
READ_AT_ONCE = 16


class Readable(Protocol):
    """A connection, as far as its socket is read."""

    def stop_reading(self) -> None:
        """Read the socket no more, until `start_reading`."""

    def start_reading(self) -> None:
        """Read the socket again."""


class Strangers:
    """The connections whose clients have not logged in.

    Reading their sockets takes time, too: what a thousand of them have sent takes more than a tenth
    of a second. Once their time slice of a cycle is used up, none is read; after each poll a few
    are, in the order in which they wait, if what was read before has run.
    """

    def __init__(self) -> None:
        self._read: dict[Readable, None] = {}
        self.waiting: dict[Readable, None] = {}

    def add(self, connection: Readable) -> None:
        """A client has connected."""
        self._read[connection] = None

    def remove(self, connection: Readable) -> None:
        """A client has logged in, or its connection is closed."""
        self._read.pop(connection, None)
        if connection in self.waiting:
            del self.waiting[connection]
            connection.start_reading()

    def stop_reading(self) -> None:
        """The time slice of strangers is used up."""
        for connection in self._read:
            connection.stop_reading()
        self.waiting |= self._read
        self._read.clear()

    def read_some(self) -> None:
        """The loop has polled: read the next ones."""
        for connection in list(islice(self.waiting, READ_AT_ONCE)):
            del self.waiting[connection]
            self._read[connection] = None
            connection.start_reading()


@cython.cclass
class EventLoopCycle:
    """Collects the clients that have output, and ends the cycle. Uses no socket: `write` sends."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        schedule: Callable[[Callable[[], None]], object],
        write: Callable[[Client], None],
    ) -> None:
        self.dispatcher = dispatcher
        self.queues = dispatcher.queues
        self.sessions: dict[Client, Session] = {}
        self.strangers = Strangers()
        # Steps that depend on events and commands, but for those on data that are answered at once:
        # step 3, which depends on what was propagated, too, and those after output, as rearming the
        # timer.
        self.before_output: list[Callable[[], None]] = []
        self.after: list[Callable[[], None]] = []
        self._schedule = schedule
        self._write = write
        self._with_output: dict[Client, None] = {}
        self._scheduled = False
        self._is_going_on = False
        self.is_stopped = False
        self._end: Callable[[], None] = self.finish  # as one object, not one for each cycle
        self._flushed_units = 0  # Propagation.units when the steps ran last

    def touch(self, client: Client) -> None:
        """`client` may have output; schedules the end of the cycle."""
        self._with_output[client] = None
        self._schedule_end()

    def add_output(self, client: Client) -> None:
        """Note that a client has output, without scheduling the end: for the steps of `finish`."""
        self._with_output[client] = None

    def wake(self) -> None:
        """Schedule the end of the cycle: something happened that it must handle."""
        self.dispatcher.has_run_handlers = True
        self._schedule_end()

    @cython.cfunc
    def _schedule_end(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self._schedule(self._end)

    def stop(self) -> None:
        """The server has ended: replies are still sent, but no request runs any more."""
        self.is_stopped = True
        self.before_output.clear()
        self.queues.stop()
        self.dispatcher.instance.ready_keys.signalled.clear()

    def finish(self) -> None:
        """Run the steps listed in the module's docstring."""
        self._scheduled = False
        dispatcher = self.dispatcher
        instance = dispatcher.instance
        if instance.ready_keys.signalled:
            dispatcher.waiters.serve_ready_keys()
        while self._resume_clients():
            pass
        while instance.at_cycle_end:
            instance.at_cycle_end.pop()()
        is_awake = dispatcher.has_run_handlers
        dispatcher.has_run_handlers = False
        units: cython.long = instance.propagation.units
        if is_awake or units != self._flushed_units:
            self._flushed_units = units
            for step in self.before_output:
                step()
        clients, self._with_output = self._with_output, {}
        for client in clients:
            if client.output or client.state == _CLOSING:
                self._write(client)
        if is_awake or dispatcher.has_run_handlers or instance.background_work:
            for step in self.after:
                step()
        if (self.queues.has_yielded or self.strangers.waiting) and not self._is_going_on:
            self._is_going_on = True
            self._schedule(self.go_on)
        dispatcher.clock.end_cycle()

    def go_on(self) -> None:
        """Give clients that had used up their time slice the next one, and end this cycle."""
        self._is_going_on = False
        if not self.is_stopped:
            self._go_on_with(self.queues.take_yielded())
            clock: CommandClock = self.dispatcher.clock
            # Each once: one that yields again is the last of the queue.
            for _ in range(len(self.queues.strangers)):
                self._go_on_with(self.queues.take_stranger())
                if not clock.admits_strangers():
                    break
            if not self.queues.strangers:
                self.strangers.read_some()
        self.wake()

    @cython.cfunc
    def _go_on_with(self, client: Client | None) -> None:
        session = self.sessions.get(client) if client is not None else None
        if client is not None and session is not None:
            self.dispatcher.start_batch()
            session.resume()
            self._with_output[client] = None
            if client.state != _YIELDED:
                client.connection.read_on()

    @cython.cfunc
    def _resume_clients(self) -> bool:
        """Let the clients go on that were unblocked; whether there were any."""
        clients = self.queues.take_resuming()
        if not clients:
            return False
        for client in clients:
            if self.is_stopped:
                return False  # by a request that ran just now: no file takes a change any more
            session = self.sessions.get(client)
            if session is not None and client.state != _CLOSED:
                self._with_output[client] = None
                session.resume()
        if self.dispatcher.instance.ready_keys.signalled:
            self.dispatcher.waiters.serve_ready_keys()
        return True
