"""The pending entries of a group in the order in which they become claimable (Redis 8.4, 8.8).

First come the entries that were released (XNACK), in the order of their releases; then those that
a consumer owns, the oldest delivery first. What was delivered in the same millisecond comes in the
order of the IDs.

Released entries are in an index of their own. For the others there are parts: ascending lists of
IDs that were delivered in one millisecond. A delivery adds its IDs to a part, at once for all of
them, and nothing is taken out when an entry is acknowledged or delivered again: an ID in a part
only counts as long as the pending entry still has that part's time. Whoever reads and writes in
the ordinary way pays next to nothing for this order, and who claims finds the oldest at its head.

Guarantees: IDs that count no more are swept out, some for each change, once there are more of them
than of the others. A walk may be left at any time and stands changes of the entries it gave.

Leaves out: whether an entry is pending, who owns it and since when (storage/group.py), and times
outside of [0, 2**64).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING

from storage.entry_id import EntryID
from storage.ordered_index import OrderedIndex

if TYPE_CHECKING:
    from storage.group import PendingEntry

# A part's key is its time, and a number that makes it unique.
NUMBER_BITS = 64

# The most IDs in a part: to look through one takes some ten microseconds.
PART_IDS = 1024

# So many IDs may be listed that do not count, whatever the number of pending entries.
SPARE_IDS = 1024

# How many listed IDs are swept for one that is added or acknowledged: a round over all of them
# has to end well before as many are added.
SWEEP_FACTOR = 3

NO_TIME = -1

POINTER_BYTES = 8


class DeliveryOrder:
    """The order of a group's pending entries; see the module."""

    __slots__ = (
        "_credit",
        "_listed",
        "_newest_ms",
        "_numbers",
        "_parts",
        "_pending",
        "_recent",
        "_recent_ms",
        "_released",
        "_releases",
        "_sweep",
    )

    def __init__(self, pending: OrderedIndex[PendingEntry]) -> None:
        """`pending`: the group's pending entries list."""
        self._pending = pending
        self._numbers = count()
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._parts: OrderedIndex[list[EntryID]] = OrderedIndex()
        self._recent: list[EntryID] = []  # the part used last, and its time
        self._recent_ms = NO_TIME
        self._newest_ms = NO_TIME  # no time was ever greater
        self._listed = 0  # IDs in all parts
        self._sweep: Iterator[tuple[int, list[EntryID]]] = iter(())
        self._credit = 0  # how many listed IDs the sweep may look at
        self._released: OrderedIndex[PendingEntry] = OrderedIndex()
        self._releases: dict[EntryID, int] = {}  # where an entry is in _released

    # -- entries that are owned ----------------------------------------------------------------

    def add(self, delivery_ms: int, ids: list[EntryID]) -> None:
        """Note that owned entries (ascending, at least one) have `delivery_ms` from now on."""
        if delivery_ms > self._newest_ms and len(ids) <= PART_IDS:
            self._open_part(delivery_ms, ids.copy())
        else:
            self._extend(delivery_ms, ids)
        self.tidy(len(ids))

    def _extend(self, delivery_ms: int, ids: list[EntryID]) -> None:
        part = self._recent if delivery_ms == self._recent_ms else self._find_part(delivery_ms)
        before = len(part)
        if before + len(ids) > PART_IDS:
            for start in range(0, len(ids), PART_IDS):
                self._open_part(delivery_ms, ids[start : start + PART_IDS])
            return
        if not part or ids[0] > part[-1]:
            part += ids
        else:
            part[:] = sorted({*part, *ids})
        self._listed += len(part) - before

    def tidy(self, changes: int) -> None:
        """Sweep a little, after so many entries were added or are no longer pending."""
        pending = len(self._pending)
        if self._listed <= 2 * pending + SPARE_IDS:
            return
        first_id = self._pending.first_key()
        if first_id is None:
            self.clear()
            return
        self._credit += SWEEP_FACTOR * changes
        while self._credit > 0:
            self._credit -= 1
            key, part = next(self._sweep, (0, None))
            if part is None:
                self._sweep = self._parts.items()  # another round
                return
            if part and part[-1] < first_id:  # so do most, once they are acknowledged
                self._keep(key, part, [])
            else:
                self._credit -= len(part)
                self._sweep_part(key, part)

    def _sweep_part(self, key: int, part: list[EntryID]) -> None:
        delivery_ms = key >> NUMBER_BITS
        ids = [
            entry.entry_id
            for entry in filter(None, self._pending.get_many(part))
            if entry.delivery_ms == delivery_ms and entry.consumer is not None
        ]
        if len(ids) < len(part):
            self._keep(key, part, ids)

    def _find_part(self, delivery_ms: int) -> list[EntryID]:
        """The last part for this time, or a new one; it is the recent one from now on."""
        if delivery_ms > self._newest_ms:
            return self._open_part(delivery_ms, [])
        before = (delivery_ms + 1 << NUMBER_BITS) - 1
        for key, part in self._parts.items_down_from(before):
            if key >> NUMBER_BITS != delivery_ms:
                break
            self._recent, self._recent_ms = part, delivery_ms
            return part
        return self._open_part(delivery_ms, [])

    def _open_part(self, delivery_ms: int, ids: list[EntryID]) -> list[EntryID]:
        self._parts[delivery_ms << NUMBER_BITS | next(self._numbers)] = ids
        self._listed += len(ids)
        self._recent, self._recent_ms = ids, delivery_ms
        if delivery_ms > self._newest_ms:
            self._newest_ms = delivery_ms
        return ids

    def _keep(self, key: int, part: list[EntryID], ids: list[EntryID]) -> None:
        """Leave only these IDs in a part; a part without any is dropped."""
        self._listed -= len(part) - len(ids)
        part[:] = ids
        if not ids:
            self._parts.pop(key)
            if part is self._recent:
                self._recent_ms = NO_TIME

    def _entry(self, key: int, entry_id: EntryID) -> PendingEntry | None:
        """The pending entry that an ID in a part stands for; None if the ID counts no more."""
        entry = self._pending.get(entry_id)
        if entry is None or entry.consumer is None or entry.delivery_ms != key >> NUMBER_BITS:
            return None
        return entry

    def owned(self) -> Iterator[PendingEntry]:
        """The owned entries, the oldest delivery first."""
        for key, part in self._parts.items():
            if self._parts.get(key) is not part:
                continue  # it was dropped since the walk came to its neighbours
            first_id = self._pending.first_key()
            start = 0
            if first_id is None or (part and part[-1] < first_id):
                start = len(part)
            while start < len(part) and self._entry(key, part[start]) is None:
                start += 1
            if start:  # the next walk need not look at them again
                self._keep(key, part, part[start:])
            for entry_id in part.copy():
                entry = self._entry(key, entry_id)
                if entry is not None:
                    yield entry

    # -- entries that are released -------------------------------------------------------------

    @property
    def released_count(self) -> int:
        """How many entries are released."""
        return len(self._releases)

    def release(self, entry: PendingEntry) -> None:
        """Put an entry behind all that are released, also if it was among them already."""
        self.recall(entry)
        number = self._releases[entry.entry_id] = next(self._numbers)
        self._released[number] = entry

    def recall(self, entry: PendingEntry) -> None:
        """Take an entry out of those that are released, if it is one of them."""
        number = self._releases.pop(entry.entry_id, None)
        if number is not None:
            self._released.pop(number)

    def released(self) -> Iterator[PendingEntry]:
        """The released entries, the first release first."""
        for number, entry in self._released.items():
            if self._releases.get(entry.entry_id) == number:
                yield entry

    # -- the whole -----------------------------------------------------------------------------

    def copy(self, pending: OrderedIndex[PendingEntry]) -> DeliveryOrder:
        """The same order of `pending`, which is a copy of the pending entries list."""
        twin = DeliveryOrder(pending)
        for key, part in self._parts.items():
            twin._open_part(key >> NUMBER_BITS, part.copy())
        for entry in self.released():
            twin.release(pending[entry.entry_id])
        return twin

    def memory_bytes(self) -> int:
        """An estimate of the memory that the order takes, without the IDs and entries."""
        parts = len(self._parts) * sys.getsizeof([]) + self._listed * POINTER_BYTES
        indexes = self._parts.memory_bytes() + self._released.memory_bytes()
        return sys.getsizeof(self) + parts + indexes + sys.getsizeof(self._releases)
