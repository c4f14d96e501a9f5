"""Closes the sockets of peers that have gone, a few after each poll.

Closing a socket takes ten times as long as noticing that its peer has closed it. When ten thousand
peers go at once, other clients are served in between.
"""

from __future__ import annotations

from asyncio import Transport
from collections import deque
from collections.abc import Callable

# Well below a millisecond.
AT_ONCE = 30


class Closings:
    """The transports of one server that are to be closed."""

    def __init__(self, schedule: Callable[[Callable[[], None]], object]) -> None:
        """`schedule` runs a callback after the loop has polled."""
        self._schedule = schedule
        self._transports: deque[Transport] = deque()

    def add(self, transport: Transport) -> None:
        """Close a transport soon, once what it has buffered is sent."""
        if not self._transports:
            self._schedule(self._close_some)
        self._transports.append(transport)

    def _close_some(self) -> None:
        for _ in range(min(AT_ONCE, len(self._transports))):
            self._transports.popleft().close()
        if self._transports:
            self._schedule(self._close_some)
