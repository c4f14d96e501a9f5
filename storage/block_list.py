"""The blocks of a pending entries list in order, found by ID (storage/pending_list.py).

Each block has a range of IDs, which ends where the next one's begins; together they have them all.
So an entry is found by two binary searches: one over the blocks, one within a block.

Guarantees: only the first and the last block may be empty, if whoever takes entries from a block
has it tidied up when it is sparse. Nothing but `drop_all` moves more than two blocks' entries.

Leaves out: what the entries are, and how many there are in all.
"""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING

from storage.entry_id import EntryID
from storage.pending_block import BLOCK_ENTRIES, Block

if TYPE_CHECKING:
    from storage.group import Consumer

# A block with so few entries is merged with a neighbour if there is room.
SPARSE_ENTRIES = BLOCK_ENTRIES // 8


class BlockList:
    """Blocks in ascending order; see the module."""

    __slots__ = ("_blocks", "_starts", "last")

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Remove everything. What consumers know of the blocks is up to the caller."""
        self.last = Block(0)  # the one with the greatest IDs
        self.last.is_last = True
        # _blocks[i] has the IDs in [_starts[i], _starts[i + 1]).
        self._blocks = [self.last]
        self._starts: list[EntryID] = [0]

    def take_all(self) -> list[Block]:
        """Remove everything, as `clear`; the blocks."""
        blocks = self._blocks
        self.clear()
        return blocks

    def __len__(self) -> int:
        return len(self._blocks)

    def __iter__(self) -> Iterator[Block]:
        return iter(self._blocks)

    def __getitem__(self, index: int) -> Block:
        return self._blocks[index]

    # -- finding -------------------------------------------------------------------------------

    def index(self, entry_id: EntryID) -> int:
        """The place of the block that an ID belongs to."""
        return bisect_right(self._starts, entry_id) - 1

    def of(self, entry_id: EntryID) -> Block:
        """The block that an ID belongs to."""
        return self._blocks[bisect_right(self._starts, entry_id) - 1]

    def find(self, entry_id: EntryID) -> tuple[Block, int] | None:
        """The block and the place in it of a pending entry; None if it is not pending."""
        block = self._blocks[bisect_right(self._starts, entry_id) - 1]
        place = bisect_left(block.ids, entry_id)
        if place < len(block.ids) and block.ids[place] == entry_id:
            return block, place
        return None

    def end(self, index: int) -> EntryID:
        """Where the range of a block that is not the last ends."""
        return self._starts[index + 1]

    def between(self, start: EntryID, end: EntryID) -> list[Block]:
        """The blocks that can have IDs from `start` to `end`."""
        return self._blocks[max(self.index(start), 0) : self.index(end) + 1]

    # -- changing ------------------------------------------------------------------------------

    def open(self, start: EntryID) -> Block:
        """A new last block, for IDs from `start` on."""
        self.last.forget_absent()
        self.last = Block(start)
        self.last.is_last = True
        self._blocks.append(self.last)
        self._starts.append(start)
        return self.last

    def split(self, lower: Block) -> None:
        """Make two blocks of one."""
        index = self.index(lower.start)
        middle = len(lower.ids) // 2
        upper = Block(lower.ids[middle])
        upper.take(lower, middle)
        if lower.is_last:
            lower.is_last, upper.is_last = False, True
            self.last = upper
        self._blocks.insert(index + 1, upper)
        self._starts.insert(index + 1, upper.start)
        lower.count_shares()
        upper.count_shares()

    def tidy(self, block: Block) -> None:
        """Drop a block that is empty, or join a sparse one with a neighbour that has room."""
        index = self.index(block.start)
        if not block.ids:
            if index > 0 and not block.is_last:
                self._drop(index)
        elif not block.is_last and self._can_join(index):
            self._join(index)
        elif index > 0 and self._can_join(index - 1):
            self._join(index - 1)

    def drop_all(self, gone: set[Block]) -> None:
        """Remove blocks that nobody needs any more, and neither the first nor the last one.

        The ranges of those in front of them grow.
        """
        self._blocks = [block for block in self._blocks if block not in gone]
        self._starts = [block.start for block in self._blocks]

    def _drop(self, index: int) -> None:
        """Drop an empty block that is not the first; the range of the one in front grows."""
        block = self._blocks.pop(index)
        del self._starts[index]
        block.unshare_all()
        if block.is_last:
            self.last = self._blocks[-1]
            self.last.is_last = True

    def _can_join(self, lower: int) -> bool:
        """Whether a block and the next one leave room if they are joined."""
        entries = len(self._blocks[lower].ids) + len(self._blocks[lower + 1].ids)
        return entries <= BLOCK_ENTRIES // 2

    def _join(self, index: int) -> None:
        """Move the entries of the next block into this one."""
        block, upper = self._blocks[index : index + 2]
        block.take(upper, 0)
        block.count_shares()
        self._drop(index + 1)

    # -- the whole -----------------------------------------------------------------------------

    def copy(self, twins: dict[Consumer | None, Consumer | None]) -> BlockList:
        """The same blocks for other consumers (None for None), who have nothing yet."""
        copied = BlockList()
        copied._blocks = [block.copy(twins) for block in self._blocks]
        copied._starts = self._starts.copy()
        copied.last = copied._blocks[-1]
        copied.last.is_last = True
        for block in copied._blocks:
            block.share_all()
        return copied

    def memory_bytes(self) -> int:
        """What the blocks take, IDs included, and without the consumers."""
        size = sys.getsizeof(self) + sys.getsizeof(self._blocks) + sys.getsizeof(self._starts)
        return size + sum(block.memory_bytes() for block in self._blocks)
