"""An in-process server whose long replies go on when a test says so, one piece at a time."""

from __future__ import annotations

from collections.abc import Callable

from server.inprocess.server import InProcessServer
from server.loop.long_replies import LongReplies


class SlicingServer(InProcessServer):
    """See the module."""

    def __init__(self) -> None:
        super().__init__()
        self.turns: list[Callable[[], None]] = []
        self.tick_us = 0
        self.long_replies = LongReplies(
            self.dispatcher, self.cycle, self.turns.append, self._monotonic_us
        )
        self.dispatcher.send_in_pieces = self.long_replies.begin

    def _monotonic_us(self) -> int:
        """Each reading of the clock takes long enough that a turn is one piece."""
        self.tick_us += 299
        return self.tick_us

    def turn(self) -> None:
        """One turn, and the cycle that sends what it made."""
        [turn] = self.turns
        self.turns.clear()
        turn()
        self.cycle.finish()

    def finish(self) -> None:
        while self.turns:
            self.turn()
