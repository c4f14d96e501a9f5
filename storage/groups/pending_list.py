"""The pending entries list of a group (PEL): which entries are pending, their owners and times.

Entries are delivered in runs of ascending IDs, hundreds at a time, and most runs are acknowledged
as a whole soon after. So a pending entry is not an object but a row of numbers: its ID, its owner,
its delivery time and count. The rows are in blocks (storage/groups/pending_block.py), each for a
range of IDs, which ends where the next one's begins; together they cover all IDs. An entry is found
by two binary searches: one over the blocks (`PendingBlocks`), one within a block. Delivering a run
appends to the last block; acknowledging it cuts it out of a block. Methods for many entries return
rows as tuples; a look-up of one entry returns an object (`PendingEntry`).

A consumer is removed in constant time: its entries stay at first. A block is cleared of them before
it is accessed (lazily); blocks that are not accessed are cleared incrementally (`clear_up`).

Guarantees: IDs ascend. Except for iteration, operations depend on the number of entries only by a
binary search over the blocks, and none but `drop_all` moves more than two blocks' entries, so
millions of entries cause no pause. Only the first and the last block may be empty, once all is
cleared up, and if callers that remove entries from a block call `tidy` when it is sparse.

Not here: the order in which entries become claimable (storage/groups/claim_order.py). The list only
stores for each entry whether that is the order of the IDs (`strays` are those for which it is not).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice, takewhile

import cython

from storage.entries.entry_id import MAX_ID, EntryID, EntryIDs
from storage.groups.pending_block import (
    BLOCK_ENTRIES,
    ROWS_AT_ONCE,
    Block,
    Columns,
    LentBlock,
    MemoryCounter,
    Owner,
    PendingEntries,
    PendingEntry,
    Row,
)

# The number of blocks that are cleared of a consumer's entries in a step, and that are merged:
# about 0.3 ms.
CLEARED_BLOCKS = 8
TIDIED_BLOCKS = 20

# A block with fewer entries than this is merged with a neighbour if there is room.
SPARSE_ENTRIES = BLOCK_ENTRIES // 8


@cython.cclass
class PendingBlocks:
    """Blocks in ascending order; see the module."""

    __slots__ = ("_blocks", "_untidy", "departed", "last", "counter")

    def __init__(self, counter: MemoryCounter | None = None) -> None:
        """`counter`: that of the group, to which the blocks add their memory."""
        self.counter: MemoryCounter = MemoryCounter() if counter is None else counter
        self.clear()

    def clear(self) -> None:
        """Remove everything. The caller updates what consumers refer to."""
        self.last = Block(0, self.counter)  # the one with the greatest IDs
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
            owner.leave(self.counter)
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
        self.last = Block(start, self.counter)
        self.last.is_last = True
        self._blocks.append(self.last)
        return self.last

    def split(self, lower: Block) -> None:
        """Split a block in two."""
        index = self.index(lower.start)
        middle = len(lower) // 2
        upper = Block(lower.id_at(middle), self.counter)
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
            owner.leave(self.counter)
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
                    owner.leave(self.counter)
            yield
        while self._untidy:
            sparse, self._untidy = self._untidy[-TIDIED_BLOCKS:], self._untidy[:-TIDIED_BLOCKS]
            for block in reversed(sparse):  # so that each joins the one before
                if self.of(block.start) is block and len(block) < SPARSE_ENTRIES:
                    self.tidy(block)
            yield

    # -- the whole -----------------------------------------------------------------------------

    def copy_from(self, other: PendingBlocks, twins: dict[Owner | None, Owner | None]) -> None:
        """Become a copy for other consumers (None for None), which have no entries yet."""
        self.last.leave()
        self._blocks = [block.copy(twins, self.counter) for block in other]
        self.last = self._blocks[-1]
        self.last.is_last = True


@cython.cclass
class PendingList(PendingEntries):
    """All pending entries of a group, by ID; see the module."""

    __slots__ = ("_blocks", "length", "counter")

    def __init__(self, counter: MemoryCounter | None = None) -> None:
        """`counter`: that of the group, to which the list adds its memory."""
        self.counter: MemoryCounter = MemoryCounter() if counter is None else counter
        self._blocks = PendingBlocks(self.counter)
        self.length = 0  # the number of pending entries

    @property
    def is_untouched(self) -> bool:
        """True if no entry was pending lately: no consumer has a share of a block."""
        blocks = self._blocks
        return not self.length and len(blocks) == 1 and not blocks.last.shares

    def take_blocks(self) -> list[Block]:
        """Remove everything; return the blocks, to be freed incrementally.

        The caller updates what consumers refer to.
        """
        self.length = 0
        return self._blocks.take_all()

    # -- looking -------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.length

    def __contains__(self, entry_id: EntryID) -> bool:
        return self._blocks.find(entry_id) is not None

    def __getitem__(self, entry_id: EntryID) -> PendingEntry:
        entry = self.get(entry_id)
        if entry is None:
            raise KeyError(entry_id)
        return entry

    def get(self, entry_id: EntryID) -> PendingEntry | None:
        """The pending entry with this ID, or None."""
        found = self._blocks.find(entry_id)
        return None if found is None else found[0].entry(found[1])

    def rows_of(self, ids: list[EntryID]) -> list[Row | None]:
        """The rows of these IDs, in the same order; None for each that is not pending.

        Fastest for consecutive pending IDs.
        """
        if len(ids) == 1:
            found = self._blocks.find(ids[0])
            if found is None:
                return [None]
            block, place = found
            return list(block.rows(place, place + 1))
        rows: list[Row | None] = []
        for block, place, _, length in self._runs(EntryIDs.of(ids)):
            rows += block.rows(place, place + length) if length else (None,)
        return rows + [None] * (len(ids) - len(rows))

    def has_any(self, ids: list[EntryID]) -> bool:
        """Return True if one of these IDs (ascending) is pending."""
        return any(True for _ in self._among(ids))

    def among(self, ids: list[EntryID]) -> set[EntryID]:
        """Those of the IDs (ascending) that are pending."""
        return set().union(*self._among(ids))

    def _among(self, ids: list[EntryID]) -> Iterator[set[EntryID]]:
        """Iterate over the sets of these IDs that are pending in a block, without empty sets."""
        blocks = self._blocks
        done = 0
        while done < len(ids):
            index = blocks.index(ids[done])
            block = blocks[index]
            end = None if block.is_last else bisect_left(ids, blocks.end(index), done)
            if found := {entry_id for entry_id in ids[done:end] if block.find(entry_id) >= 0}:
                yield found
            done = len(ids) if end is None else end

    def first_key(self) -> EntryID | None:
        """The smallest ID, or None."""
        if not self.length:
            return None
        index = 0
        while not len(self._blocks[index]):
            index += 1
        return self._blocks[index].id_at(0)

    def last_key(self) -> EntryID | None:
        """The greatest ID, or None."""
        if not self.length:
            return None
        blocks = self._blocks
        index = len(blocks) - 1
        while not len(blocks[index]):
            index -= 1
        return blocks[index].id_at(len(blocks[index]) - 1)

    def ids_between(self, start: EntryID, end: EntryID) -> list[EntryID]:
        """The IDs from `start` to below `end`, ascending."""
        return [row[0] for row in takewhile(lambda row: row[0] < end, self.rows_from(start))]

    def reaches(self, entry_id: EntryID) -> bool:
        """Return True if an ID is pending that is this one or above."""
        if not self.length:
            return False
        last: Block = self._blocks.last
        held: cython.Py_ssize_t = len(last)
        if held:
            return last.id_at(held - 1) >= entry_id
        last_key = self.last_key()
        return last_key is not None and last_key >= entry_id

    # -- walking -------------------------------------------------------------------------------
    # Rows are copied in batches: later changes may not be visible.

    def rows_from(self, start: EntryID) -> Iterator[Row]:
        blocks = self._blocks
        index = blocks.index(start)
        while index < len(blocks):
            block = blocks[index]
            place = block.place_of(start)
            rows = block.rows(place, place + ROWS_AT_ONCE)
            yield from rows
            if len(rows) == ROWS_AT_ONCE:
                if rows[-1][0] == MAX_ID:
                    return  # compiled, no number is above it
                start = rows[-1][0] + 1
                index = blocks.index(start)
            else:
                index += 1

    def blocks_from(self, start: EntryID) -> Iterator[Block]:
        """The blocks in which there are entries with IDs >= `start`, or may be."""
        for index in range(self._blocks.index(start), len(self._blocks)):
            yield self._blocks[index]

    def rows_in_line(self, start: EntryID) -> Iterator[Row]:
        """Iterate over the rows from `start` on, without strays."""
        for index in range(self._blocks.index(start), len(self._blocks)):
            block = self._blocks[index]
            place = block.next_in_line(block.place_of(start))
            while place >= 0:
                end = place + ROWS_AT_ONCE
                yield from block.rows_in_line(place, end)
                place = block.next_in_line(end)

    def strays_of(self, ids: list[EntryID], delivery_ms: int) -> list[Row]:
        """Rows of pending strays that were delivered to their owners at `delivery_ms`.

        Any order will do. Fastest for consecutive pending IDs.
        """
        found: list[Row] = []
        for block, place, _, length in self._runs(EntryIDs.of(ids)):
            strays = block.strays(place, place + length)
            found += [row for row in strays if row[2] == delivery_ms and row[1] is not None]
        return found

    def lend(self, start: EntryID, end: EntryID) -> Iterator[Columns]:
        """The blocks that can have IDs from `start` to `end`, as they are now."""
        return map(LentBlock.columns, self.lend_blocks(start, end))

    def lend_blocks(self, start: EntryID, end: EntryID) -> list[LentBlock]:
        """The blocks that can have IDs from `start` to `end`, not unpacked into columns yet."""
        return [block.lend() for block in self._blocks.between(start, end)]

    # -- adding and changing -------------------------------------------------------------------

    def extend(
        self,
        ids: EntryIDs,
        owner: Owner,
        delivery_ms: cython.ulonglong,
        are_strays: cython.bint,
    ) -> None:
        """Add entries that are not pending (at least one), delivered once. `ids` ascend."""
        count: cython.Py_ssize_t = ids.count
        self.length += count
        last: Block = self._blocks.last
        held: cython.Py_ssize_t = len(last)
        # IDs above the last one belong to the last block, which is empty as long as consumers keep
        # up.
        first = ids.at(0)
        is_above: cython.bint = last.id_at(held - 1) < first if held else last.start <= first
        if is_above and held + count <= BLOCK_ENTRIES:
            last.put(held, ids, 0, count, owner, delivery_ms, are_strays)
            return
        done: cython.Py_ssize_t = 0
        while done < count:
            block, place, room = self._room_for(ids, done)
            room = min(room, count - done)
            block.put(place, ids, done, done + room, owner, delivery_ms, are_strays)
            if len(block) > 2 * BLOCK_ENTRIES:
                self._blocks.split(block)
            done += room

    def _room_for(self, ids: EntryIDs, done: int) -> tuple[Block, int, int]:
        """Where the IDs from the place `done` on belong: a block, a place in it, how many there."""
        blocks = self._blocks
        index = blocks.index(ids[done])
        block = blocks[index]
        place = block.place_of(ids[done])
        room = BLOCK_ENTRIES
        if place < len(block):
            room = bisect_left(ids, block.id_at(place), done) - done
        elif not block.is_last:
            room = bisect_left(ids, blocks.end(index), done) - done
        elif place < BLOCK_ENTRIES:
            room = BLOCK_ENTRIES - place
        else:
            block, place = blocks.open(ids[done]), 0
        return block, place, min(room, BLOCK_ENTRIES)

    def add(self, entry: PendingEntry, *, is_stray: bool) -> None:
        """Add an entry that is not pending."""
        block = self._blocks.of(entry.entry_id)
        place = block.place_of(entry.entry_id)
        if block.is_last and place == len(block) >= BLOCK_ENTRIES:
            block, place = self._blocks.open(entry.entry_id), 0
        if entry.consumer is not None:
            block.share(entry.consumer, 1)
        block.insert(place, entry, is_stray)
        self.length += 1
        if len(block) > 2 * BLOCK_ENTRIES:
            self._blocks.split(block)

    def update(self, entry: PendingEntry, *, becomes_stray: bool) -> None:
        """Set the owner, time and count of a pending entry."""
        found = self._blocks.find(entry.entry_id)
        assert found is not None
        block, place = found
        self._hand_over(
            block, place, entry.consumer, entry.delivery_ms, [entry.delivery_count], becomes_stray
        )

    @staticmethod
    def _hand_over(
        block: Block,
        place: int,
        owner: Owner | None,
        delivery_ms: int,
        delivery_counts: list[int],
        become_strays: bool,
    ) -> None:
        """Give the entries from a place in a block on to an owner, as many as there are counts."""
        number = len(delivery_counts)
        if owner is not None:
            block.share(owner, number)
        block.unshare_each(place, place + number)
        block.hand_over(place, owner, delivery_ms, delivery_counts, become_strays)

    def hand_over(
        self,
        ids: list[EntryID],
        owner: Owner | None,
        delivery_ms: int,
        delivery_counts: list[int],
        *,
        become_strays: bool = True,
    ) -> None:
        """Give pending entries to an owner, or to none, as delivered at one time.

        Any order will do. Fastest for consecutive pending IDs.
        """
        for block, place, done, length in self._runs(EntryIDs.of(ids)):
            assert length, "not pending"
            counts = delivery_counts[done : done + length]
            self._hand_over(block, place, owner, delivery_ms, counts, become_strays)

    # -- removing ------------------------------------------------------------------------------

    def remove(self, entry_id: EntryID) -> bool:
        """Remove an entry; False if it is not pending."""
        block: Block = self._blocks.of(entry_id)
        place: cython.Py_ssize_t = block.find(entry_id)
        if place < 0:
            return False
        self._remove(block, place, 1)
        return True

    @cython.cfunc
    def _remove(self, block: Block, place: cython.Py_ssize_t, count: cython.Py_ssize_t) -> None:
        """Remove entries that are side by side."""
        block.unshare_each(place, place + count)
        block.cut(place, place + count)
        self.length -= count
        if not block.is_last and len(block) < SPARSE_ENTRIES:
            self._blocks.tidy(block)

    def remove_all(self, ids: EntryIDs) -> cython.Py_ssize_t:
        """Remove those of the entries that are pending; return their number.

        Any order will do. Fastest for consecutive pending IDs.
        """
        before: cython.Py_ssize_t = self.length
        done: cython.Py_ssize_t = 0
        place: cython.Py_ssize_t
        length: cython.Py_ssize_t
        while done < ids.count and self.length:
            block: Block = self._blocks.of(ids.at(done))
            place = block.place_of(ids.at(done))
            length = block.run_length(place, ids, done)
            if length:
                self._remove(block, place, length)
            done += length or 1
        return before - self.length

    def _runs(self, ids: EntryIDs) -> Iterator[tuple[Block, int, int, int]]:
        """Cut IDs into runs that are pending side by side in one block, and those not pending.

        The block, the place in it, where in `ids` the run begins, and its length: 0 for an ID that
        is not pending.
        """
        done = 0
        while done < ids.count and self.length:
            block = self._blocks.of(ids.at(done))
            place = block.place_of(ids.at(done))
            length = block.run_length(place, ids, done)
            yield block, place, done, length
            done += length or 1

    def depart(self, owner: Owner) -> list[Block]:
        """Remove a consumer with its entries; return the blocks that held only its entries.

        Takes constant time; `clear_up` does the rest.
        """
        self.length -= owner.pending_count
        return self._blocks.depart(owner)

    def clear_up(self) -> Iterator[None]:
        """Remove the entries of removed consumers incrementally."""
        return self._blocks.clear_up()

    # -- from a snapshot -----------------------------------------------------------------------

    def load(
        self,
        ids: list[EntryID],
        deliveries_ms: list[int],
        delivery_counts: list[int],
        strays: list[bool],
    ) -> None:
        """Add entries without owners after those that were loaded before. `ids` ascend.

        All loads but the last should be of whole blocks: the next begins a block.
        """
        for start in range(0, len(ids), BLOCK_ENTRIES):
            end = start + BLOCK_ENTRIES
            is_first = not start and not self.length
            block = self._blocks.last if is_first else self._blocks.open(ids[start])
            parts = (deliveries_ms[start:end], delivery_counts[start:end], strays[start:end])
            block.load(ids[start:end], *parts)
        self.length += len(ids)

    def give(self, owner: Owner, ids: list[EntryID]) -> EntryID | None:
        """Give entries without an owner to a consumer. `ids` ascend.

        Returns an ID that is not pending, or has an owner already; None if all is well.
        """
        blocks = self._blocks
        done = 0
        while done < len(ids):
            index = blocks.index(ids[done])
            block = blocks[index]
            end = None if block.is_last else bisect_left(ids, blocks.end(index), done)
            part = ids[done:end]
            block.share(owner, len(part))
            for entry_id in part:
                place = block.find(entry_id)
                if place < 0 or block.owner_at(place) is not None:
                    return entry_id
                block.set_owner(place, owner)
            done += len(part)
        return None

    # -- the whole -----------------------------------------------------------------------------

    def copy_from(self, other: PendingList, twins: dict[Owner | None, Owner | None]) -> None:
        """Become a copy, being empty, for other consumers (None for None) without entries."""
        self._blocks.copy_from(other._blocks, twins)
        self.length = other.length
