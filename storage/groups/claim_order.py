"""The pending entries of a group in the order in which they become claimable (Redis 8.4, 8.8).

First come the entries that were released (XNACK), in the order of their releases; then those that
a consumer owns, the oldest delivery first, and what was delivered at the same time in the order of
the deliveries.

Consumers that read new entries get ascending IDs at ascending times. Such entries are in line:
their order is that of their IDs, and nothing has to be stored for them. Only the others, strays,
are listed: those that were claimed, read again or delivered after the clock was set back.

Strays are listed in parts, each of which covers a stretch of time: its items are IDs in the order
of their deliveries, and between them, wherever the time changes, the time. Nothing is removed
when an entry is acknowledged or delivered again: a listed ID only counts as long as the pending
entry still has the time that it is listed under. So ordinary reads and acknowledgements cost next
to nothing, and a claim finds the oldest entry at the head. Released entries are in an index of
their own.

Guarantees: stale IDs are swept incrementally, some with each change, once there are more of them
than of the others. An iteration may be abandoned at any time.

Not here: whether an entry is pending, its owner and its delivery time
(storage/groups/pending_list.py). Times outside [0, 2**63) are not supported.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from heapq import merge
from itertools import accumulate, chain, compress, count, islice, takewhile
from operator import itemgetter, ne
from typing import TypeAlias

import cython

from storage.entries.entry_id import EntryID
from storage.groups.pending_block import ROWS_AT_ONCE, MemoryCounter, Row
from storage.groups.pending_list import PendingList
from storage.keyspace.deferred_free import BLOCK_ITEMS, RemovedData
from storage.keyspace.ordered_index import OrderedIndex
from storage.memory import COMPUTED_INT_BYTES, allocated_bytes, instance_bytes

# A part's key is the time that its first IDs are listed under, and a number that makes it unique.
NUMBER_BITS = 64

# A part with this many IDs takes no more at its end; one with twice as many, by insertions, is
# divided. Scanning a part takes less than a tenth of a millisecond.
PART_IDS = 1024

# Up to this many stale IDs are tolerated, whatever the number of pending entries.
SPARE_IDS = 1024

# The number of parts that are freed in a step.
PARTS_PER_STEP = 4

# A step of `tidy_up` sweeps as for this many changes: about a part.
TIDY_STEP = PART_IDS // 3

# The number of listed IDs that are swept for each one added or acknowledged: a round over all of
# them has to end well before as many are added.
SWEEP_FACTOR = 3

# Strays of a snapshot, (delivery time, ID) in ascending order, in batches.
_Run: TypeAlias = "deque[list[tuple[int, EntryID]]]"

# What a listed ID takes and what a time between them takes, each with its place in the list of a
# part, which has a sixteenth of its places to spare on average.
_ID_BYTES = allocated_bytes(1 << 100)
_PLACE_BYTES = 8 + 8 / 16
_LISTED_BYTES: cython.double = _ID_BYTES + _PLACE_BYTES
_TIME_BYTES: cython.double = COMPUTED_INT_BYTES + _PLACE_BYTES
_PART_BYTES: cython.long = allocated_bytes([])


@cython.cclass
class ClaimOrder:
    """The order of a group's pending entries; see the module."""

    __slots__ = (
        "_counted_bytes",
        "_credit",
        "_items",
        "_last",
        "_last_ms",
        "_line_end",
        "_line_ms",
        "_line_start",
        "_listed",
        "_loaded",
        "_numbers",
        "_parts",
        "_pending",
        "_released",
        "_room",
        "_sweep",
        "_counter",
        "lines",
        "releases",
    )

    def __init__(self, pending: PendingList) -> None:
        """`pending`: the group's pending entries list."""
        self._pending = pending
        self._counter: MemoryCounter = pending.counter
        self._counted_bytes = 0  # what is in the counter
        self._numbers = count()
        self.lines = 0  # the number of lines that were begun
        self.clear()

    def clear(self) -> None:
        """Remove everything."""
        # In a part, the item ~t means that the IDs after it are listed under the time t.
        self._parts: OrderedIndex = OrderedIndex()
        self._last: list[int] = []  # the part that takes what is delivered next
        self._last_ms = 0  # the greatest time so far
        self._room = 0  # how many IDs the last part still takes
        self._listed = 0  # IDs in all parts
        self._items = 0  # the same with the times between them
        self._sweep: Iterator[tuple[int, list[int]]] = iter(())
        self._credit = 0  # how many listed IDs the sweep may look at
        self._released: OrderedIndex = OrderedIndex()
        self.releases: OrderedIndex = OrderedIndex()  # by ID, their places in _released
        self._loaded: list[_Run] = []  # strays that are not listed yet, while they are loaded
        self._begin_line()
        self._settle()

    def take_apart(self) -> RemovedData:
        """Remove everything; return its containers, to be freed incrementally."""
        removed_data = RemovedData()
        removed_data.add(list(self._parts.values()), PARTS_PER_STEP)
        removed_data.add(self._released.take_blocks(), BLOCK_ITEMS)
        removed_data.add(self.releases.take_blocks(), BLOCK_ITEMS)
        self.clear()
        return removed_data

    # -- entries that are in line --------------------------------------------------------------

    @cython.cfunc
    def _begin_line(self) -> None:
        """Begin a new line, when nothing is in line."""
        self._line_start: EntryID = 0  # nothing below is in line
        self._line_end: EntryID = 0  # nor is anything above
        self._line_ms = 0  # when the last of the line was delivered
        self.lines += 1

    def join_line(self, delivery_ms: cython.long, first: EntryID, last: EntryID) -> bool:
        """Add entries that become pending, from `first` to `last`, to the end of the line.

        False if that is not their place in the order; then they must become strays.
        """
        if (
            first <= self._line_end
            or delivery_ms < self._line_ms
            # Strays of the same time were delivered before these.
            or (self._listed and delivery_ms <= self._last_ms)
        ):
            return False
        self._line_end = last
        self._line_ms = delivery_ms
        return True

    def _in_line(self) -> Iterator[Row]:
        """The entries that are in line."""
        line = self._pending.rows_in_line(self._line_start)
        first = next(line, None)
        # The next iteration can skip what is before. (After MAX_ID, compiled, it skips nothing.)
        self._line_start = self._line_end + 1 if first is None else first[0]
        if first is not None:
            yield first
            yield from line

    def line_from(self, start: EntryID) -> Iterator[Row]:
        """The entries that are in line and have this ID or a greater one, as `owned`."""
        return self._pending.rows_in_line(max(start, self._line_start))

    # -- strays --------------------------------------------------------------------------------

    def add(self, delivery_ms: int, ids: list[EntryID]) -> None:
        """Note that owned strays (at least one) have `delivery_ms` from now on."""
        self._listed += len(ids)
        if delivery_ms < self._last_ms:
            for start in range(0, len(ids), PART_IDS):
                self._insert(delivery_ms, ids[start : start + PART_IDS])
        elif len(ids) <= self._room:
            if delivery_ms > self._last_ms:
                self._last.append(~delivery_ms)
                self._last_ms = delivery_ms
                self._room -= 1
                self._items += 1
            self._last += ids
            self._room -= len(ids)
            self._items += len(ids)
        else:
            for start in range(0, len(ids), PART_IDS):
                self._last = self._open_part(delivery_ms, ids[start : start + PART_IDS])
            self._last_ms = delivery_ms
            self._room = PART_IDS - len(self._last)
        self.tidy(len(ids))
        self._settle()

    def load(self, deliveries_ms: list[int], ids: list[EntryID]) -> list[bool]:
        """Order entries, each with its time, after those that were loaded before.

        `ids` ascend. Returns which are strays: `list_strays` lists them when all are loaded.
        """
        line_ms = list(accumulate(deliveries_ms, max, initial=self._line_ms))
        self._line_ms = line_ms[-1]
        self._line_end = ids[-1]
        strays = list(map(ne, deliveries_ms, line_ms[1:]))
        self.load_strays(list(compress(deliveries_ms, strays)), list(compress(ids, strays)))
        return strays

    def load_strays(self, deliveries_ms: list[int], ids: list[EntryID]) -> None:
        """Take over strays, each with its time, for `list_strays`."""
        if not ids:
            return
        batch = sorted(zip(deliveries_ms, ids, strict=True))
        if self._loaded and self._loaded[-1][-1][-1] < batch[0]:
            self._loaded[-1].append(batch)
        else:
            self._loaded.append(deque([batch]))

    def list_strays(self) -> Iterator[None]:
        """List all strays that were loaded, the oldest delivery first, a part in each step.

        They are merged: sorting a million at once would take 0.2 s.
        """
        runs, self._loaded = self._loaded, []
        deliveries = merge(*map(_drained, runs))
        while some := list(islice(deliveries, PART_IDS)):
            start_ms = self._last_ms = some[0][0]
            self._last = []
            for delivery_ms, entry_id in some:
                if delivery_ms != self._last_ms:
                    self._last.append(~delivery_ms)
                    self._last_ms = delivery_ms
                self._last.append(entry_id)
            self._open_part(start_ms, self._last)
            self._room = PART_IDS - len(self._last)
            self._listed += len(some)
            self._settle()
            yield

    def _open_part(self, start_ms: int, items: list[int]) -> list[int]:
        """A new part that begins at this time."""
        self._items += len(items)
        self._parts[start_ms << NUMBER_BITS | next(self._numbers)] = items
        return items

    def _insert(self, delivery_ms: int, ids: list[EntryID]) -> None:
        """List IDs under a time that is not the last, after those of the same time."""
        before = (delivery_ms + 1 << NUMBER_BITS) - 1
        key, part = next(self._parts.items_down_from(before), (0, None))
        if part is None:
            self._open_part(delivery_ms, ids.copy())
            return
        time_ms = key >> NUMBER_BITS
        place = len(part)
        for index, item in enumerate(part):
            if item < 0:
                if ~item > delivery_ms:
                    place = index
                    break
                time_ms = ~item
        listed = ids if time_ms == delivery_ms else [~delivery_ms, *ids]
        part[place:place] = listed
        self._items += len(listed)
        if len(part) > 2 * PART_IDS:
            self._divide(key, part)

    def _divide(self, key: int, part: list[int]) -> None:
        """Split a part, or move half of it to the next."""
        middle = len(part) // 2
        upper = part[middle:]
        lower_times = [~item for item in part[: middle + 1] if item < 0]
        start_ms = lower_times[-1] if lower_times else key >> NUMBER_BITS
        del part[middle:]
        self._items -= len(upper)
        next_key, following = next(self._parts.items_from(key + 1), (0, None))
        if following is not None and next_key >> NUMBER_BITS == start_ms:
            # A part of its own would come after that one, in which later times may follow.
            ids = [item for item in upper if item >= 0]
            following[:0] = ids
            self._items += len(ids)
            if len(following) > 2 * PART_IDS:
                self._divide(next_key, following)
            return
        self._open_part(start_ms, upper)
        if part is self._last:
            self._last = upper

    # -- current entries -----------------------------------------------------------------------

    def _counting(self, key: int, part: list[int]) -> Iterator[tuple[int, list[Row]]]:
        """The entries whose IDs in a part count, some at a time: where the IDs begin, the entries.

        The part must stay as it is.
        """
        for index, time_ms, ids in _runs(key, part):
            rows = self._pending.strays_of(ids, time_ms)
            if rows:
                yield index + ids.index(rows[0][0]), rows

    def _strays(self) -> Iterator[Row]:
        """The strays, the oldest delivery first."""
        given: set[EntryID] = set()  # an ID may be listed twice
        key = -1
        while (found := next(self._parts.items_from(key + 1), None)) is not None:
            key, part = found
            counting = self._counting(key, part.copy())
            place, rows = next(counting, (0, []))
            if not rows:
                self._drop(key, part)
                continue
            if place > 1:  # the next iteration can skip what is before
                self._listed -= _ids_in(part[:place])
                self._items -= place - 1
                part[:place] = [~rows[0][2]]
            for _, found_rows in chain([(place, rows)], counting):
                for row in found_rows:
                    if row[0] not in given:
                        given.add(row[0])
                        yield row

    def strays_after(self, delivery_ms: int) -> Iterator[Row]:
        """The strays that were delivered after a time, as `owned`; one may come twice."""
        if not self._listed:
            return
        before = (delivery_ms + 1 << NUMBER_BITS) - 1
        key: int = next(self._parts.items_down_from(before), (before, None))[0]
        while (found := next(self._parts.items_from(key), None)) is not None:
            key, part = found
            for _, time_ms, ids in _runs(key, part.copy()):
                if time_ms > delivery_ms:
                    yield from self._pending.strays_of(ids, time_ms)
            key += 1

    def owned(self) -> Iterator[Row]:
        """The owned entries, the oldest delivery first.

        The entries are to stay as they are until the iteration ends.
        """
        line = self._in_line()
        strays = self._strays() if self._listed else iter(())
        stray = next(strays, None)
        if stray is None:
            yield from line
            return
        # Most strays were claimed, after all that is in line was delivered.
        for row in line:
            if row[2] > stray[2]:
                yield from merge(chain([row], line), chain([stray], strays), key=itemgetter(2))
                return
            yield row
        yield stray
        yield from strays

    def _drop(self, key: int, part: list[int]) -> None:
        """Drop a part in which no ID counts any more."""
        self._listed -= _ids_in(part)
        self._items -= len(part)
        part.clear()  # an iteration or a sweep may still reach it
        self._parts.pop(key)
        if part is self._last:
            self._room = 0
        self._settle()

    # -- sweeping ------------------------------------------------------------------------------

    def tidy(self, changes: cython.Py_ssize_t) -> None:
        """Sweep some IDs, after `changes` entries were added or removed."""
        if not self._pending.length:
            if self._listed:
                self.clear()
            else:
                self._begin_line()
            return
        if not self._listed or not self._lists_too_much:
            return
        self._credit += SWEEP_FACTOR * changes
        while self._credit > 0:
            key, part = next(self._sweep, (0, None))
            if part is None:
                self._sweep = self._parts.items()  # another round
                return
            self._credit -= len(part) + 1
            self._sweep_part(key, part)
        self._settle()

    @property
    def _lists_too_much(self) -> bool:
        return self._listed > 2 * self._pending.length + SPARE_IDS

    def tidy_up(self) -> Iterator[None]:
        """Sweep everything incrementally."""
        while self._lists_too_much:
            self.tidy(TIDY_STEP)
            yield

    def _sweep_part(self, key: int, part: list[int]) -> None:
        ids = sorted(item for item in part if item >= 0)
        if not self._pending.has_any(ids):  # the usual case, and quick
            self._drop(key, part)
            return
        kept: list[int] = []
        listed_ms = key >> NUMBER_BITS
        for _, rows in self._counting(key, part):
            if rows[0][2] != listed_ms:
                listed_ms = rows[0][2]
                kept.append(~listed_ms)
            kept += [row[0] for row in rows]
        self._listed -= len(ids) - _ids_in(kept)
        if part is self._last and listed_ms != self._last_ms:
            kept.append(~self._last_ms)
        self._items += len(kept) - len(part)
        part[:] = kept

    # -- entries that are released -------------------------------------------------------------

    @property
    def released_count(self) -> int:
        """The number of released entries."""
        return len(self.releases)

    def release(self, entry_id: EntryID) -> None:
        """Put an entry after all released ones, also if it was released already."""
        self.recall(entry_id)
        number = self.releases[entry_id] = next(self._numbers)
        self._released[number] = entry_id
        self._settle()

    def recall(self, entry_id: EntryID) -> None:
        """Remove an entry from the released ones, if it is one."""
        number = self.releases.pop(entry_id, None)
        if number is not None:
            self._released.pop(number)
            self._settle()

    def released(self) -> Iterator[EntryID]:
        """The released entries, the first release first."""
        for number, entry_id in self._released.items():
            if self.releases.get(entry_id) == number:
                yield entry_id

    # -- the whole -----------------------------------------------------------------------------

    def copy_from(self, other: ClaimOrder) -> None:
        """Become a copy, being empty, after the pending entries list has become one."""
        for key, part in other._parts.items():
            self._open_part(key >> NUMBER_BITS, part.copy())
        self._listed = other._listed
        self._last_ms = other._last_ms
        self._line_start = other._line_start
        self._line_end, self._line_ms = other._line_end, other._line_ms
        for entry_id in other.released():
            self.release(entry_id)
        self._settle()

    @cython.cfunc
    def _settle(self) -> None:
        """Bring the counter up to date."""
        size: cython.long = _OWN_BYTES + self.releases.memory_bytes()
        size += self._parts.memory_bytes() + self._released.memory_bytes()
        size += len(self._parts) * _PART_BYTES
        listed: cython.double = self._listed * _LISTED_BYTES
        size += int(listed + (self._items - self._listed) * _TIME_BYTES)
        if size != self._counted_bytes:
            self._counter.add(size - self._counted_bytes)
            self._counted_bytes = size


# With the iterators of the sweep and of the numbers.
_ITERATORS_BYTES: cython.long = allocated_bytes(iter(())) + allocated_bytes(count())
_OWN_BYTES: cython.long = instance_bytes(ClaimOrder) + _ITERATORS_BYTES


def _runs(key: int, part: list[int]) -> Iterator[tuple[int, int, list[EntryID]]]:
    """(place, time, IDs) of IDs that are listed side by side in a part, some at a time."""
    time_ms = key >> NUMBER_BITS
    start, end = 0, len(part)
    while start < end:
        if part[start] < 0:
            time_ms = ~part[start]
            start += 1
            continue
        ids = part[start : start + ROWS_AT_ONCE]
        if min(ids) < 0:
            ids = list(takewhile(_is_id, ids))
        yield start, time_ms, ids
        start += len(ids)


def _drained(run: _Run) -> Iterator[tuple[int, EntryID]]:
    """The strays of a run; each batch is freed when it has been read."""
    while run:
        yield from run.popleft()


def _is_id(item: int) -> bool:
    return item >= 0


def _ids_in(items: list[int]) -> int:
    """The number of IDs in a part."""
    return sum(item >= 0 for item in items)
