"""A block of a pending entries list: the pending entries in one range of IDs, as columns.

A block counts how many of its entries each consumer has, and each consumer knows the blocks in
which it has some. Whoever changes owners says so (`share`, `unshare`).

A block may be lent to somebody who reads it in pieces: its columns then stay as they are, and what
changes is a copy.
"""

from __future__ import annotations

import sys
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import compress, starmap
from operator import not_
from typing import TYPE_CHECKING, TypeAlias

from storage.entries.entry_id import EntryID

if TYPE_CHECKING:
    from storage.groups.consumer import Consumer

# What fits into 4 KiB of pointers: moving the rest of a column then takes less than to look for
# the place.
BLOCK_ENTRIES = 512

# The greatest count for which a byte is enough.
MAX_SMALL_COUNT = 255

# What an int of 128 bits takes.
ID_BYTES = 48


# ID, consumer, delivery time and count of an entry.
Row: TypeAlias = "tuple[EntryID, Consumer | None, int, int]"
# The same of many entries, column by column.
Columns: TypeAlias = (
    "tuple[list[EntryID], list[Consumer | None], array[int], bytearray | array[int]]"
)


@dataclass(slots=True)
class PendingEntry:
    """An entry that was given to a consumer and is not acknowledged, as it is when asked for.

    `consumer` is None once it was released, and `delivery_ms` is 0 then. To change it here changes
    nothing in the list.
    """

    entry_id: EntryID
    consumer: Consumer | None
    delivery_ms: int
    delivery_count: int


