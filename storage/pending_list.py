"""The pending entries list of a group (PEL): which entries are pending, who has them since when.

Entries are handed out in runs of ascending IDs, hundreds at a time, and most runs are acknowledged
as a whole soon after. So a pending entry is no object but a place in columns: its ID, its owner,
when and how often it was delivered. The columns live in blocks, each of a range of IDs. To deliver
a run lengthens the columns of the last block, to acknowledge it cuts a piece out of them. An entry
becomes an object (`PendingEntry`) when somebody asks for it.

What belongs to one consumer is a part of the same columns: each block counts how many of its
entries a consumer has, and each consumer knows the blocks in which it has some.

Guarantees: IDs ascend. No operation but a walk depends on the number of entries beyond a binary
search over the blocks, and none ever moves more than a block, so that millions cause no pause.
Blocks that empty are dropped, and sparse neighbours are merged.

Leaves out: in which order entries become claimable (storage/delivery_order.py). The list only keeps
for each entry whether that is the order of the IDs (`strays` are those for which it is not).
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from storage.entry_id import EntryID
from storage.pending_block import (
    BLOCK_ENTRIES,
    Block,
    Columns,
    PendingEntry,
    Row,
    packed_counts,
)

if TYPE_CHECKING:
    from storage.group import Consumer

# A block with so few entries is merged with a neighbour if there is room.
SPARSE_ENTRIES = BLOCK_ENTRIES // 8

# As many rows are copied at once: more than most ask for, and done in a few microseconds.
ROWS_AT_ONCE = 100


class PendingList:
    """All pending entries of a group, by ID; see the module."""

    __slots__ = ("_blocks", "_length", "_starts")

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Remove everything. What consumers know of the blocks is up to the caller."""
        # _blocks[i] holds the IDs in [_starts[i], _starts[i + 1]). Only the first and the last may
        # be empty.
        self._blocks = [Block(0)]
        self._starts: list[EntryID] = [0]
        self._length = 0

    def take_blocks(self) -> list[Block]:
        """Remove everything, as `clear`; the blocks, for who wants to free them by and by."""
        blocks = self._blocks
        self.clear()
        return blocks

    def __len__(self) -> int:
        return self._length

    def __contains__(self, entry_id: EntryID) -> bool:
        return self._find(entry_id) is not None

    def __getitem__(self, entry_id: EntryID) -> PendingEntry:
        entry = self.get(entry_id)
        if entry is None:
            raise KeyError(entry_id)
        return entry

    def get(self, entry_id: EntryID) -> PendingEntry | None:
        """The pending entry with this ID, or None."""
        found = self._find(entry_id)
        return None if found is None else found[0].entry(found[1])

    def stray_ms(self, entry_id: EntryID) -> int | None:
        """When a stray that somebody owns was delivered; None if there is no such stray."""
        found = self._find(entry_id)
        if found is None:
            return None
        block, place = found
        if block.strays[place] and block.owners[place] is not None:
            return block.times_ms[place]
        return None

    def has_any(self, ids: list[EntryID]) -> bool:
        """Whether one of these is pending; they ascend."""
        done = 0
        while done < len(ids):
            index = self._index(ids[done])
            end = bisect_left(ids, self._end(index), done) if self._is_before_last(index) else None
            if not set(self._blocks[index].ids).isdisjoint(ids[done:end]):
                return True
            done = len(ids) if end is None else end
        return False

    # -- adding --------------------------------------------------------------------------------

    def extend(
        self, ids: list[EntryID], owner: Consumer, delivery_ms: int, *, are_strays: bool
    ) -> None:
        """Add entries that are not pending (at least one), delivered once. `ids` ascend.

        Quickest above all others.
        """
        tail = self._blocks[-1]
        # What readers with COUNT 1 come to, nearly always. Behind its last ID is in its range.
        if len(ids) == 1 and 0 < len(tail.ids) < BLOCK_ENTRIES and tail.ids[-1] < ids[0]:
            tail.append(ids[0], owner, delivery_ms, is_stray=are_strays)
            self._share(tail, owner, 1)
            self._length += 1
            return
        rest = ids
        while rest:
            index = self._index(rest[0])
            block = self._blocks[index]
            place = bisect_left(block.ids, rest[0])
            room = BLOCK_ENTRIES
            if place < len(block.ids):
                room = bisect_left(rest, block.ids[place])
            elif self._is_before_last(index):
                room = bisect_left(rest, self._end(index))
            elif place < BLOCK_ENTRIES:
                room = BLOCK_ENTRIES - place
            else:
                block, place = self._open_block(rest[0]), 0
            part = rest[: min(room, BLOCK_ENTRIES)]
            block.put(place, part, owner, delivery_ms, are_strays=are_strays)
            self._share(block, owner, len(part))
            if len(block.ids) > 2 * BLOCK_ENTRIES:
                self._split(index)
            rest = rest[len(part) :]
        self._length += len(ids)

    def add(self, entry: PendingEntry, *, is_stray: bool) -> None:
        """Add an entry that is not pending."""
        index = self._index(entry.entry_id)
        block = self._blocks[index]
        place = bisect_left(block.ids, entry.entry_id)
        if len(block.ids) >= BLOCK_ENTRIES and place == len(block.ids) and block is self._tail:
            block, place = self._open_block(entry.entry_id), 0
        block.insert(place, entry, is_stray=is_stray)
        self._length += 1
        if entry.consumer is not None:
            self._share(block, entry.consumer, 1)
        if len(block.ids) > 2 * BLOCK_ENTRIES:
            self._split(index)

    def update(self, entry: PendingEntry, *, becomes_stray: bool) -> None:
        """Write down the owner, time and count of an entry that is pending."""
        found = self._find(entry.entry_id)
        assert found is not None
        block, place = found
        owner = block.owners[place]
        if owner is not entry.consumer:
            block.own()
            block.owners[place] = entry.consumer
            if owner is not None:
                self._unshare(block, owner, 1)
            if entry.consumer is not None:
                self._share(block, entry.consumer, 1)
        block.set_delivery(place, entry.delivery_ms, entry.delivery_count)
        if becomes_stray:
            block.strays[place] = 1

    def hand_over(
        self, ids: list[EntryID], owner: Consumer, delivery_ms: int, delivery_counts: list[int]
    ) -> None:
        """Give entries that are pending to an owner, as delivered at one time; all become strays.

        Any order will do. Quickest for IDs that are pending one behind the other.
        """
        for index, place, done, length in self._runs(ids):
            assert length, "not pending"
            block = self._blocks[index]
            end = place + length
            owners = block.owners[place:end]
            self._share(block, owner, length)
            self._unshare_each(block, owners)
            counts = delivery_counts[done : done + length]
            block.hand_over(place, end, owner, delivery_ms, counts)

    # -- removing ------------------------------------------------------------------------------

    def remove(self, entry_id: EntryID) -> bool:
        """Remove an entry; False if it is not pending."""
        index = bisect_right(self._starts, entry_id) - 1
        block = self._blocks[index]
        ids = block.ids
        place = bisect_left(ids, entry_id)
        if place == len(ids) or ids[place] != entry_id:
            return False
        owner = block.owners[place]
        if owner is not None:
            self._unshare(block, owner, 1)
        block.pop(place)
        self._length -= 1
        if len(block.ids) < SPARSE_ENTRIES and self._is_before_last(index):
            self._tidy(index)
        return True

    def remove_all(self, ids: list[EntryID]) -> int:
        """Remove those of the entries that are pending; how many these were.

        Any order will do. Quickest for IDs that are pending one behind the other.
        """
        removed = 0
        for index, place, _, length in self._runs(ids):
            if length:
                self._cut(index, place, place + length)
                removed += length
        return removed

    def _runs(self, ids: list[EntryID]) -> Iterator[tuple[int, int, int, int]]:
        """Cut IDs into runs that are pending side by side in one block, and those not pending.

        The block's index, the place in it, where in `ids` the run begins, and its length: 0 for an
        ID that is not pending. Each run may be removed before the next one is asked for.
        """
        done = 0
        step = len(ids)
        while done < len(ids) and self._length:
            index = self._index(ids[done])
            pending = self._blocks[index].ids
            place = bisect_left(pending, ids[done])
            run = pending[place : place + min(step, len(ids) - done)]
            wanted = ids[done : done + len(run)]
            length = len(run) if run == wanted else _common_length(run, wanted)
            yield index, place, done, length
            done += length or 1
            # As long as runs are short, so is what is compared.
            step = 2 * length + 1

    def remove_owned(self, owner: Consumer) -> int:
        """Remove all entries of a consumer; how many these were."""
        removed = owner.pending_count
        blocks = list(owner.pending_blocks.values())
        for block in blocks:
            block.keep([other is not owner for other in block.owners])
            self._forget_share(block, owner)
        owner.pending_count = 0
        self._length -= removed
        for block in blocks:
            index = self._index(block.start)
            if self._blocks[index] is block and len(block.ids) < SPARSE_ENTRIES:
                self._tidy(index)
        return removed

    def _cut(self, index: int, start: int, end: int) -> None:
        """Remove the entries of a block from one place up to another (at least one)."""
        block = self._blocks[index]
        number = end - start
        self._unshare_each(block, block.owners[start:end])
        block.cut(start, end)
        self._length -= number
        if len(block.ids) < SPARSE_ENTRIES and self._is_before_last(index):
            self._tidy(index)

    # -- who has how many ----------------------------------------------------------------------

    def _share(self, block: Block, owner: Consumer, number: int) -> None:
        """Count entries that a consumer has in a block from now on."""
        owner.pending_count += number
        share = block.shares.get(owner)
        if share is None:
            owner.pending_blocks[block.start] = block
            share = 0
        block.shares[owner] = share + number

    def _unshare(self, block: Block, owner: Consumer, number: int) -> None:
        """Count entries that a consumer no longer has in a block."""
        owner.pending_count -= number
        share = block.shares[owner] = block.shares[owner] - number
        # Consumers come and go in the last block with each entry: there they stay.
        if not share and block is not self._blocks[-1]:
            self._forget_share(block, owner)

    def _unshare_each(self, block: Block, owners: list[Consumer | None]) -> None:
        """Count entries (at least one) that these no longer have in a block."""
        if owners.count(owners[0]) == len(owners):
            if owners[0] is not None:
                self._unshare(block, owners[0], len(owners))
            return
        for owner, share in Counter(owners).items():
            if owner is not None:
                self._unshare(block, owner, share)

    def _forget_share(self, block: Block, owner: Consumer) -> None:
        del block.shares[owner]
        owner.pending_blocks.pop(block.start)

    def _share_all(self, block: Block) -> None:
        """Count the shares of a block that has none yet."""
        for owner, share in Counter(block.owners).items():
            if owner is not None:
                self._share(block, owner, share)

    def _unshare_all(self, block: Block) -> None:
        """Count nothing in a block."""
        for owner, share in list(block.shares.items()):
            self._forget_share(block, owner)
            owner.pending_count -= share

    def _count_shares(self, block: Block) -> None:
        """Count the shares of a block anew, after entries have moved from or to it."""
        self._unshare_all(block)
        self._share_all(block)

    # -- walking -------------------------------------------------------------------------------
    # The list may be changed meanwhile: what is removed is not met, and what is added in front of
    # a walk is.

    def first_key(self) -> EntryID | None:
        """The smallest ID, or None."""
        if not self._length:
            return None
        return (self._blocks[0].ids or self._blocks[1].ids)[0]

    def last_key(self) -> EntryID | None:
        """The greatest ID, or None."""
        if not self._length:
            return None
        return (self._blocks[-1].ids or self._blocks[-2].ids)[-1]

    def items_from(self, start: EntryID) -> Iterator[tuple[EntryID, PendingEntry]]:
        """(ID, entry) of every ID >= `start`, ascending."""
        for block, place in self._walk(start, _next_place):
            yield block.ids[place], block.entry(place)

    def lend(self, start: EntryID, end: EntryID) -> list[Columns]:
        """The blocks that can have IDs from `start` to `end`, as they are now (Block.lend)."""
        first = max(self._index(start), 0)
        return [block.lend() for block in self._blocks[first : self._index(end) + 1]]

    def rows_from(self, start: EntryID) -> Iterator[Row]:
        """(ID, consumer, time, count) of every ID >= `start`, ascending, for who only looks on.

        Some are copied at a time: changes may show late.
        """
        index = self._index(start)
        while index < len(self._blocks):
            block = self._blocks[index]
            place = bisect_left(block.ids, start)
            rows = block.rows(place, place + ROWS_AT_ONCE)
            yield from rows
            if len(rows) == ROWS_AT_ONCE:
                start = rows[-1][0] + 1
                index = self._index(start)
            else:
                index += 1

    def items_in_line(self, start: EntryID) -> Iterator[tuple[int, EntryID]]:
        """(delivery time, ID) of every ID >= `start` whose entry is no stray, ascending."""
        for block, place in self._walk(start, _next_in_line):
            yield block.times_ms[place], block.ids[place]

    def _walk(
        self, start: EntryID, find: Callable[[Block, int], int]
    ) -> Iterator[tuple[Block, int]]:
        """Places of IDs >= `start`. `find` gives the next one in a block, -1 behind the last."""
        index = self._index(start)
        while index < len(self._blocks):
            block = self._blocks[index]
            place = find(block, bisect_left(block.ids, start))
            while place >= 0:
                entry_id = block.ids[place]
                yield block, place
                start = entry_id + 1
                place = find(block, _place_behind(block.ids, entry_id, place))
            index = self._index(start)
            if self._blocks[index] is block:
                index += 1
                start = self._end(index - 1) if index < len(self._blocks) else start

    def __iter__(self) -> Iterator[EntryID]:
        return (entry_id for entry_id, _ in self.items_from(0))

    def items(self) -> Iterator[tuple[EntryID, PendingEntry]]:
        """All (ID, entry), ascending."""
        return self.items_from(0)

    def values(self) -> Iterator[PendingEntry]:
        """All entries, in ascending order of their IDs."""
        return (entry for _, entry in self.items_from(0))

    # -- from a snapshot -----------------------------------------------------------------------

    def load(
        self,
        ids: list[EntryID],
        deliveries_ms: list[int],
        delivery_counts: list[int],
        strays: list[bool],
    ) -> None:
        """Give an empty list entries without owners. `ids` ascend."""
        for start in range(0, len(ids), BLOCK_ENTRIES):
            end = start + BLOCK_ENTRIES
            block = self._open_block(ids[start]) if start else self._blocks[0]
            block.ids = ids[start:end]
            block.owners = [None] * len(block.ids)
            block.times_ms = array("q", deliveries_ms[start:end])
            block.counts = packed_counts(delivery_counts[start:end])
            block.strays = bytearray(strays[start:end])
        self._length = len(ids)

    def give(self, owner: Consumer, ids: list[EntryID]) -> EntryID | None:
        """Give entries that nobody owns to a consumer. `ids` ascend.

        Returns an ID that is not pending, or has an owner already; None if all is well.
        """
        done = 0
        while done < len(ids):
            block = self._blocks[index := self._index(ids[done])]
            end = bisect_left(ids, self._end(index), done) if self._is_before_last(index) else None
            places = {entry_id: place for place, entry_id in enumerate(block.ids)}
            part = ids[done:end]
            for entry_id in part:
                place = places.get(entry_id)
                if place is None or block.owners[place] is not None:
                    return entry_id
                block.owners[place] = owner
            self._share(block, owner, len(part))
            done += len(part)
        return None

    # -- the whole -----------------------------------------------------------------------------

    def copy(self, twins: dict[Consumer | None, Consumer | None]) -> PendingList:
        """The same list for other consumers (None for None), who have nothing yet."""
        copied = PendingList()
        copied._blocks = [block.copy(twins) for block in self._blocks]
        copied._starts = self._starts.copy()
        copied._length = self._length
        for block in copied._blocks:
            copied._share_all(block)
        return copied

    def memory_bytes(self) -> int:
        """What the list takes, IDs included, and without the consumers."""
        size = sys.getsizeof(self) + sys.getsizeof(self._blocks) + sys.getsizeof(self._starts)
        return size + sum(block.memory_bytes() for block in self._blocks)

    # -- blocks --------------------------------------------------------------------------------

    def _index(self, entry_id: EntryID) -> int:
        """Which block an ID belongs to."""
        return bisect_right(self._starts, entry_id) - 1

    def _find(self, entry_id: EntryID) -> tuple[Block, int] | None:
        """The block and the place of a pending entry."""
        block = self._blocks[bisect_right(self._starts, entry_id) - 1]
        place = bisect_left(block.ids, entry_id)
        if place < len(block.ids) and block.ids[place] == entry_id:
            return block, place
        return None

    @property
    def _tail(self) -> Block:
        return self._blocks[-1]

    def _is_before_last(self, index: int) -> bool:
        return index + 1 < len(self._blocks)

    def _end(self, index: int) -> EntryID:
        """Where the range of a block that is not the last ends."""
        return self._starts[index + 1]

    def _open_block(self, start: EntryID) -> Block:
        """A new last block, for IDs from `start` on."""
        last = self._blocks[-1]
        for owner in [owner for owner, share in last.shares.items() if not share]:
            self._forget_share(last, owner)
        block = Block(start)
        self._blocks.append(block)
        self._starts.append(start)
        return block

    def _split(self, index: int) -> None:
        """Make two blocks of one."""
        lower = self._blocks[index]
        middle = len(lower.ids) // 2
        upper = Block(lower.ids[middle])
        upper.take(lower, middle)
        self._blocks.insert(index + 1, upper)
        self._starts.insert(index + 1, upper.start)
        self._count_shares(lower)
        self._count_shares(upper)

    def _tidy(self, index: int) -> None:
        """Drop a block that is empty, or join a sparse one with a neighbour that has room."""
        block = self._blocks[index]
        if not block.ids:
            if index > 0 and self._is_before_last(index):
                self._drop(index)
        elif self._is_before_last(index) and self._can_join(index):
            self._join(index)
        elif index > 0 and self._can_join(index - 1):
            self._join(index - 1)

    def _drop(self, index: int) -> None:
        """Drop an empty block that is not the first; the range of the one in front grows."""
        block = self._blocks.pop(index)
        del self._starts[index]
        self._unshare_all(block)

    def _can_join(self, lower: int) -> bool:
        """Whether a block and the next one leave room if they are joined."""
        entries = len(self._blocks[lower].ids) + len(self._blocks[lower + 1].ids)
        return entries <= BLOCK_ENTRIES // 2

    def _join(self, index: int) -> None:
        """Move the entries of the next block into this one."""
        block, upper = self._blocks[index : index + 2]
        block.take(upper, 0)
        self._count_shares(block)
        self._drop(index + 1)


