"""The consumers' counters, in shared memory.

A killed consumer loses its variables. These counters are in memory that the parent shares with all
consumers, so they are correct after a SIGKILL, and the parent can show progress without asking the
server. Each row has one writer, its consumer; the parent only reads.

The tally is the consumers' own account. The proof of a run is the ledger on the server; audit.py
compares the two.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from ctypes import Array, c_uint64
from multiprocessing.sharedctypes import RawArray

# Latencies are counted in classes of one millisecond, wider where there are few.
LATENCY_BOUNDS_MS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 50, 100, 200, 500, 1000)

READY, DELIVERED, CLAIMED, ACKNOWLEDGED, FIRST_LATENCY = range(5)
ROW_LENGTH = FIRST_LATENCY + len(LATENCY_BOUNDS_MS) + 1


class Counters:
    """One consumer's counters."""

    def __init__(self, cells: Array[c_uint64]) -> None:
        self.cells = cells

    @classmethod
    def create(cls) -> Counters:
        """A tally of zeros in shared memory."""
        return cls(RawArray(c_uint64, ROW_LENGTH))

    def mark_ready(self) -> None:
        """Record that the consumer is connected and about to read."""
        self.cells[READY] = 1

    def add_delivered(self, entries: int) -> None:
        """Add entries that XREADGROUP delivered to it for the first time."""
        self.cells[DELIVERED] += entries

    def add_claimed(self, entries: int) -> None:
        """Add entries that it claimed from another consumer."""
        self.cells[CLAIMED] += entries

    def add_acknowledged(self, entries: int) -> None:
        """Add a reply to XACK: the number of entries that were pending."""
        self.cells[ACKNOWLEDGED] += entries

    def add_latency(self, latency_ms: float) -> None:
        """Count one entry by its time from XADD to delivery."""
        self.cells[FIRST_LATENCY + bisect_right(LATENCY_BOUNDS_MS, latency_ms)] += 1

    @property
    def ready(self) -> bool:
        return bool(self.cells[READY])

    @property
    def delivered(self) -> int:
        return int(self.cells[DELIVERED])

    @property
    def claimed(self) -> int:
        return int(self.cells[CLAIMED])

    @property
    def acknowledged(self) -> int:
        return int(self.cells[ACKNOWLEDGED])

    @property
    def unacknowledged(self) -> int:
        """Entries that were delivered to it and not acknowledged."""
        return self.delivered + self.claimed - self.acknowledged

    def latencies(self) -> Iterator[int]:
        """Entries per class: below each of LATENCY_BOUNDS_MS, and above the last."""
        return iter(self.cells[FIRST_LATENCY:])
