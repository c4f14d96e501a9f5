"""How long a sampler waits, so that it takes a given share of the server's time and no more.

After a batch that took the server t seconds, the next is sent t / share seconds after it. t is the
round trip less the least that a PING took. That is too much while the server is busy with others,
so three times what its own clock says is the limit: TIME is the first and the last request of a
batch, and reading and writing the requests take up to twice what running them does.

A least that is old says nothing of a network that became slower: only the last few PINGs count.
"""

from __future__ import annotations

from collections import deque

LAST_PINGS = 10
CLOCK_FACTOR = 3


class Budget:
    """`share`: of the server's time, 0.01 is 1 %."""

    def __init__(self, share: float) -> None:
        self.share = share
        self._pings_s: deque[float] = deque(maxlen=LAST_PINGS)
        self._next_s = float("-inf")

    def note_ping(self, round_trip_s: float) -> None:
        self._pings_s.append(round_trip_s)

    def charge(self, now_s: float, round_trip_s: float, server_s: float | None) -> float:
        """Take the time of a batch into account. Returns what it took the server, in seconds.

        `server_s`: between the two TIMEs, None if TIME was refused.
        """
        taken_s = round_trip_s - min(self._pings_s, default=0.0)
        if server_s is not None:
            taken_s = min(taken_s, CLOCK_FACTOR * server_s)
        taken_s = max(taken_s, 0.0)
        self._next_s = now_s + taken_s * (1 / self.share - 1)
        return taken_s

    def wait_s(self, now_s: float) -> float:
        """Seconds until the next batch may be sent; 0 if that is now."""
        return max(self._next_s - now_s, 0.0)

    def reset(self) -> None:
        """After a new connection: what a PING took may be different."""
        self._pings_s.clear()
        self._next_s = float("-inf")