class OwnPending:
    """The pending entries of one consumer, as a part of its group's. Nothing is kept here."""

    __slots__ = ("_owner",)

    def __init__(self, owner: Consumer) -> None:
        self._owner = owner

    def __len__(self) -> int:
        return self._owner.pending_count

    def __contains__(self, entry_id: EntryID) -> bool:
        return next(self.items_from(entry_id), (None, None))[0] == entry_id

    # A walk meets what is pending when it gets there, unless blocks are merged meanwhile: only
    # the entries of one consumer are to be changed during a walk over another's.

    def items_from(self, start: EntryID) -> Iterator[tuple[EntryID, PendingEntry]]:
        """(ID, entry) of every ID >= `start`, ascending."""
        owner = self._owner
        for block in self._blocks_from(start):
            place = _next_own(block, owner, bisect_left(block.ids, start))
            while place >= 0:
                entry_id = block.ids[place]
                yield entry_id, block.entry(place)
                place = _next_own(block, owner, _place_behind(block.ids, entry_id, place))

    def __iter__(self) -> Iterator[EntryID]:
        return (entry_id for entry_id, _ in self.items_from(0))

    def items(self) -> Iterator[tuple[EntryID, PendingEntry]]:
        """All (ID, entry), ascending."""
        return self.items_from(0)

    def lend(self, start: EntryID, end: EntryID) -> list[Columns]:
        """As of a PendingList; others' entries are in the blocks as well."""
        blocks = self._owner.pending_blocks
        first, _ = next(blocks.items_down_from(start), (0, None))
        return [block.lend() for key, block in blocks.items_from(first) if key <= end]

    def rows_from(self, start: EntryID) -> Iterator[Row]:
        """(ID, consumer, time, count) of every ID >= `start`, ascending; as in the whole list."""
        owner = self._owner
        for block in self._blocks_from(start):
            place = _next_own(block, owner, bisect_left(block.ids, start))
            while place >= 0:
                end = place + ROWS_AT_ONCE
                yield from [row for row in block.rows(place, end) if row[1] is owner]
                place = _next_own(block, owner, end)

    def _blocks_from(self, start: EntryID) -> Iterator[Block]:
        """The blocks in which there are entries of the consumer with IDs >= `start`, or may be."""
        blocks = self._owner.pending_blocks
        first = blocks.floor_key(start)
        return (block for _, block in blocks.items_from(0 if first is None else first))

    def values(self) -> Iterator[PendingEntry]:
        """All entries, in ascending order of their IDs."""
        return (entry for _, entry in self.items_from(0))


def _next_place(block: Block, place: int) -> int:
    """This place, if there is an entry; -1 behind the last."""
    return place if place < len(block.ids) else -1


def _next_in_line(block: Block, place: int) -> int:
    """The first place from this one on whose entry is no stray; -1 if there is none."""
    return block.strays.find(0, place)


def _next_own(block: Block, owner: Consumer, place: int) -> int:
    """The first place from this one on at which an owner has an entry; -1 if there is none."""
    try:
        return block.owners.index(owner, place)
    except ValueError:
        return -1


def _place_behind(ids: list[EntryID], entry_id: EntryID, place: int) -> int:
    """The place of the first ID above `entry_id`, which was at `place` a moment ago."""
    if place < len(ids) and ids[place] == entry_id:
        return place + 1
    return bisect_right(ids, entry_id)


def _common_length(left: list[EntryID], right: list[EntryID]) -> int:
    """How many of the first items are the same."""
    for length, (one, other) in enumerate(zip(left, right, strict=True)):
        if one != other:
            return length
    return len(left)
