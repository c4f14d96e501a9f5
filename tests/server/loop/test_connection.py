"""server/loop/connection.py: sockets are closed a few at a time."""

from __future__ import annotations

from asyncio import Transport
from collections.abc import Callable

from server.loop.connection import AT_ONCE, Closings


class Closed(Transport):
    """A transport that notes when it is closed."""

    def __init__(self, closed: list[Transport]) -> None:
        self._closed = closed

    def close(self) -> None:
        self._closed.append(self)


def test_all_are_closed_in_order_and_a_few_after_each_poll() -> None:
    scheduled: list[Callable[[], None]] = []
    closed: list[Transport] = []
    closings = Closings(scheduled.append)
    transports = [Closed(closed) for _ in range(2 * AT_ONCE + 1)]
    for transport in transports:
        closings.add(transport)
    counts = []
    while scheduled:
        scheduled.pop(0)()
        counts.append(len(closed))
    assert counts == [AT_ONCE, 2 * AT_ONCE, 2 * AT_ONCE + 1]
    assert closed == transports


def test_later_ones_are_closed_as_well() -> None:
    scheduled: list[Callable[[], None]] = []
    closed: list[Transport] = []
    closings = Closings(scheduled.append)
    for _ in range(2):
        closings.add(Closed(closed))
        scheduled.pop(0)()
    assert len(closed) == 2 and not scheduled
