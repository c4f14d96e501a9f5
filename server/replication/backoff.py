"""Pauses between full synchronisations that fail: each is twice as long as the one before.

A full synchronisation costs a process, the whole data on the network and loading it. Where one
fails, the next is likely to fail for the same reason, so no loop of them runs without pauses. Both
sides count: the primary by replica (primary/failed_syncs.py), a replica its own (replica/link.py).
"""

from __future__ import annotations

from server.clock import has_passed

FIRST_PAUSE_MS = 1000
MAX_PAUSE_MS = 60_000


class Backoff:
    """The failures in a row, and the pause after the last."""

    def __init__(self) -> None:
        self.failures = 0
        self.pause_ms = 0
        self._failed_ms = 0

    def fail(self, monotonic_ms: int) -> None:
        """Note a failure."""
        self.failures += 1
        self.pause_ms = min(max(2 * self.pause_ms, FIRST_PAUSE_MS), MAX_PAUSE_MS)
        self._failed_ms = monotonic_ms

    def is_over(self, monotonic_ms: int) -> bool:
        """Return True if the pause is over."""
        return has_passed(self.pause_ms, self._failed_ms, monotonic_ms)

    def is_old(self, monotonic_ms: int) -> bool:
        """Return True if the last failure was too long ago to matter."""
        return has_passed(10 * MAX_PAUSE_MS, self._failed_ms, monotonic_ms)
