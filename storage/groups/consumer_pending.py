"""The pending entries of one consumer: a part of its group's (storage/groups/pending_list.py).

A view without data of its own: a consumer knows the blocks in which it has entries, and within a
block they are found by their owner.

The entries must not change during an iteration.
"""

from __future__ import annotations

from collections.abc import Iterator

from storage.entries.entry_id import EntryID
from storage.groups.pending_block import (
    Block,
    Columns,
    LentBlock,
    Owner,
    PendingEntries,
    Row,
)

# The number of rows that are copied at once: enough for most requests, in a few microseconds.
ROWS_AT_ONCE = 100


class ConsumerPending(PendingEntries):
    """The pending entries of a consumer, ascending; see the module."""

    __slots__ = ("_owner",)

    def __init__(self, owner: Owner) -> None:
        self._owner = owner

    def __len__(self) -> int:
        return self._owner.pending_count

    def __contains__(self, entry_id: EntryID) -> bool:
        return next(self.rows_from(entry_id), (None,))[0] == entry_id

    def rows_from(self, start: EntryID) -> Iterator[Row]:
        owner = self._owner
        for block in self.blocks_from(start):
            place = block.next_of(owner, block.place_of(start))
            while place >= 0:
                end = place + ROWS_AT_ONCE
                yield from [row for row in block.rows(place, end) if row[1] is owner]
                place = block.next_of(owner, end)

    def lend(self, start: EntryID, end: EntryID) -> Iterator[Columns]:
        """The blocks that can have IDs from `start` to `end`; they hold others' entries as well."""
        blocks = self._owner.pending_blocks
        first, _ = next(blocks.items_down_from(start), (0, None))
        lent = [block.lend() for key, block in blocks.items_from(first) if key <= end]
        return map(LentBlock.columns, lent)

    def blocks_from(self, start: EntryID) -> Iterator[Block]:
        """The blocks in which there are entries of the consumer with IDs >= `start`, or may be."""
        blocks = self._owner.pending_blocks
        first = blocks.floor_key(start)
        return (block for _, block in blocks.items_from(0 if first is None else first))
