"""Limits a sampler to a given share of the server's time.

After a batch that took the server t seconds, the next one is sent t / share seconds later. To
measure t, the first and the last request of a batch are TIME. That leaves out the time to wake up,
to read the requests and to write the replies: with it, a batch of 48 requests took Redis 8.2 1.9 to
2.5 times as long, and Rillway 1.6 to 2.3 times. The round trip is an upper limit, and the only
measure if TIME is refused. It is no better estimate: with a busy server or machine most of it is
waiting, and the shortest PING does not measure that.
"""

from __future__ import annotations

CLOCK_FACTOR = 2.5
BATCH_S = 0.00005


class Budget:
    """A budget. `share`: the share of the server's time, 0.01 for 1 %."""

    def __init__(self, share: float) -> None:
        self.share = share
        self._next_s = float("-inf")

    def charge(self, now_s: float, round_trip_s: float, server_s: float | None) -> float:
        """Take the time of a batch into account. Returns what it took the server, in seconds.

        `server_s`: the time between the two TIMEs, None if TIME was refused.
        """
        taken_s = max(round_trip_s, 0.0)
        if server_s is not None:
            taken_s = min(taken_s, max(CLOCK_FACTOR * server_s, 0.0) + BATCH_S)
        self._next_s = now_s + taken_s * (1 / self.share - 1)
        return taken_s

    def wait_s(self, now_s: float) -> float:
        """Seconds until the next batch may be sent; 0 if that is now."""
        return max(self._next_s - now_s, 0.0)

    def reset(self) -> None:
        """Start over: a new connection may be used at once."""
        self._next_s = float("-inf")
