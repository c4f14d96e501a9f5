"""Ready keys: those that were written, removed or replaced while clients wait for them.

A write that may serve waiting clients calls `signal`, which puts the key on the list, once. Who
waits is in commands/core/blocking/blocked_clients.py.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeAlias

import cython

WatchedKey: TypeAlias = "tuple[int, bytes]"  # (database index, key)


@cython.cclass
class ReadyKeys:
    """The keys of all databases that clients wait for, and the ready ones among them."""

    def __init__(self) -> None:
        self.awaited: Collection[WatchedKey] = {}
        self.signalled: dict[WatchedKey, None] = {}

    def signal(self, db_index: int, key: bytes) -> None:
        """`key` may serve its waiters now, was removed, or changed its type; dispatch decides which
        of them to wake.
        """
        watched = (db_index, key)
        if watched in self.awaited:
            self.signalled[watched] = None

    def signal_all(self, db_index: int) -> None:
        """Every awaited key of a database may have changed (FLUSHDB, SWAPDB)."""
        for watched in self.awaited:
            if watched[0] == db_index:
                self.signalled[watched] = None

    def take(self) -> list[WatchedKey]:
        """Return the ready keys in the order in which they were signalled, and clear the list."""
        ready = list(self.signalled)
        self.signalled.clear()
        return ready
