"""The blocks of a pending entries list in order, found by ID (storage/groups/pending_list.py).

Each block has a range of IDs, which ends where the next one's begins; together they cover all IDs.
So an entry is found by two binary searches: one over the blocks, one within a block.

A consumer is removed in constant time: its entries stay at first. A block is cleared of them before
it is accessed (lazily); blocks that are not accessed are cleared incrementally (`clear_up`).

Guarantees: only the first and the last block may be empty, once all is cleared up, and if callers
that remove entries from a block call `tidy` when it is sparse. Nothing but `drop_all` moves more
than two blocks' entries.

Not here: the entries' content, and their total number.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import cython

from storage.entries.entry_id import MAX_ID, EntryID
from storage.groups.pending_block import BLOCK_ENTRIES, Block, Owner
from storage.groups.tally import Tally

# The number of blocks that are cleared of a consumer's entries in a step, and that are merged:
# about 0.3 ms.
CLEARED_BLOCKS = 8
TIDIED_BLOCKS = 20

# A block with fewer entries than this is merged with a neighbour if there is room.
SPARSE_ENTRIES = BLOCK_ENTRIES // 8


@cython.cclass
class PendingBlocks:
    """Blocks in ascending order; see the module."""

    __slots__ = ("_blocks", "_untidy", "departed", "last", "tally")

    def __init__(self, tally: Tally | None = None) -> None:
        """`tally`: that of the group, to which the blocks add their memory."""
        self.tally: Tally = Tally() if tally is None else tally
        self.clear()

    def clear(self) -> None:
        """Remove everything. The caller updates what consumers refer to."""
        self.last = Block(0, self.tally)  # the one with the greatest IDs
        self.last.is_last = True
        self._blocks = [self.last]
        self.departed: dict[Owner, None] = {}  # removed consumers with entries in some blocks
        self._untidy: list[Block] = []  # which were cleared on access

    def take_all(self) -> list[Block]:
        """Remove everything, as `clear`; return the blocks."""
        blocks = self._blocks
        for block in blocks:
            block.leave()
        for owner in self.departed:
            owner.pending_blocks.clear()
            owner.leave(self.tally)
        self.clear()
        return blocks

    def __len__(self) -> int:
        return len(self._blocks)

    def __iter__(self) -> Iterator[Block]:
        return iter(self.between(0, MAX_ID))

    def __getitem__(self, index: int) -> Block:
        return self._cleared(self._blocks[index])

    # -- finding -------------------------------------------------------------------------------

    def index(self, entry_id: EntryID) -> cython.Py_ssize_t:
        """The place of the block that an ID belongs to."""
        blocks = self._blocks
        low: cython.Py_ssize_t = 0
        high: cython.Py_ssize_t = len(blocks) - 1
        middle: cython.Py_ssize_t
        while low < high:
            middle = (low + high + 1) >> 1
            block: Block = blocks[middle]
            if block.start <= entry_id:
                low = middle
            else:
                high = middle - 1
        return low

    def of(self, entry_id: EntryID) -> Block:
        """The block that an ID belongs to."""
        block: Block = self._blocks[self.index(entry_id)]
        return self._cleared(block) if self.departed else block

    def find(self, entry_id: EntryID) -> tuple[Block, int] | None:
        """The block and the place in it of a pending entry; None if it is not pending."""
        block: Block = self.of(entry_id)
        place: cython.Py_ssize_t = block.find(entry_id)
        return None if place < 0 else (block, place)

    def end(self, index: int) -> EntryID:
        """Where the range of a block that is not the last ends."""
        return self._blocks[index + 1].start

    def between(self, start: EntryID, end: EntryID) -> list[Block]:
        """The blocks that can have IDs from `start` to `end`."""
        blocks = self._blocks[self.index(start) : self.index(end) + 1]
        return [self._cleared(block) for block in blocks] if self.departed else blocks

    # -- changing ------------------------------------------------------------------------------

    def open(self, start: EntryID) -> Block:
        """A new last block, for IDs from `start` on."""
        self.last.close()
        self.last = Block(start, self.tally)
        self.last.is_last = True
        self._blocks.append(self.last)
        return self.last

    def split(self, lower: Block) -> None:
        """Split a block in two."""
        index = self.index(lower.start)
        middle = len(lower) // 2
        upper = Block(lower.id_at(middle), self.tally)
        upper.take(lower, middle)
        if lower.is_last:
            lower.is_last, upper.is_last = False, True
            self.last = upper
        self._blocks.insert(index + 1, upper)
        lower.count_shares()
        upper.count_shares()

    def tidy(self, block: Block) -> None:
        """Drop a block that is empty, or join a sparse one with a neighbour that has room."""
        index = self.index(block.start)
        if not len(block):
            if index > 0 and not block.is_last:
                self._drop(index)
        elif not block.is_last and self._can_join(index):
            self._join(index)
        elif index > 0 and self._can_join(index - 1):
            self._join(index - 1)

    def _drop(self, index: int) -> None:
        """Drop an empty block that is not the first; the range of the one before grows."""
        block = self._blocks.pop(index)
        block.unshare_all()
        block.leave()
        if block.is_last:
            self.last = self._blocks[-1]
            self.last.is_last = True

    def _can_join(self, lower: int) -> bool:
        """Return True if a block and the next one leave room if they are joined."""
        entries = len(self._blocks[lower]) + len(self._blocks[lower + 1])
        return entries <= BLOCK_ENTRIES // 2

    def _join(self, index: int) -> None:
        """Move the entries of the next block into this one."""
        block, upper = self._blocks[index], self._blocks[index + 1]
        block.take(upper, 0)
        block.count_shares()
        self._drop(index + 1)

    # -- removed consumers ---------------------------------------------------------------------

    def depart(self, owner: Owner) -> list[Block]:
        """Remove a consumer with its entries; return the blocks that held only its entries.

        The caller frees them.
        """
        first = self._blocks[0]
        whole: list[Block] = []
        for block in owner.pending_blocks.values():
            if block.shares[owner].count == len(block) and block is not first and not block.is_last:
                whole.append(block)
        gone = set(whole)
        if whole:  # the ranges of those before them grow
            self._blocks = [block for block in self._blocks if block not in gone]
        for block in whole:
            owner.pending_blocks.pop(block.start)
            block.leave()
        if owner.pending_blocks:
            self.departed[owner] = None
        else:
            owner.leave(self.tally)
        return whole

    @cython.cfunc
    def _cleared(self, block: Block) -> Block:
        """A block without entries of removed consumers."""
        if self.departed and not self.departed.keys().isdisjoint(block.shares):
            for owner in self.departed.keys() & block.shares.keys():
                block.remove_owned(owner)
            if len(block) < SPARSE_ENTRIES:
                self._untidy.append(block)
        return block

    def clear_up(self) -> Iterator[None]:
        """Remove the entries of removed consumers incrementally."""
        while self.departed:
            for owner in list(self.departed):
                for block in list(islice(owner.pending_blocks.values(), CLEARED_BLOCKS)):
                    self._cleared(block)
                if not owner.pending_blocks:
                    del self.departed[owner]
                    owner.leave(self.tally)
            yield
        while self._untidy:
            sparse, self._untidy = self._untidy[-TIDIED_BLOCKS:], self._untidy[:-TIDIED_BLOCKS]
            for block in reversed(sparse):  # so that each joins the one before
                if self.of(block.start) is block and len(block) < SPARSE_ENTRIES:
                    self.tidy(block)
            yield

    # -- the whole -----------------------------------------------------------------------------

    def copy(self, twins: dict[Owner | None, Owner | None], tally: Tally) -> PendingBlocks:
        """Return a copy for other consumers (None for None), which have no entries yet."""
        copied = PendingBlocks(tally)
        copied.last.leave()
        copied._blocks = [block.copy(twins, tally) for block in self]
        copied.last = copied._blocks[-1]
        copied.last.is_last = True
        return copied
