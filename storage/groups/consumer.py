"""A consumer of a group: its name, when it was last seen and active, and its pending entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython

from storage.keyspace.ordered_index import OrderedIndex

if TYPE_CHECKING:
    from storage.groups.consumer_pending import ConsumerPending
    from storage.groups.pending_block import Block

# active_ms of a consumer to which no entry was ever delivered.
NEVER = -1


@cython.cclass
class Consumer:
    """A consumer of a group; it exists from its first attempt to read."""

    __slots__ = ("active_ms", "name", "pending_blocks", "pending_count", "seen_ms")

    def __init__(self, name: bytes, now_ms: int) -> None:
        self.name = name
        self.seen_ms = now_ms  # the last attempt to read or claim
        self.active_ms = NEVER  # the last time that it got an entry
        # Set by the group's PEL: the number and the blocks of this consumer's entries.
        self.pending_count = 0
        self.pending_blocks: OrderedIndex[Block] = OrderedIndex()

    @property
    def pending(self) -> ConsumerPending:
        """Its own pending entries."""
        from storage.groups.consumer_pending import ConsumerPending  # it imports this module

        return ConsumerPending(self)
