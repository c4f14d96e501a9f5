"""Sends long replies (commands/core/long_reply.py) in pieces, between the cycles of the loop.

One time slice makes pieces for one client, for 0.3 ms or until there is enough to send: short
enough that a client without pipelining still gets thousands of replies a second. Then the loop
polls, the requests of other clients run, and the next client gets its slice. A client that does not
read is skipped until it does (back-pressure): a reply is built no faster than it is sent, and the
output buffer limits apply to each piece.

The loop and the clock are handed in. Without them (the in-process server) replies are sent at once.
"""

from __future__ import annotations

from collections.abc import Callable

from commands.connection.client_memory import MAX_UNSENT_BYTES
from commands.core.client import Client
from commands.core.long_reply import LongReply
from server import clock
from server.loop.cycle import EventLoopCycle
from server.requests.dispatch import Dispatcher

SLICE_US = 300
SLICE_BYTES = 128 * 1024

Run = Callable[[], None]


class LongReplies:
    """The long replies of one server that are under way."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        cycle: EventLoopCycle,
        schedule: Callable[[Run], object],
        monotonic_us: Callable[[], int] = clock.monotonic_us,
    ) -> None:
        """`schedule` runs a callback after the loop has polled."""
        self._dispatcher = dispatcher
        self._cycle = cycle
        self._schedule = schedule
        self._monotonic_us = monotonic_us
        self._waiting: dict[Client, None] = {}  # in the order of their slices
        self._is_scheduled = False

    def begin(self, client: Client) -> None:
        """Send `client.long_reply`, or wait until the client has read its output."""
        self._waiting[client] = None
        self.schedule_if_needed()

    def schedule_if_needed(self) -> None:
        """Schedule a slice if a client can take more; to be called when one may have read."""
        if self._waiting and not self._is_scheduled:
            self._is_scheduled = True
            self._schedule(self._run_slice)

    def stop(self) -> None:
        """The server has ended."""
        self._waiting.clear()

    def _run_slice(self) -> None:
        self._is_scheduled = False
        client = self._next_client()
        if client is None:
            return
        self._dispatcher.start_batch()
        client.last_interaction_ms = self._dispatcher.instance.monotonic_ms  # it reads
        reply = client.long_reply
        if reply is None:
            self._dispatcher.queues.resume(client)
        else:
            self._send_slice(client, reply)
        self._cycle.touch(client)
        self.schedule_if_needed()

    def _send_slice(self, client: Client, reply: LongReply) -> None:
        start_us = self._monotonic_us()
        is_done = self._make_pieces(client, reply, start_us)
        reply.used_us += self._monotonic_us() - start_us
        if is_done and not client.closed:
            self._dispatcher.end_long_reply(client, reply)
        elif not is_done:
            self._waiting[client] = None  # at the end of the queue

    def _next_client(self) -> Client | None:
        """Take the first client that can take more from the queue; drop those that have closed."""
        for client in list(self._waiting):
            if client.closed:
                del self._waiting[client]
            elif client.connection.unsent_bytes() < MAX_UNSENT_BYTES:
                del self._waiting[client]
                return client
        return None

    def _make_pieces(self, client: Client, reply: LongReply, start_us: int) -> bool:
        """Make pieces for one slice; True if the reply is complete."""
        size = 0
        while size < SLICE_BYTES and self._monotonic_us() - start_us < SLICE_US:
            try:
                piece = reply.next_piece()
            except Exception as error:
                self._fail(client, reply, error)
                return True
            if piece is None:
                return True
            if piece:
                client.output.append(piece)
                size += len(piece)
        return False

    def _fail(self, client: Client, reply: LongReply, error: Exception) -> None:
        """A bug, or damaged data. What was sent cannot be taken back: the connection is closed."""
        wire = self._dispatcher.fail_long_reply(client, reply, error)
        if reply.is_begun:
            client.connection.abort()
        else:
            client.output.append(wire)