class PendingEntries:
    """Pending entries by their IDs, walked in ascending order: of a group, or of a consumer."""

    __slots__ = ()

    def rows_from(self, start: EntryID) -> Iterator[Row]:
        """(ID, consumer, time, count) of every ID >= `start`, ascending."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[EntryID]:
        return (row[0] for row in self.rows_from(0))

    def items(self) -> Iterator[tuple[EntryID, PendingEntry]]:
        """All (ID, entry)."""
        return ((row[0], PendingEntry(*row)) for row in self.rows_from(0))

    def values(self) -> Iterator[PendingEntry]:
        """All entries."""
        return starmap(PendingEntry, self.rows_from(0))


class Block:
    """The columns of the entries in one range of IDs."""

    __slots__ = (
        "counts", "ids", "is_last", "is_lent", "owners", "shares", "start", "strays", "times_ms",
    )  # fmt: skip

    def __init__(self, start: EntryID) -> None:
        self.start = start  # the range begins here, and ends where the next block's begins
        self.is_last = False  # no block follows
        self.ids: list[EntryID] = []
        self.owners: list[Consumer | None] = []
        self.times_ms: array[int] = array("q")
        # How often each was delivered: bytes, until a count is too great for one.
        self.counts: bytearray | array[int] = bytearray()
        self.strays = bytearray()  # 1: its place in the order of deliveries is not that of its ID
        # How many of the entries a consumer has. In the last block, one may stay with none.
        self.shares: dict[Consumer, int] = {}
        self.is_lent = False  # somebody may read the columns as they are: see `lend`

    def lend(self) -> Columns:
        """IDs, owners, times and counts as they are now, and stay: what changes is a copy."""
        self.is_lent = True
        return self.ids, self.owners, self.times_ms, self.counts

    def own(self) -> None:
        """To be called before a column is changed in place."""
        if self.is_lent:
            self.is_lent = False
            self.ids = self.ids.copy()
            self.owners = self.owners.copy()
            self.times_ms = self.times_ms[:]
            self.counts = self.counts[:]

    def entry(self, place: int) -> PendingEntry:
        """The entry at a place in the columns."""
        return PendingEntry(
            self.ids[place], self.owners[place], self.times_ms[place], self.counts[place]
        )

    def rows(self, start: int, end: int) -> list[Row]:
        """The entries from one place up to another."""
        return list(
            zip(
                self.ids[start:end],
                self.owners[start:end],
                self.times_ms[start:end],
                self.counts[start:end],
                strict=True,
            )
        )

    def rows_in_line(self, start: int, end: int) -> list[Row]:
        """The entries from one place up to another that are no strays."""
        rows = self.rows(start, end)
        if self.strays.find(1, start, end) < 0:
            return rows
        return list(compress(rows, map(not_, self.strays[start:end])))

    def put(
        self,
        place: int,
        ids: list[EntryID],
        owner: Consumer,
        delivery_ms: int,
        *,
        are_strays: bool,
    ) -> None:
        """Add entries, each delivered once, that belong side by side at a place."""
        self.own()
        number = len(ids)
        self.ids[place:place] = ids
        self.owners[place:place] = [owner] * number
        self.times_ms[place:place] = array("q", (delivery_ms,)) * number
        if isinstance(self.counts, bytearray):
            self.counts[place:place] = b"\1" * number
        else:
            self.counts[place:place] = array("q", (1,)) * number
        self.strays[place:place] = b"\1" * number if are_strays else bytes(number)

    def append(
        self, entry_id: EntryID, owner: Consumer, delivery_ms: int, *, is_stray: bool
    ) -> None:
        """Add one entry, delivered once, behind all others."""
        if self.is_lent:
            self.own()
        self.ids.append(entry_id)
        self.owners.append(owner)
        self.times_ms.append(delivery_ms)
        self.counts.append(1)
        self.strays.append(is_stray)

    def insert(self, place: int, entry: PendingEntry, *, is_stray: bool) -> None:
        """Add one entry at its place."""
        self.own()
        self._make_room(entry.delivery_count)
        self.ids.insert(place, entry.entry_id)
        self.owners.insert(place, entry.consumer)
        self.times_ms.insert(place, entry.delivery_ms)
        self.counts.insert(place, entry.delivery_count)
        self.strays.insert(place, is_stray)

    def set_delivery(self, place: int, delivery_ms: int, delivery_count: int) -> None:
        """Change when and how often an entry was delivered."""
        self.own()
        self._make_room(delivery_count)
        self.times_ms[place] = delivery_ms
        self.counts[place] = delivery_count

    def hand_over(
        self,
        start: int,
        end: int,
        owner: Consumer | None,
        delivery_ms: int,
        delivery_counts: list[int],
    ) -> None:
        """Change the entries from one place up to another (at least one)."""
        self.own()
        self._make_room(max(delivery_counts))
        number = end - start
        self.owners[start:end] = [owner] * number
        self.times_ms[start:end] = array("q", (delivery_ms,)) * number
        if isinstance(self.counts, bytearray):
            self.counts[start:end] = bytes(delivery_counts)
        else:
            self.counts[start:end] = array("q", delivery_counts)

    def _make_room(self, count: int) -> None:
        if count > MAX_SMALL_COUNT and isinstance(self.counts, bytearray):
            self.counts = array("q", list(self.counts))

    def cut(self, start: int, end: int) -> None:
        """Remove the entries from one place up to another."""
        self.own()
        del self.ids[start:end]
        del self.owners[start:end]
        del self.times_ms[start:end]
        del self.counts[start:end]
        del self.strays[start:end]

    def pop(self, place: int) -> None:
        """Remove the entry at a place."""
        if self.is_lent:
            self.own()
        del self.ids[place]
        del self.owners[place]
        del self.times_ms[place]
        del self.counts[place]
        del self.strays[place]

    def remove_owned(self, owner: Consumer) -> None:
        """Remove all entries of a consumer that has some, or had."""
        self.unshare(owner, self.shares[owner])
        if self.is_last:
            self.forget(owner)
        is_kept = [other is not owner for other in self.owners]
        self.ids = list(compress(self.ids, is_kept))
        self.owners = list(compress(self.owners, is_kept))
        self.times_ms = array("q", compress(self.times_ms, is_kept))
        self.counts = packed_counts(list(compress(self.counts, is_kept)))
        self.strays = bytearray(compress(self.strays, is_kept))

    def take(self, other: Block, start: int) -> None:
        """Move another block's entries from a place on behind those of this one."""
        self.own()
        self.ids += other.ids[start:]
        self.owners += other.owners[start:]
        self.times_ms += other.times_ms[start:]
        self.counts = packed_counts([*self.counts, *other.counts[start:]])
        self.strays += other.strays[start:]
        other.cut(start, len(other.ids))

    # -- who has how many ----------------------------------------------------------------------

    def share(self, owner: Consumer, number: int) -> None:
        """Count entries that a consumer has here from now on."""
        owner.pending_count += number
        share = self.shares.get(owner)
        if share is None:
            owner.pending_blocks[self.start] = self
            share = 0
        self.shares[owner] = share + number

    def unshare(self, owner: Consumer, number: int) -> None:
        """Count entries that a consumer no longer has here."""
        owner.pending_count -= number
        share = self.shares[owner] = self.shares[owner] - number
        # Consumers come and go in the last block with each entry: there they stay.
        if not share and not self.is_last:
            self.forget(owner)

    def unshare_each(self, owners: list[Consumer | None]) -> None:
        """Count entries (at least one) that these no longer have here."""
        first = owners[0]
        if owners.count(first) == len(owners):
            if first is not None:
                self.unshare(first, len(owners))
            return
        for owner, share in Counter(owners).items():
            if owner is not None:
                self.unshare(owner, share)

    def forget(self, owner: Consumer) -> None:
        """The consumer has nothing here any more."""
        del self.shares[owner]
        owner.pending_blocks.pop(self.start)

    def forget_absent(self) -> None:
        """Another block follows: who has nothing here does not stay."""
        self.is_last = False
        for owner in [owner for owner, share in self.shares.items() if not share]:
            self.forget(owner)

    def share_all(self) -> None:
        """Count the shares where none were counted yet."""
        for owner, share in Counter(self.owners).items():
            if owner is not None:
                self.share(owner, share)

    def unshare_all(self) -> None:
        """Count nothing."""
        for owner, share in list(self.shares.items()):
            self.forget(owner)
            owner.pending_count -= share

    def count_shares(self) -> None:
        """Count the shares anew, after entries have moved from or to another block."""
        self.unshare_all()
        self.share_all()

    # -- the whole -----------------------------------------------------------------------------

    def copy(self, twins: dict[Consumer | None, Consumer | None]) -> Block:
        """The same entries, with other consumers in the places of these."""
        twin = Block(self.start)
        twin.ids = self.ids.copy()
        twin.owners = [twins[owner] for owner in self.owners]
        twin.times_ms = self.times_ms[:]
        twin.counts = self.counts[:]
        twin.strays = self.strays[:]
        return twin

    def memory_bytes(self) -> int:
        """What the columns take, IDs included."""
        columns = (
            self.ids, self.owners, self.times_ms, self.counts, self.strays, self.shares,
        )  # fmt: skip
        return sys.getsizeof(self) + ID_BYTES * len(self.ids) + sum(map(sys.getsizeof, columns))


def packed_counts(numbers: list[int]) -> bytearray | array[int]:
    """A column of counts, as narrow as they allow."""
    if max(numbers, default=0) > MAX_SMALL_COUNT:
        return array("q", numbers)
    return bytearray(numbers)
