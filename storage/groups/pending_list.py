"""The pending entries list of a group (PEL): which entries are pending, who has them since when.

Entries are handed out in runs of ascending IDs, hundreds at a time, and most runs are acknowledged
as a whole soon after. So a pending entry is no object but a place in columns: its ID, its owner,
when and how often it was delivered. The columns live in blocks, each of a range of IDs. To deliver
a run lengthens the columns of the last block, to acknowledge it cuts a piece out of them. Whoever
looks at many gets rows; an entry becomes an object (`PendingEntry`) when somebody asks for it.

Guarantees: IDs ascend. No operation but a walk depends on the number of entries beyond a binary
search over the blocks, and none ever moves more than a block, so that millions cause no pause.

Leaves out: how blocks are kept (storage/groups/pending_block.py, storage/groups/pending_blocks.py),
what a consumer has (storage/groups/consumer_pending.py), and in which order entries become
claimable (storage/groups/claim_order.py). The list only keeps for each entry whether that is the
order of the IDs (`strays` are those for which it is not).
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from itertools import compress
from typing import TYPE_CHECKING

from storage.entries.entry_id import EntryID
from storage.groups.consumer_pending import ROWS_AT_ONCE
from storage.groups.pending_block import (
    BLOCK_ENTRIES,
    Block,
    Columns,
    PendingEntries,
    PendingEntry,
    Row,
    packed_counts,
)
from storage.groups.pending_blocks import SPARSE_ENTRIES, PendingBlocks

if TYPE_CHECKING:
    from storage.groups.consumer import Consumer


class PendingList(PendingEntries):
    """All pending entries of a group, by ID; see the module."""

    __slots__ = ("_blocks", "length")

    def __init__(self) -> None:
        self._blocks = PendingBlocks()
        self.length = 0  # how many entries are pending

    def take_blocks(self) -> list[Block]:
        """Remove everything; the blocks, for who wants to free them by and by.

        What consumers know of them is up to the caller.
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

        Quickest for IDs that are pending one behind the other.
        """
        if len(ids) == 1:
            found = self._blocks.find(ids[0])
            if found is None:
                return [None]
            block, place = found
            delivery = block.times_ms[place], block.counts[place]
            return [(ids[0], block.owners[place], *delivery)]
        rows: list[Row | None] = []
        for block, place, _, length in self._runs(ids):
            rows += block.rows(place, place + length) if length else (None,)
        return rows + [None] * (len(ids) - len(rows))

    def has_any(self, ids: list[EntryID]) -> bool:
        """Whether one of these is pending; they ascend."""
        return any(True for _ in self._among(ids))

    def among(self, ids: list[EntryID]) -> set[EntryID]:
        """Those of the IDs (ascending) that are pending."""
        return set().union(*self._among(ids))

    def _among(self, ids: list[EntryID]) -> Iterator[set[EntryID]]:
        """The same, block by block, where there are some."""
        blocks = self._blocks
        done = 0
        while done < len(ids):
            index = blocks.index(ids[done])
            block = blocks[index]
            end = None if block.is_last else bisect_left(ids, blocks.end(index), done)
            if found := set(ids[done:end]).intersection(block.ids):
                yield found
            done = len(ids) if end is None else end

    def first_key(self) -> EntryID | None:
        """The smallest ID, or None."""
        if not self.length:
            return None
        index = 0
        while not self._blocks[index].ids:
            index += 1
        return self._blocks[index].ids[0]

    def last_key(self) -> EntryID | None:
        """The greatest ID, or None."""
        if not self.length:
            return None
        blocks = self._blocks
        ids = blocks.last.ids
        if ids and not blocks.departed:  # so it is nearly always
            return ids[-1]
        index = len(blocks) - 1
        while not blocks[index].ids:
            index -= 1
        return blocks[index].ids[-1]

    # -- walking -------------------------------------------------------------------------------
    # Some rows are copied at a time: what changes meanwhile may show late.

    def rows_from(self, start: EntryID) -> Iterator[Row]:
        blocks = self._blocks
        index = blocks.index(start)
        while index < len(blocks):
            block = blocks[index]
            place = bisect_left(block.ids, start)
            rows = block.rows(place, place + ROWS_AT_ONCE)
            yield from rows
            if len(rows) == ROWS_AT_ONCE:
                start = rows[-1][0] + 1
                index = blocks.index(start)
            else:
                index += 1

    def rows_in_line(self, start: EntryID) -> Iterator[Row]:
        """As `rows_from`, of those that are no strays."""
        for index in range(self._blocks.index(start), len(self._blocks)):
            block = self._blocks[index]
            place = block.strays.find(0, bisect_left(block.ids, start))
            while place >= 0:
                end = place + ROWS_AT_ONCE
                yield from block.rows_in_line(place, end)
                place = block.strays.find(0, end)

    def strays_of(self, ids: list[EntryID], delivery_ms: int) -> list[Row]:
        """Rows of those that are pending as strays which somebody owns since `delivery_ms`.

        Any order will do. Quickest for IDs that are pending one behind the other.
        """
        found: list[Row] = []
        for block, place, _, length in self._runs(ids):
            end = place + length
            strays = compress(block.rows(place, end), block.strays[place:end])
            found += [row for row in strays if row[2] == delivery_ms and row[1] is not None]
        return found

    def lend(self, start: EntryID, end: EntryID) -> list[Columns]:
        """The blocks that can have IDs from `start` to `end`, as they are now (Block.lend)."""
        return [block.lend() for block in self._blocks.between(start, end)]

    # -- adding and changing -------------------------------------------------------------------

    def extend(
        self, ids: list[EntryID], owner: Consumer, delivery_ms: int, *, are_strays: bool
    ) -> None:
        """Add entries that are not pending (at least one), delivered once. `ids` ascend.

        Quickest above all others.
        """
        count = len(ids)
        self.length += count
        last = self._blocks.last
        held = last.ids
        # What is behind the last ID belongs into the last block. As long as consumers keep up, that
        # is empty.
        is_behind = held[-1] < ids[0] if held else last.start <= ids[0]
        if is_behind and len(held) + count <= BLOCK_ENTRIES:
            if count == 1:
                last.append(ids[0], owner, delivery_ms, is_stray=are_strays)
            else:
                last.put(len(held), ids, owner, delivery_ms, are_strays=are_strays)
            last.share(owner, count)
            return
        done = 0
        while done < count:
            block, place, room = self._room_for(ids, done)
            part = ids[done : done + room]
            block.put(place, part, owner, delivery_ms, are_strays=are_strays)
            block.share(owner, len(part))
            if len(block.ids) > 2 * BLOCK_ENTRIES:
                self._blocks.split(block)
            done += len(part)

    def _room_for(self, ids: list[EntryID], done: int) -> tuple[Block, int, int]:
        """Where the IDs from the place `done` on belong: a block, a place in it, how many there."""
        blocks = self._blocks
        index = blocks.index(ids[done])
        block = blocks[index]
        place = bisect_left(block.ids, ids[done])
        room = BLOCK_ENTRIES
        if place < len(block.ids):
            room = bisect_left(ids, block.ids[place], done) - done
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
        place = bisect_left(block.ids, entry.entry_id)
        if block.is_last and place == len(block.ids) >= BLOCK_ENTRIES:
            block, place = self._blocks.open(entry.entry_id), 0
        block.insert(place, entry, is_stray=is_stray)
        self.length += 1
        if entry.consumer is not None:
            block.share(entry.consumer, 1)
        if len(block.ids) > 2 * BLOCK_ENTRIES:
            self._blocks.split(block)

    def update(self, entry: PendingEntry, *, becomes_stray: bool) -> None:
        """Write down the owner, time and count of an entry that is pending."""
        found = self._blocks.find(entry.entry_id)
        assert found is not None
        block, place = found
        owner = block.owners[place]
        if owner is not entry.consumer:
            block.own()
            block.owners[place] = entry.consumer
            if owner is not None:
                block.unshare(owner, 1)
            if entry.consumer is not None:
                block.share(entry.consumer, 1)
        block.set_delivery(place, entry.delivery_ms, entry.delivery_count)
        if becomes_stray:
            block.strays[place] = 1

    def hand_over(
        self,
        ids: list[EntryID],
        owner: Consumer | None,
        delivery_ms: int,
        delivery_counts: list[int],
        *,
        become_strays: bool = True,
    ) -> None:
        """Give entries that are pending to an owner, or to nobody, as delivered at one time.

        Any order will do. Quickest for IDs that are pending one behind the other.
        """
        for block, place, done, length in self._runs(ids):
            assert length, "not pending"
            end = place + length
            owners = block.owners[place:end]
            if owner is not None:
                block.share(owner, length)
            block.unshare_each(owners)
            counts = delivery_counts[done : done + length]
            block.hand_over(place, end, owner, delivery_ms, counts)
            if become_strays:
                block.strays[place:end] = b"\1" * length

    # -- removing ------------------------------------------------------------------------------

    def remove(self, entry_id: EntryID) -> bool:
        """Remove an entry; False if it is not pending."""
        block = self._blocks.of(entry_id)
        ids = block.ids
        place = bisect_left(ids, entry_id)
        if place == len(ids) or ids[place] != entry_id:
            return False
        owner = block.owners[place]
        if owner is not None:
            block.unshare(owner, 1)
        block.pop(place)
        self.length -= 1
        if len(block.ids) < SPARSE_ENTRIES and not block.is_last:
            self._blocks.tidy(block)
        return True

    def remove_all(self, ids: list[EntryID]) -> int:
        """Remove those of the entries that are pending; how many these were.

        Any order will do. Quickest for IDs that are pending one behind the other.
        """
        removed = 0
        for block, place, _, length in self._runs(ids):
            if length:
                block.unshare_each(block.owners[place : place + length])
                block.cut(place, place + length)
                self.length -= length
                removed += length
                if len(block.ids) < SPARSE_ENTRIES and not block.is_last:
                    self._blocks.tidy(block)
        return removed

    def _runs(self, ids: list[EntryID]) -> Iterator[tuple[Block, int, int, int]]:
        """Cut IDs into runs that are pending side by side in one block, and those not pending.

        The block, the place in it, where in `ids` the run begins, and its length: 0 for an ID that
        is not pending. Each run may be removed before the next one is asked for.
        """
        done = 0
        step = len(ids)
        while done < len(ids) and self.length:
            block = self._blocks.of(ids[done])
            pending = block.ids
            place = bisect_left(pending, ids[done])
            run = pending[place : place + min(step, len(ids) - done)]
            wanted = ids[done : done + len(run)]
            length = len(run) if run == wanted else _common_length(run, wanted)
            yield block, place, done, length
            done += length or 1
            # As long as runs are short, so is what is compared.
            step = 2 * length + 1

    def depart(self, owner: Consumer) -> list[Block]:
        """A consumer goes with all that it has; blocks that went with it as they were.

        That takes no time however much it is; `clear_up` does the rest.
        """
        self.length -= owner.pending_count
        return self._blocks.depart(owner)

    def clear_up(self) -> Iterator[None]:
        """Free what consumers that have departed have left, a little with each step."""
        return self._blocks.clear_up()

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
            block = self._blocks.open(ids[start]) if start else self._blocks.last
            block.ids = ids[start:end]
            block.owners = [None] * len(block.ids)
            block.times_ms = array("q", deliveries_ms[start:end])
            block.counts = packed_counts(delivery_counts[start:end])
            block.strays = bytearray(strays[start:end])
        self.length = len(ids)

    def give(self, owner: Consumer, ids: list[EntryID]) -> EntryID | None:
        """Give entries that nobody owns to a consumer. `ids` ascend.

        Returns an ID that is not pending, or has an owner already; None if all is well.
        """
        blocks = self._blocks
        done = 0
        while done < len(ids):
            index = blocks.index(ids[done])
            block = blocks[index]
            end = None if block.is_last else bisect_left(ids, blocks.end(index), done)
            places = {entry_id: place for place, entry_id in enumerate(block.ids)}
            part = ids[done:end]
            for entry_id in part:
                place = places.get(entry_id)
                if place is None or block.owners[place] is not None:
                    return entry_id
                block.owners[place] = owner
            block.share(owner, len(part))
            done += len(part)
        return None

    # -- the whole -----------------------------------------------------------------------------

    def copy(self, twins: dict[Consumer | None, Consumer | None]) -> PendingList:
        """The same list for other consumers (None for None), who have nothing yet."""
        copied = PendingList()
        copied._blocks = self._blocks.copy(twins)
        copied.length = self.length
        return copied

    def memory_bytes(self) -> int:
        """What the list takes, IDs included, and without the consumers."""
        return sys.getsizeof(self) + self._blocks.memory_bytes()


def _common_length(left: list[EntryID], right: list[EntryID]) -> int:
    """How many of the first items are the same."""
    for length, (one, other) in enumerate(zip(left, right, strict=True)):
        if one != other:
            return length
    return len(left)
