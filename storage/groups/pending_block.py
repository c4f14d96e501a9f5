"""A block of a pending entries list: the pending entries in one range of IDs, as rows of numbers.

A row is four 64-bit numbers: the two halves of the ID, the time of the delivery, and the state:

    bits 32 to 63   slot of the owner in the block's table `owners`; 0: no owner
    bit 31          1: its place in the order of deliveries is not that of its ID (a stray)
    bits 0 to 30    delivery count; LARGE_COUNT if it is in `large_counts`

So an entry takes 32 bytes, and no objects. A block counts how many of its entries each consumer
has, and each consumer knows the blocks in which it has some. Callers that change owners update the
counts (`share`, `unshare`).

A block may be lent to a reader that reads it in pieces: its rows are then copied before they change
(copy on write).

`ConsumerPending` is a view of the pending entries of one consumer, which are a part of its group's
(storage/groups/pending_list.py). It has no data: a consumer knows the blocks in which it has
entries, and within a block they are found by their owner.

A `MemoryCounter` is a sum of bytes that the parts of a whole add to as they change. So the memory
of the groups of a stream is known without visiting them: blocks, consumers and orders add to the
counter of their group, and that adds to the one of its stream.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import starmap
from typing import TypeAlias

import cython

from protocol.records import record
from storage.entries.entry_id import EntryID, EntryIDs, id_ms, id_seq, make_id
from storage.keyspace.ordered_index import OrderedIndex
from storage.memory import allocated_bytes, instance_bytes

if not cython.compiled:
    # Compiled, they are C functions, which the module's C types import.
    from storage.memory import array_bytes, dict_bytes, list_bytes


@cython.cclass
class MemoryCounter:
    """The memory of some parts in bytes; see the module."""

    __slots__ = ("_whole", "total_bytes")

    def __init__(self) -> None:
        self.total_bytes = 0
        self._whole: MemoryCounter | None = None

    def add(self, number: cython.long) -> None:
        """Add a number of bytes, which may be negative, here and to the whole."""
        self.total_bytes += number
        if self._whole is not None:
            self._whole.add(number)

    def join(self, whole: MemoryCounter) -> None:
        """Become a part of another counter, without being one so far."""
        whole.add(self.total_bytes)
        self._whole = whole

    def leave(self) -> None:
        """Be no part of another counter any more."""
        if self._whole is not None:
            self._whole.add(-self.total_bytes)
            self._whole = None


# 16 KiB of rows: moving the rest of them takes less time than finding the place.
BLOCK_ENTRIES = 512

# Counts from here on are stored outside the rows.
LARGE_COUNT = 2**31 - 1

# The numbers of a row.
ROW_WORDS = 4
ROW_BYTES = 32
_SEQ, _TIME, _STATE = 1, 2, 3

# The parts of a state.
_SLOT_BITS = 32
_STRAY = 1 << 31
_COUNT_MASK = _STRAY - 1
_SLOT_MASK = 0xFFFFFFFF00000000
_NOT_SLOT = 0xFFFFFFFF


# Those of a consumer that never had a pending entry: its index would be most of what it takes.
NO_BLOCKS = OrderedIndex()


@cython.cclass
class Owner:
    """A consumer, as far as its pending entries go (storage/groups/group.py has the rest).

    The group's PEL sets the number and the blocks of its entries.
    """

    __slots__ = ("_counted_bytes", "name", "pending_blocks", "pending_count")

    def __init__(self, name: bytes) -> None:
        self.name = name
        self.pending_count = 0
        self.pending_blocks: OrderedIndex = NO_BLOCKS
        self._counted_bytes = 0  # the memory of the index, as far as it is in the counter

    def settle(self, counter: MemoryCounter) -> None:
        """Bring the counter up to date, after the index has changed."""
        blocks = self.pending_blocks
        self._count(counter, 0 if blocks is NO_BLOCKS else blocks.memory_bytes())

    def add_block(self, block: Block) -> None:
        """Note that the consumer has entries in a block, or will have."""
        if self.pending_blocks is NO_BLOCKS:
            self.pending_blocks = OrderedIndex()
        self.pending_blocks[block.start] = block

    def leave(self, counter: MemoryCounter) -> None:
        """Subtract the index from the counter."""
        self._count(counter, 0)

    @cython.cfunc
    def _count(self, counter: MemoryCounter, size_bytes: cython.long) -> None:
        if size_bytes != self._counted_bytes:
            counter.add(size_bytes - self._counted_bytes)
            self._counted_bytes = size_bytes


# ID, consumer, delivery time and count of an entry.
Row: TypeAlias = "tuple[EntryID, Owner | None, int, int]"
# The same of many entries, column by column.
Columns: TypeAlias = "tuple[list[EntryID], list[Owner | None], array[int], list[int]]"


@record
class PendingEntry:
    """An entry that was delivered to a consumer and is not acknowledged: a copy of its row.

    `consumer` is None once it was released, and `delivery_ms` is 0 then. Changes of the copy do
    not change the list.
    """

    entry_id: EntryID
    consumer: Owner | None
    delivery_ms: int
    delivery_count: int


@cython.cclass
class PendingEntries:
    """Pending entries by their IDs, walked in ascending order: of a group, or of a consumer."""

    __slots__ = ()

    def rows_from(self, start: EntryID) -> Iterator[Row]:
        """(ID, consumer, time, count) of every ID >= `start`, ascending."""
        raise NotImplementedError

    def lend(self, start: EntryID, end: EntryID) -> Iterator[Columns]:
        """The blocks that can have IDs from `start` to `end`, as they are now."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[EntryID]:
        return (row[0] for row in self.rows_from(0))

    def items(self) -> Iterator[tuple[EntryID, PendingEntry]]:
        """All (ID, entry)."""
        return ((row[0], PendingEntry(*row)) for row in self.rows_from(0))

    def values(self) -> Iterator[PendingEntry]:
        """All entries."""
        return starmap(PendingEntry, self.rows_from(0))


