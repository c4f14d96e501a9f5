"""Sends long replies (commands/core/long_reply.py) in pieces, between the cycles of the loop.

One turn makes pieces for one client, until 0.3 ms are used up or there is enough to send: short
enough that somebody who waits for each reply before the next request still gets thousands a second.
Then the loop polls, other clients have their requests run, and it is the next client's turn. A
client that does not take what it was sent is passed over until it does: a reply grows no faster
than it leaves, and the output buffer limits see each piece of it.

The loop and the clock are handed in. A server that has none of these answers at once.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable

from commands.core.client import Client
from commands.core.long_reply import LongReply
from server import clock
from server.dispatch import INTERNAL_ERROR, Dispatcher
from server.event_loop_cycle import EventLoopCycle

TURN_US = 300
TURN_BYTES = 128 * 1024
# A client that has so much to take gets no more for the time being.
MAX_UNSENT_BYTES = 1024 * 1024

Run = Callable[[], None]


class LongReplies:
    """The long replies of one server that are under way."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        cycle: EventLoopCycle,
        schedule: Callable[[Run], object],
        now_ms: Callable[[], int],
        clock_us: Callable[[], int] = clock.elapsed_us,
    ) -> None:
        """`schedule` has something run after the loop has polled."""
        self._dispatcher = dispatcher
        self._instance = dispatcher.instance
        self._cycle = cycle
        self._schedule = schedule
        self._now_ms = now_ms
        self._clock_us = clock_us
        self._waiting: dict[Client, None] = {}  # whose turn is next
        self._is_scheduled = False

    def begin(self, client: Client) -> None:
        """`client.long_reply` is to be sent."""
        self._waiting[client] = None
        self.look()

    def look(self) -> None:
        """Something may have changed: a client may have taken what it was sent."""
        if self._waiting and not self._is_scheduled:
            self._is_scheduled = True
            self._schedule(self._take_turn)

    def stop(self) -> None:
        """The server has ended."""
        self._waiting.clear()

    def _take_turn(self) -> None:
        self._is_scheduled = False
        client = self._next_client()
        if client is None:
            return
        self._dispatcher.start_batch(self._now_ms())
        reply = client.long_reply
        assert reply is not None
        start_us = self._clock_us()
        is_done = self._make_pieces(client, reply, start_us)
        reply.used_us += self._clock_us() - start_us
        if is_done and not client.closed:
            self._dispatcher.end_long_reply(client, reply)
        elif not is_done:
            self._waiting[client] = None  # behind the others
        self._cycle.touch(client)
        self.look()

    def _next_client(self) -> Client | None:
        """The first that takes more; it is taken out. Those that have left are forgotten."""
        host = self._instance.host
        for client in list(self._waiting):
            if client.long_reply is None:
                del self._waiting[client]
            elif host.unsent_bytes(client) < MAX_UNSENT_BYTES:
                del self._waiting[client]
                return client
        return None

    def _make_pieces(self, client: Client, reply: LongReply, start_us: int) -> bool:
        """Make pieces for one turn; True if the reply is complete."""
        size = 0
        while size < TURN_BYTES and self._clock_us() - start_us < TURN_US:
            try:
                piece = reply.next_piece()
            except Exception:
                self._fail(client, reply)
                return True
            if piece is None:
                return True
            if piece:
                client.output.append(piece)
                size += len(piece)
        return False

    def _fail(self, client: Client, reply: LongReply) -> None:
        """A defect of ours. What was sent cannot be taken back."""
        host = self._instance.host
        host.log("warning", f"A long reply failed: {traceback.format_exc()}")
        if reply.is_begun:
            host.close(client)
        else:
            client.output.append(INTERNAL_ERROR)
