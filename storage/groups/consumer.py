"""A consumer of a group: its name, when it was last seen and active, and its pending entries."""

from __future__ import annotations

import cython

from storage.groups.consumer_pending import ConsumerPending
from storage.groups.pending_block import Owner

# active_ms of a consumer to which no entry was ever delivered.
NEVER = -1


@cython.cclass
class Consumer(Owner):
    """A consumer of a group; it exists from its first attempt to read."""

    __slots__ = ("active_ms", "seen_ms")

    def __init__(self, name: bytes, now_ms: int) -> None:
        Owner.__init__(self, name)
        self.seen_ms = now_ms  # the last attempt to read or claim
        self.active_ms = NEVER  # the last time that it got an entry

    @property
    def pending(self) -> ConsumerPending:
        """Its own pending entries."""
        return ConsumerPending(self)