@cython.cclass
class Share:
    """A consumer's share of a block: its slot there, and the number of its entries."""

    __slots__ = ("count", "slot")

    def __init__(self, slot: cython.long) -> None:
        self.slot = slot
        self.count = 0


class LentBlock:
    """The entries of a block at one point in time."""

    __slots__ = ("_large_counts", "_owners", "_words")

    def __init__(
        self,
        words: array[int],
        owners: list[Owner | None],
        large_counts: dict[EntryID, int],
    ) -> None:
        self._words = words
        self._owners = owners
        self._large_counts = large_counts

    def columns(self) -> Columns:
        """IDs, owners, times and counts."""
        words = self._words
        ids = ids_of(words)
        states = words[_STATE::ROW_WORDS]
        owners = self._owners
        counts = [state & _COUNT_MASK for state in states]
        if self._large_counts:
            pairs = zip(ids, counts, strict=True)
            counts = [self._large_counts.get(entry_id, count) for entry_id, count in pairs]
        names = [owners[state >> _SLOT_BITS] for state in states]
        return ids, names, words[_TIME::ROW_WORDS], counts


@cython.cclass
class Block:
    """The entries in one range of IDs; see the module."""

    __slots__ = (
        "_counted_bytes",
        "_tables_bytes",
        "is_last",
        "is_lent",
        "large_counts",
        "owners",
        "shares",
        "start",
        "counter",
        "words",
    )

    def __init__(self, start: EntryID, counter: MemoryCounter | None = None) -> None:
        """`counter`: that of the group, to which the block adds its memory."""
        self.start = start  # the range begins here, and ends where the next block's begins
        self.is_last = False  # no block follows
        self.words: array[int] = array("Q")  # ROW_WORDS for each entry
        self.owners: list[Owner | None] = [None]  # by slot; also None where a slot is free
        self.large_counts: dict[EntryID, int] = {}
        # The number of entries per consumer. In the last block it may be 0.
        self.shares: dict[Owner, Share] = {}
        self.is_lent = False  # whether a reader may hold the rows: see `lend`
        self.counter: MemoryCounter = MemoryCounter() if counter is None else counter
        self._counted_bytes = 0  # what is in the counter
        self._measure_tables()

    def lend(self) -> LentBlock:
        """The entries as they are now: later changes are made to a copy."""
        self.is_lent = True
        return LentBlock(self.words, self.owners, self.large_counts)

    def own(self) -> None:
        """To be called before a row or an owner is changed in place."""
        if self.is_lent:
            self.is_lent = False
            self.words = self.words[:]
            self.owners = self.owners.copy()
            self.large_counts = self.large_counts.copy()

    # -- looking -------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.words) // ROW_WORDS

    def place_of(self, entry_id: EntryID) -> cython.Py_ssize_t:
        """The place of the first entry with an ID not below this one."""
        ms: cython.ulonglong = id_ms(entry_id)
        seq: cython.ulonglong = id_seq(entry_id)
        low: cython.Py_ssize_t = 0
        high: cython.Py_ssize_t = len(self.words) // ROW_WORDS
        middle: cython.Py_ssize_t
        words: cython.p_ulonglong = _numbers(self)
        while low < high:
            middle = (low + high) >> 1
            other: cython.ulonglong = words[middle * ROW_WORDS]
            if other < ms or (other == ms and words[middle * ROW_WORDS + _SEQ] < seq):
                low = middle + 1
            else:
                high = middle
        return low

    def find(self, entry_id: EntryID) -> cython.Py_ssize_t:
        """The place of the entry with this ID; -1 if there is none."""
        place: cython.Py_ssize_t = self.place_of(entry_id)
        at: cython.Py_ssize_t = place * ROW_WORDS
        ms: cython.ulonglong = id_ms(entry_id)
        seq: cython.ulonglong = id_seq(entry_id)
        if at == len(self.words):
            return -1
        words: cython.p_ulonglong = _numbers(self)
        return place if words[at] == ms and words[at + _SEQ] == seq else -1

    def run_length(
        self, place: cython.Py_ssize_t, ids: EntryIDs, start: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """The number of entries from a place on that have the IDs from `start` on, in order."""
        at: cython.Py_ssize_t = place * ROW_WORDS
        end: cython.Py_ssize_t = len(self.words)
        index: cython.Py_ssize_t = start
        words: cython.p_ulonglong = _numbers(self)
        while at < end and index < ids.count:
            if make_id(words[at], words[at + _SEQ]) != ids.at(index):
                break
            at += ROW_WORDS
            index += 1
        return index - start

    def id_at(self, place: cython.Py_ssize_t) -> EntryID:
        """The ID at a place."""
        at: cython.Py_ssize_t = place * ROW_WORDS
        words: cython.p_ulonglong = _numbers(self)
        return make_id(words[at], words[at + _SEQ])

    def state_at(self, place: cython.Py_ssize_t) -> cython.ulonglong:
        """The state at a place."""
        words: cython.p_ulonglong = _numbers(self)
        state: cython.ulonglong = words[place * ROW_WORDS + _STATE]
        return state

    def owner_at(self, place: cython.Py_ssize_t) -> Owner | None:
        """The owner at a place."""
        return self.owners[self.state_at(place) >> _SLOT_BITS]

    def ids(self, start: int, end: int) -> list[EntryID]:
        """The IDs from one place up to another."""
        return ids_of(self.words[start * ROW_WORDS : end * ROW_WORDS])

    def rows(self, start: int, end: int) -> list[Row]:
        """The entries from one place up to another."""
        part = self.words[start * ROW_WORDS : end * ROW_WORDS]
        return list(zip(*LentBlock(part, self.owners, self.large_counts).columns(), strict=True))

    def entry(self, place: int) -> PendingEntry:
        """The entry at a place."""
        return PendingEntry(*self.rows(place, place + 1)[0])

    def next_of(self, owner: Owner, place: int) -> int:
        """The first place from this one on at which an owner has an entry; -1 if there is none."""
        share = self.shares.get(owner)
        if share is None:
            return -1
        return self._next(place, share.slot << _SLOT_BITS, _SLOT_MASK)

    def next_in_line(self, place: int) -> int:
        """The first place from this one on with an entry that is no stray; -1 if there is none."""
        return self._next(place, 0, _STRAY)

    @cython.cfunc
    def _next(
        self, place: cython.Py_ssize_t, wanted: cython.ulonglong, mask: cython.ulonglong
    ) -> cython.Py_ssize_t:
        """The first place from this one on whose state has these bits under a mask."""
        at: cython.Py_ssize_t = place * ROW_WORDS + _STATE
        end: cython.Py_ssize_t = len(self.words)
        words: cython.p_ulonglong = _numbers(self)
        while at < end:
            if words[at] & mask == wanted:
                return at // ROW_WORDS
            at += ROW_WORDS
        return -1

    def rows_in_line(self, start: int, end: int) -> list[Row]:
        """The entries from one place up to another that are no strays."""
        return self._rows_where(start, end, 0)

    def strays(self, start: int, end: int) -> list[Row]:
        """The entries from one place up to another that are strays."""
        return self._rows_where(start, end, _STRAY)

    def _rows_where(self, start: int, end: int, stray: cython.ulonglong) -> list[Row]:
        states = self.words[start * ROW_WORDS + _STATE : end * ROW_WORDS : ROW_WORDS]
        pairs = zip(self.rows(start, end), states, strict=True)
        return [row for row, state in pairs if state & _STRAY == stray]

    # -- changing ------------------------------------------------------------------------------
    # Callers that insert, hand over or give entries must have counted them for their owner before
    # (`share`).

    def put(
        self,
        place: cython.Py_ssize_t,
        ids: EntryIDs,
        start: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        owner: Owner,
        delivery_ms: cython.ulonglong,
        are_strays: cython.bint,
    ) -> None:
        """Add entries, each delivered once, that belong side by side at a place.

        Their IDs are those from `start` up to `end` of a row.
        """
        share: Share = self.share(owner, end - start)
        self.own()
        slot: cython.ulonglong = share.slot
        state: cython.ulonglong = (slot << _SLOT_BITS) + (_STRAY if are_strays else 0) + 1
        at: cython.Py_ssize_t = place * ROW_WORDS
        self._make_gap(at, (end - start) * ROW_WORDS)
        self._settle()
        words: cython.p_ulonglong = _numbers(self)
        index: cython.Py_ssize_t
        for index in range(start, end):
            entry_id = ids.at(index)
            words[at] = id_ms(entry_id)
            words[at + _SEQ] = id_seq(entry_id)
            words[at + _TIME] = delivery_ms
            words[at + _STATE] = state
            at += ROW_WORDS

    @cython.cfunc
    def _make_gap(self, at: cython.Py_ssize_t, length: cython.Py_ssize_t) -> None:
        """Make room for `length` numbers."""
        if not cython.compiled:
            self.words[at:at] = array("Q", bytes(8 * length))
            return
        end: cython.Py_ssize_t = len(self.words)
        resize_smart(self.words, end + length)  # type: ignore[name-defined]  # noqa: F821
        if at < end:
            words: cython.p_ulonglong = _numbers(self)
            memmove(  # type: ignore[name-defined]  # noqa: F821
                words + at + length, words + at, (end - at) * 8
            )

    def insert(
        self,
        place: int,
        entry: PendingEntry,
        is_stray: bool,
    ) -> None:
        """Add one entry at its place."""
        self.own()
        at = place * ROW_WORDS
        entry_id = entry.entry_id
        state = self._slot_of(entry.consumer) << _SLOT_BITS | (_STRAY if is_stray else 0)
        state |= self._count_bits(entry_id, entry.delivery_count)
        row = (id_ms(entry_id), id_seq(entry_id), entry.delivery_ms, state)
        self.words[at:at] = array("Q", row)
        self._settle()

    @cython.cfunc
    def _slot_of(self, owner: Owner | None) -> cython.ulonglong:
        if owner is None:
            return 0
        share: Share = self.shares[owner]
        return share.slot

    def _count_bits(self, entry_id: EntryID, count: int) -> int:
        """The count's bits in the state; a large count is stored outside the row."""
        if count >= LARGE_COUNT:
            self.large_counts[entry_id] = count
            self._measure_tables()
            return LARGE_COUNT
        if self.large_counts:
            self.large_counts.pop(entry_id, None)
        return count

    def hand_over(
        self,
        start: int,
        owner: Owner | None,
        delivery_ms: int,
        delivery_counts: list[int],
        become_strays: bool,
    ) -> None:
        """Change the entries from one place on, as many as there are counts."""
        self.own()
        slot = self._slot_of(owner) << _SLOT_BITS
        at = start * ROW_WORDS
        words = self.words
        for count in delivery_counts:
            stray = _STRAY if become_strays else words[at + _STATE] & _STRAY
            words[at + _TIME] = delivery_ms
            if count >= LARGE_COUNT or self.large_counts:
                count = self._count_bits(make_id(words[at], words[at + _SEQ]), count)
            words[at + _STATE] = slot | stray | count
            at += ROW_WORDS

    def set_owner(self, place: int, owner: Owner) -> None:
        """Change the owner of the entry at a place, and nothing else."""
        self.own()
        at = place * ROW_WORDS + _STATE
        self.words[at] = self.words[at] & _NOT_SLOT | self._slot_of(owner) << _SLOT_BITS

    def load(
        self,
        ids: list[EntryID],
        deliveries_ms: list[int],
        delivery_counts: list[int],
        strays: list[bool],
    ) -> None:
        """Fill an empty block with entries without owners."""
        words = array("Q", bytes(ROW_BYTES * len(ids)))
        words[::ROW_WORDS] = array("Q", list(map(id_ms, ids)))
        words[_SEQ::ROW_WORDS] = array("Q", list(map(id_seq, ids)))
        words[_TIME::ROW_WORDS] = array("Q", deliveries_ms)
        if max(delivery_counts) >= LARGE_COUNT:
            pairs = zip(ids, delivery_counts, strict=True)
            delivery_counts = [self._count_bits(entry_id, count) for entry_id, count in pairs]
        states = [
            count | _STRAY if stray else count
            for count, stray in zip(delivery_counts, strays, strict=True)
        ]
        words[_STATE::ROW_WORDS] = array("Q", states)
        self.words = words
        self._measure_tables()

    def cut(self, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> None:
        """Remove the entries from one place up to another."""
        self.own()
        if self.large_counts:
            for entry_id in self.ids(start, end):
                self.large_counts.pop(entry_id, None)
        del self.words[start * ROW_WORDS : end * ROW_WORDS]
        self._settle()

    def remove_owned(self, owner: Owner) -> None:
        """Remove all entries of a consumer that has some, or had."""
        self.own()
        kept = array("Q")
        start = 0
        place = self.next_of(owner, 0)
        while place >= 0:
            kept += self.words[start * ROW_WORDS : place * ROW_WORDS]
            start = place + 1
            place = self.next_of(owner, start)
        kept += self.words[start * ROW_WORDS :]
        self.words = kept
        for entry_id in self.large_counts.keys() - set(ids_of(kept)):
            del self.large_counts[entry_id]
        share: Share = self.shares[owner]
        self.unshare(owner, share.count)
        if self.is_last:
            self.forget(owner)
        self._measure_tables()

    def take(self, other: Block, start: int) -> None:
        """Move another block's entries from a place on to the end of this one.

        To be followed by `count_shares` of both.
        """
        self.own()
        moved = other.words[start * ROW_WORDS :]
        states = moved[_STATE::ROW_WORDS]
        slots: dict[int, int] = {}
        for slot in {state >> _SLOT_BITS for state in states}:
            owner = other.owners[slot]
            if owner is not None:
                self.share(owner, 0)
            slots[slot] = self._slot_of(owner) << _SLOT_BITS
        remapped = [state & _NOT_SLOT | slots[state >> _SLOT_BITS] for state in states]
        moved[_STATE::ROW_WORDS] = array("Q", remapped)
        if other.large_counts:
            for entry_id in ids_of(moved):
                if entry_id in other.large_counts:
                    self.large_counts[entry_id] = other.large_counts[entry_id]
        self.words += moved
        self._measure_tables()
        other.cut(start, len(other))

    # -- entries per consumer ------------------------------------------------------------------

    def share(self, owner: Owner, number: cython.Py_ssize_t) -> Share:
        """Add to the number of entries that a consumer has here; return its share."""
        owner.pending_count += number
        share: Share | None = self.shares.get(owner)
        if share is None:
            share = self._open_share(owner)
        share.count += number
        return share

    @cython.cfunc
    def _open_share(self, owner: Owner) -> Share:
        """Give the consumer a slot here."""
        self.own()
        owner.add_block(self)
        slot = len(self.owners)
        if slot > len(self.shares) + 1:
            slot = self.owners.index(None, 1)  # one that another consumer had
            self.owners[slot] = owner
        else:
            self.owners.append(owner)
        share = self.shares[owner] = Share(slot)
        self._measure_tables()
        owner.settle(self.counter)
        return share

    def unshare(self, owner: Owner, number: cython.Py_ssize_t) -> None:
        """Subtract from the number of entries that a consumer has here."""
        owner.pending_count -= number
        share: Share = self.shares[owner]
        share.count -= number
        # In the last block consumers would come and go with each entry: there shares of 0 stay.
        if not share.count and not self.is_last:
            self.forget(owner)

    def unshare_each(self, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> None:
        """Subtract the entries from one place up to another from their owners' numbers."""
        place: cython.Py_ssize_t = start
        run: cython.Py_ssize_t
        while place < end:
            slot: cython.ulonglong = self.state_at(place) >> _SLOT_BITS
            run = place + 1
            while run < end and self.state_at(run) >> _SLOT_BITS == slot:
                run += 1
            owner = self.owners[slot]
            if owner is not None:
                self.unshare(owner, run - place)
            place = run

    def forget(self, owner: Owner) -> None:
        """Free the slot of a consumer without entries here."""
        self.own()
        self.owners[self.shares.pop(owner).slot] = None
        owner.pending_blocks.pop(self.start)
        self._measure_tables()
        owner.settle(self.counter)

    def close(self) -> None:
        """Note that another block follows: free shares of 0, and spare room."""
        self.is_last = False
        for owner in [owner for owner, share in self.shares.items() if not share.count]:
            self.forget(owner)
        if not self.is_lent:
            self.words = self.words[:]
            self._settle()

    def unshare_all(self) -> None:
        """Subtract all entries from their owners' numbers."""
        for owner, share in list(self.shares.items()):
            owner.pending_count -= share.count
            self.forget(owner)

    def count_shares(self) -> None:
        """Count the shares again, after entries have moved from or to another block."""
        counts = dict.fromkeys(range(len(self.owners)), 0)
        for state in self.words[_STATE::ROW_WORDS]:
            counts[state >> _SLOT_BITS] += 1
        for owner, share in list(self.shares.items()):
            owner.pending_count += counts[share.slot] - share.count
            share.count = counts[share.slot]
            if not share.count:
                self.forget(owner)

    # -- the whole -----------------------------------------------------------------------------

    def copy(self, twins: dict[Owner | None, Owner | None], counter: MemoryCounter) -> Block:
        """Return a copy of the block, with its consumers replaced by others as `twins` says."""
        twin = Block(self.start, counter)
        twin.words = self.words[:]
        twin.large_counts = self.large_counts.copy()
        # Free slots stay free: shares are opened in the order of the others.
        twin.owners = [twins[owner] for owner in self.owners]
        for owner, share in self.shares.items():
            other = twins[owner]
            assert other is not None
            twin_share = twin.shares[other] = Share(share.slot)
            twin_share.count = share.count
            other.pending_count += share.count
            other.add_block(twin)
            other.settle(counter)
        twin._measure_tables()
        return twin

    def memory_bytes(self) -> int:
        """The memory in bytes, without the consumers."""
        return self._counted_bytes

    def leave(self) -> None:
        """Subtract the block from the counter: it is not part of the list any more."""
        self.counter.add(-self._counted_bytes)
        self._counted_bytes = 0

    @cython.cfunc
    def _measure_tables(self) -> None:
        """Bring the counter up to date, after a table has changed."""
        size: cython.long = _OWN_BYTES + list_bytes(self.owners) + dict_bytes(self.shares)
        size += len(self.shares) * _SHARE_BYTES
        size += dict_bytes(self.large_counts) + len(self.large_counts) * _LARGE_COUNT_BYTES
        self._tables_bytes = size
        self._settle()

    @cython.cfunc
    def _settle(self) -> None:
        """Bring the counter up to date, after the memory of the rows may have changed."""
        size: cython.long = self._tables_bytes + array_bytes(self.words)
        if size != self._counted_bytes:
            self.counter.add(size - self._counted_bytes)
            self._counted_bytes = size


_OWN_BYTES: cython.long = instance_bytes(Block)
_SHARE_BYTES: cython.long = instance_bytes(Share)
_LARGE_COUNT_BYTES: cython.long = allocated_bytes(1 << 127) + allocated_bytes(LARGE_COUNT)


@cython.cfunc
def _numbers(block: Block) -> cython.p_ulonglong:
    """The numbers of the rows: compiled, a pointer to them, until the number of rows changes."""
    if cython.compiled:
        return block.words.data.as_ulonglongs  # type: ignore[attr-defined]
    return block.words


def ids_of(words: array[int]) -> list[EntryID]:
    """The IDs of rows."""
    pairs = zip(words[::ROW_WORDS], words[_SEQ::ROW_WORDS], strict=True)
    return [make_id(ms, seq) for ms, seq in pairs]


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
