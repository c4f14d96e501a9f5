"""Consumer groups: the position of a group, its consumers and their pending entries.

A group's pending entries list (PEL) is the union of its consumers' and of the entries that were
released (XNACK, Redis 8.8) and have no consumer: storage/groups/pending_list.py.

Times, owners and delivery counts of pending entries are changed only by the group, which keeps the
order in which they become claimable (storage/groups/claim_order.py). A look-up returns a copy of a
pending entry. Methods that change one update the copy that is passed, and no other.

Times are Unix ms. The counters that a group keeps for XINFO (entries-read, lag) depend on the
stream: storage/stream.py moves and reads them.

`DeliveryLatency` is a histogram, of Prometheus's kind, of how long entries waited for their first
delivery: the time of the delivery less the one in the entry's ID. The bounds of the buckets are
powers of two from 1 ms to 524 s, so that they never change; a last bucket takes what waited longer.
IDs that are no times are left out; an ID slightly ahead of the clock has not waited. XADD counts
nothing. A delivery costs a few additions for each entry, compiled: about a nanosecond.

`References` are what deleting an entry does to references from groups (Redis 8.2).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from enum import Enum
from itertools import accumulate, compress, groupby
from operator import itemgetter

import cython

from storage.entries.entry_id import EntryID, EntryIDs
from storage.groups.claim_order import ClaimOrder
from storage.groups.pending_block import (
    BLOCK_ENTRIES,
    ConsumerPending,
    MemoryCounter,
    Owner,
    PendingEntry,
    Row,
)
from storage.groups.pending_list import PendingBlocks, PendingList
from storage.keyspace.deferred_free import BLOCK_ITEMS, Discard, RemovedData
from storage.memory import allocated_bytes, instance_bytes
from storage.policies.group_policy import GroupPolicy

if not cython.compiled:
    # Compiled, they are C functions, which the module's C types import.
    from storage.entries.entry_id import numbers_of
    from storage.memory import bytes_object_bytes, dict_bytes

# Times in IDs: from September 2001 until an hour ahead of the clock.
_FIRST_TIME_MS: cython.long = 10**12
_AHEAD_MS: cython.long = 3_600_000
# The bucket of all that waited longer than 2**19 ms.
_LAST: cython.int = 20

# The upper bounds of the others, in ms.
BOUNDS_MS = tuple(1 << place for place in range(20))


def is_time(ms: int, now_ms: int) -> bool:
    """Return True if the first half of an ID is a time (Unix ms)."""
    return _FIRST_TIME_MS <= ms <= now_ms + _AHEAD_MS


@cython.cclass
class DeliveryLatency:
    """The histogram of one group, or of all."""

    __slots__ = ("_counts", "total_ms")

    def __init__(self) -> None:
        self._counts: array[int] = array("Q", bytes(8 * (len(BOUNDS_MS) + 1)))
        self.total_ms = 0  # what all entries together have waited

    def observe(self, ids: EntryIDs, now_ms: cython.long) -> None:
        """Count the delivery of entries, whose IDs ascend, at `now_ms` (Unix ms)."""
        count: cython.Py_ssize_t = ids.count
        if count and not self._observe_alike(ids, count, now_ms):
            self._observe_each(ids, count, now_ms)

    def _observe_alike(self, ids: EntryIDs, count: cython.Py_ssize_t, now_ms: cython.long) -> bool:
        """Count entries that are all in one bucket, as those of a request mostly are."""
        numbers: cython.p_ulonglong = numbers_of(ids._numbers)
        counts: cython.p_ulonglong = numbers_of(self._counts)
        first_ms: cython.long = numbers[0]
        last_ms: cython.long = numbers[2 * count - 2]
        if not _FIRST_TIME_MS <= first_ms <= last_ms <= now_ms:
            return False
        bucket: cython.int = _bucket(now_ms - last_ms)
        if bucket < _LAST and now_ms - first_ms > 1 << bucket:
            return False
        added_ms: cython.ulonglong = 0
        place: cython.Py_ssize_t
        for place in range(count):
            added_ms += numbers[2 * place]
        counts[bucket] += count
        self.total_ms += count * now_ms - added_ms
        return True

    def _observe_each(self, ids: EntryIDs, count: cython.Py_ssize_t, now_ms: cython.long) -> None:
        numbers: cython.p_ulonglong = numbers_of(ids._numbers)
        counts: cython.p_ulonglong = numbers_of(self._counts)
        place: cython.Py_ssize_t
        added_ms: cython.long
        waited_ms: cython.long
        bucket: cython.int = _LAST
        for place in range(count):
            added_ms = numbers[2 * place]  # compiled, more than 63 bits are negative
            if _FIRST_TIME_MS <= added_ms <= now_ms + _AHEAD_MS:
                waited_ms = now_ms - added_ms if now_ms > added_ms else 0
                self.total_ms += waited_ms
                # Each has waited no longer than the one before.
                while bucket > 0 and waited_ms <= 1 << (bucket - 1):
                    bucket -= 1
                counts[bucket] += 1

    def cumulative(self) -> list[int]:
        """For each of BOUNDS_MS how many entries waited no longer; then the number of all."""
        return list(accumulate(self._counts))


def _bucket(waited_ms: cython.long) -> cython.int:
    """The first bucket whose bound is not exceeded."""
    bucket: cython.int = 0
    while bucket < _LAST and waited_ms > 1 << bucket:
        bucket += 1
    return bucket


# active_ms of a consumer to which no entry was ever delivered.
NEVER = -1


@cython.cclass
class Consumer(Owner):
    """A consumer of a group; it exists from its first attempt to read."""

    __slots__ = ("active_ms", "seen_ms")

    def __init__(self, name: bytes, now_ms: int) -> None:
        Owner.__init__(self, name)
        self.seen_ms = now_ms  # the last attempt to read or claim
        self.active_ms = NEVER  # the last time that it got an entry

    @property
    def pending(self) -> ConsumerPending:
        """Its own pending entries."""
        return ConsumerPending(self)


# entries_read of a group if the number of entries that it has read is not known.
UNKNOWN = -1

# The greatest delivery count, as in Redis 8.8.
MAX_DELIVERIES = 2**63 - 1

# delivery_ms of an entry that was released.
RELEASED_MS = 0

# When a consumer is deleted, this many of its entries are freed at once; the rest incrementally,
# with later changes or by `tidy_up`.
TIDIED_AT_ONCE = 1000

# How many pending entries a step of loading takes: whole blocks.
LOADED_AT_ONCE = 4 * BLOCK_ENTRIES

# The list of the blocks, of which there is at least one, and empty containers beside it.
_LISTS_BYTES = sum(map(allocated_bytes, ([None], [], {})))


@cython.cclass
class Group:
    """A consumer group of one stream."""

    __slots__ = (
        "_consumers_bytes",
        "_order",
        "consumers",
        "delivery_latency",
        "entries_read",
        "last_delivered_id",
        "name",
        "pending",
        "policy",
        "counter",
    )

    def __init__(
        self, name: bytes, last_delivered_id: EntryID, entries_read: int = UNKNOWN
    ) -> None:
        self.name = name
        self.last_delivered_id = last_delivered_id
        self.entries_read = entries_read
        self.counter: MemoryCounter = MemoryCounter()  # the memory of the group
        self.pending = PendingList(self.counter)
        self.consumers: dict[bytes, Consumer] = {}
        self._consumers_bytes = 0  # the memory of the dict, as far as it is in the counter
        self._order = ClaimOrder(self.pending)
        self.delivery_latency: DeliveryLatency | None = None  # of chosen groups (metrics)
        self.policy: GroupPolicy | None = None  # unless it was asked for
        self.counter.add(_OWN_BYTES + bytes_object_bytes(len(name)))
        self._count_consumers()

    # -- consumers -----------------------------------------------------------------------------

    def create_consumer(self, name: bytes, now_ms: int) -> Consumer:
        """Create a consumer; no consumer may have that name."""
        assert name not in self.consumers
        consumer = self.consumers[name] = Consumer(name, now_ms)
        self._note_new(consumer)
        return consumer

    @cython.cfunc
    def _note_new(self, consumer: Consumer) -> None:
        self.counter.add(_CONSUMER_BYTES + bytes_object_bytes(len(consumer.name)))
        consumer.settle(self.counter)
        self._count_consumers()

    @cython.cfunc
    def _count_consumers(self) -> None:
        size: cython.long = dict_bytes(self.consumers)
        self.counter.add(size - self._consumers_bytes)
        self._consumers_bytes = size

    def delete_consumer(self, name: bytes, discard: Discard | None = None) -> int:
        """Remove a consumer with its pending entries; return their number: 0 if there is none.

        Entries that were released (XNACK) are no longer the consumer's, and stay pending. `discard`
        gets the containers of the entries; without it they are freed at once.
        """
        consumer = self.consumers.pop(name, None)
        if consumer is None:
            return 0
        self.counter.add(-_CONSUMER_BYTES - bytes_object_bytes(len(name)))
        if self.policy is not None:
            self.policy.forget_owned(consumer)
        dropped = consumer.pending_count
        removed_data = RemovedData()
        removed_data.add(self.pending.depart(consumer), BLOCK_ITEMS)
        if not self.pending:
            removed_data.merge(self._order.take_apart())
        self._order.tidy(min(dropped, TIDIED_AT_ONCE))
        if discard is not None:
            discard(removed_data)
        return dropped

    def tidy_up(self) -> Iterator[None]:
        """Free the entries of deleted consumers incrementally."""
        yield from self.pending.clear_up()
        yield from self._order.tidy_up()

    def disband(self) -> RemovedData:
        """Detach all consumers and pending entries, when the group is destroyed.

        Consumers and pending entries refer to each other. Without these reference cycles their
        memory is freed without the garbage collector, together with the result.
        """
        removed_data = RemovedData()
        if not self.pending.is_untouched:
            removed_data = self._order.take_apart()
            for consumer in self.consumers.values():
                consumer.pending_blocks.clear()
                consumer.pending_count = 0
            removed_data.add(self.pending.take_blocks(), BLOCK_ITEMS)
        self.consumers.clear()
        if self.policy is not None:
            self.policy.leave()
            self.policy = None
        return removed_data

    # -- policy --------------------------------------------------------------------------------

    def make_policy(self) -> GroupPolicy:
        """The delivery policy of the group, which is made if there is none."""
        if self.policy is None:
            self.policy = GroupPolicy(self.pending, self._order)
        return self.policy

    def end_policy(self) -> None:
        """Drop a policy that is not needed."""
        if self.policy is not None and not self.policy.is_needed:
            self.policy.leave()
            self.policy = None

    # -- pending entries -----------------------------------------------------------------------

    def deliver(self, consumer: Consumer, ids: EntryIDs, now_ms: cython.long) -> None:
        """Record the delivery of the entries `ids` (ascending) to `consumer`.

        An ID may be pending already, if the group was set back (XGROUP SETID). It then changes its
        owner and starts again with one delivery, as in Redis 7.4.
        """
        pending = self.pending
        if ids.count and pending.reaches(ids.at(0)):
            ids = EntryIDs.of(
                [entry_id for entry_id in ids if not self._redeliver(consumer, entry_id, now_ms)]
            )
        if ids.count:
            are_strays = not self._order.join_line(now_ms, ids.at(0), ids.at(ids.count - 1))
            pending.extend(ids, consumer, now_ms, are_strays)
            if are_strays:
                self._order.add(now_ms, list(ids))

    def _redeliver(self, consumer: Consumer, entry_id: EntryID, now_ms: int) -> bool:
        entry = self.pending.get(entry_id)
        if entry is None:
            return False
        self.claim(entry, consumer, now_ms, 1)
        return True

    def acknowledge(self, entry_id: EntryID) -> bool:
        """Remove a pending entry (XACK); False if it is not pending."""
        if self.policy is not None:
            self.policy.forget([entry_id])
        if self._order.releases:
            self._order.recall(entry_id)
        return self.pending.remove(entry_id)

    def acknowledge_all(self, ids: EntryIDs) -> cython.Py_ssize_t:
        """Remove pending entries; return the number of those that were pending."""
        order = self._order
        policy = self.policy
        # A call would take longer than the rest.
        if policy is not None and (policy.reasons or policy.due.has_delays or policy.keys):
            policy.forget(ids)
        if order.releases:
            for entry_id in ids:
                order.recall(entry_id)
        acknowledged: cython.Py_ssize_t = self.pending.remove_all(ids)
        if acknowledged:
            order.tidy(acknowledged)
        return acknowledged

    def add(
        self,
        entry_id: EntryID,
        consumer: Consumer | None,
        delivery_ms: int,
        delivery_count: int,
    ) -> PendingEntry:
        """Make an entry pending that is not (XCLAIM and XNACK with FORCE).

        Without a consumer it is released from the start, whatever `delivery_ms` is.
        """
        assert entry_id not in self.pending
        delivery_count = min(delivery_count, MAX_DELIVERIES)
        if consumer is None:
            delivery_ms = RELEASED_MS
        entry = PendingEntry(entry_id, consumer, delivery_ms, delivery_count)
        is_stray = consumer is None or not self._order.join_line(delivery_ms, entry_id, entry_id)
        self.pending.add(entry, is_stray=is_stray)
        if consumer is None:
            self._order.release(entry_id)
        elif is_stray:
            self._order.add(delivery_ms, [entry_id])
        if self.policy is not None:
            self.policy.note([entry_id], delivery_ms, is_owned=consumer is not None)
        return entry

    def claim(
        self, entry: PendingEntry, consumer: Owner, delivery_ms: int, delivery_count: int
    ) -> None:
        """Give a pending entry to `consumer`, with this delivery time (Unix ms) and count."""
        is_released = entry.consumer is None
        if is_released:
            self._order.recall(entry.entry_id)
        is_moved = is_released or delivery_ms != entry.delivery_ms
        entry.consumer = consumer
        entry.delivery_ms = delivery_ms
        entry.delivery_count = min(delivery_count, MAX_DELIVERIES)
        self.pending.update(entry, becomes_stray=is_moved)
        if is_moved:
            self._order.add(delivery_ms, [entry.entry_id])
        if self.policy is not None:
            self.policy.note([entry.entry_id], delivery_ms)

    def claim_all(
        self,
        rows: list[Row],
        consumer: Consumer,
        delivery_ms: int,
        *,
        deliveries: int,
        count: int | None = None,
    ) -> list[int]:
        """Claim different pending entries as `claim` does; `deliveries` is added to their counts.

        `count`: the delivery count that is set instead, if given. Returns the new delivery counts.
        Fastest for consecutive pending entries.
        """
        if count is None:
            counts = [min(row[3] + deliveries, MAX_DELIVERIES) for row in rows]
        else:
            counts = [min(count, MAX_DELIVERIES)] * len(rows)
        if len(rows) == 1:
            self.claim(PendingEntry(*rows[0]), consumer, delivery_ms, counts[0])
            return counts
        ids = [row[0] for row in rows]
        if self._order.releases:
            for row in rows:
                if row[1] is None:
                    self._order.recall(row[0])
        is_moved = [row[2] != delivery_ms or row[1] is None for row in rows]
        for are_moved in set(is_moved):  # entries that keep their time keep their place
            chosen = [moved is are_moved for moved in is_moved]
            part, part_counts = list(compress(ids, chosen)), list(compress(counts, chosen))
            hand_over = part, consumer, delivery_ms, part_counts
            self.pending.hand_over(*hand_over, become_strays=are_moved)
            if are_moved:
                self._order.add(delivery_ms, part)
        if self.policy is not None:
            self.policy.note(ids, delivery_ms)
        return counts

    def transfer(self, rows: list[Row], consumer: Consumer) -> None:
        """Give pending entries to `consumer`; their delivery times and counts stay."""
        for delivery_ms, alike in groupby(rows, itemgetter(2)):
            part = list(alike)
            ids, counts = [row[0] for row in part], [row[3] for row in part]
            self.pending.hand_over(ids, consumer, delivery_ms, counts, become_strays=False)
            if self.policy is not None:
                self.policy.transfer(ids, consumer)

    # Reserved entries (KEY-FIELD) have an owner, but are not in the order of deliveries.

    def reserve(self, consumer: Consumer, ids: list[EntryID]) -> None:
        """Make new entries pending for a consumer that are not sent to it yet."""
        for entry_id in ids:
            self.pending.add(PendingEntry(entry_id, consumer, RELEASED_MS, 0), is_stray=True)

    def withhold(self, rows: list[Row], consumer: Consumer) -> None:
        """Give pending entries to a consumer, without sending them; their counts stay."""
        ids, counts = [row[0] for row in rows], [row[3] for row in rows]
        self.pending.hand_over(ids, consumer, RELEASED_MS, counts)
        assert self.policy is not None and self.policy.keys is not None
        self.policy.keys.hold(ids)

    def release(self, entry: PendingEntry, delivery_count: int, due_ms: int = 0) -> None:
        """Take a pending entry from its owner, for anyone to claim (XNACK).

        It is the last of those that are released, also if it was released before. `due_ms`: when
        it may be claimed (0: at once), which needs a policy.
        """
        entry.consumer = None
        entry.delivery_ms = RELEASED_MS
        entry.delivery_count = min(delivery_count, MAX_DELIVERIES)
        self.pending.update(entry, becomes_stray=True)
        self._order.release(entry.entry_id)
        if self.policy is not None:
            self.policy.release([entry.entry_id], [due_ms])

    def release_all(
        self, rows: list[Row], delivery_counts: list[int], dues_ms: list[int] | None = None
    ) -> None:
        """Release several different pending entries, in their order, as `release`."""
        if len(rows) == 1:
            due_ms = 0 if dues_ms is None else dues_ms[0]
            self.release(PendingEntry(*rows[0]), delivery_counts[0], due_ms)
            return
        ids = [row[0] for row in rows]
        counts = [min(count, MAX_DELIVERIES) for count in delivery_counts]
        self.pending.hand_over(ids, None, RELEASED_MS, counts)
        for entry_id in ids:
            self._order.release(entry_id)
        if self.policy is not None:
            self.policy.release(ids, dues_ms or [0] * len(ids))

    # -- what can be claimed -------------------------------------------------------------------

    @property
    def nacked_count(self) -> int:
        """The number of pending entries without an owner (released by XNACK)."""
        return self._order.released_count

    def nacked(self) -> Iterator[PendingEntry]:
        """The released entries, in the order of their releases."""
        return (self.pending[entry_id] for entry_id in self.nacked_ids())

    def nacked_ids(self) -> Iterator[EntryID]:
        """Their IDs, in the same order."""
        return self._order.released()

    def claimable(self, now_ms: int, min_idle_ms: int) -> Iterator[Row]:
        """Iterate over the entries that XREADGROUP with CLAIM may take, in this order.

        First released entries, then the oldest deliveries that are idle for `min_idle_ms` or
        longer. They must not change until the iteration ends.
        """
        if self.policy is None:
            return self._claimable(now_ms, min_idle_ms)
        due = self.policy.due
        rows = self._claimable(now_ms, min_idle_ms)
        return (row for row in rows if due.may_be_claimed(row, now_ms))

    def _claimable(self, now_ms: int, min_idle_ms: int) -> Iterator[Row]:
        for entry in self.nacked():
            yield entry.entry_id, None, entry.delivery_ms, entry.delivery_count
        owned = self._order.owned()
        if not min_idle_ms:
            yield from owned
            return
        for row in owned:
            if now_ms - row[2] < min_idle_ms:
                return
            yield row

    def oldest_delivery_ms(self) -> int | None:
        """When the entry that is claimable first was delivered: 0 if one is released.

        None if nothing is pending.
        """
        if self.nacked_count:
            return RELEASED_MS
        oldest = next(self._order.owned(), None)
        return None if oldest is None else oldest[2]

    # -- from a snapshot -----------------------------------------------------------------------
    # First all entries become pending and are ordered, then consumers get their own, and the rest
    # must have been released. In between, the group must not be used. Each call takes up to
    # LOADED_AT_ONCE entries.

    def load_pending(
        self, ids: list[EntryID], deliveries_ms: list[int], delivery_counts: list[int]
    ) -> None:
        """Make entries pending that are above all others. `ids` ascend.

        All calls but the last should be of LOADED_AT_ONCE entries, which fill blocks.
        """
        if max(delivery_counts) > MAX_DELIVERIES:
            delivery_counts = [min(count, MAX_DELIVERIES) for count in delivery_counts]
        strays = self._order.load(deliveries_ms, ids)
        self.pending.load(ids, deliveries_ms, delivery_counts, strays)

    def load_strays(
        self, ids: list[EntryID], deliveries_ms: list[int], delivery_counts: list[int]
    ) -> EntryID | None:
        """Make entries pending that come in any order.

        Returns an ID that is pending already; None if all is well.
        """
        for row in zip(ids, deliveries_ms, delivery_counts, strict=True):
            entry_id, delivery_ms, count = row
            if entry_id in self.pending:
                return entry_id
            entry = PendingEntry(entry_id, None, delivery_ms, min(count, MAX_DELIVERIES))
            self.pending.add(entry, is_stray=True)
        self._order.load_strays(deliveries_ms, ids)
        return None

    def order_pending(self) -> Iterator[None]:
        """Order all entries that were made pending, incrementally."""
        return self._order.list_strays()

    def load_owned(self, consumer: Consumer, ids: list[EntryID]) -> EntryID | None:
        """Give `consumer` entries of its own. `ids` ascend.

        Returns an ID that is not pending, or has an owner already; None if all is well.
        """
        return self.pending.give(consumer, ids)

    def load_released(self, ids: list[EntryID]) -> EntryID | None:
        """Set released entries, in the order of their releases.

        Returns an ID that is not pending, or has an owner, or comes twice; None if all is well.
        """
        rows: dict[EntryID, Row] = {}
        for entry_id, row in zip(ids, self.pending.rows_of(ids), strict=True):
            is_released = entry_id in self._order.releases or entry_id in rows
            if row is None or row[1] is not None or is_released:
                return entry_id
            rows[entry_id] = row
        if rows:
            self.release_all(list(rows.values()), [row[3] for row in rows.values()])
        return None

    @property
    def is_loaded(self) -> bool:
        """True if each pending entry has an owner, or is released."""
        owned_count = sum(consumer.pending_count for consumer in self.consumers.values())
        return owned_count + self.nacked_count == len(self.pending)

    # -- the whole -----------------------------------------------------------------------------

    def copy(self) -> Group:
        """An independent group with the same consumers and pending entries."""
        twin = Group(self.name, self.last_delivered_id, self.entries_read)
        twins: dict[Owner | None, Owner | None] = {None: None}
        for name, consumer in self.consumers.items():
            other = twin.consumers[name] = Consumer(name, consumer.seen_ms)
            other.active_ms = consumer.active_ms
            twins[consumer] = other
            twin._note_new(other)
        if self.pending.length:
            twin.pending.copy_from(self.pending, twins)
            twin._order.copy_from(self._order)
        if self.policy is not None:
            twin.policy = self.policy.copy(twin.pending, twin._order)
        return twin

    @property
    def in_flight_count(self) -> int:
        """The number of pending entries that are neither released nor reserved."""
        reserved = 0 if self.policy is None else self.policy.reserved_count
        return self.pending.length - self.nacked_count - reserved

    def longest_owned_ms(self) -> int | None:
        """When the entry was delivered whose delivery is furthest back; None if none has an owner.

        Unix ms.
        """
        owned = self._order.owned()
        if self.policy is not None and self.policy.keys is not None:
            reserved = self.policy.keys.reserved
            owned = (row for row in owned if row[0] not in reserved)
        oldest = next(owned, None)
        return None if oldest is None else oldest[2]

    def has_idle(self, since_ms: int) -> bool:
        """Return True if an entry has no owner, or was last delivered at `since_ms` or before.

        Reserved entries (KEY-FIELD) have never been.
        """
        if self._order.releases or (self.policy is not None and self.policy.reserved_count):
            return True
        oldest_ms = self.longest_owned_ms()
        return oldest_ms is not None and oldest_ms <= since_ms

    def memory_bytes(self) -> int:
        """The memory of the group in bytes, consumers and PELs included."""
        return self.counter.total_bytes


_OWN_BYTES: cython.long = (
    sum(map(instance_bytes, (Group, MemoryCounter, PendingList, PendingBlocks))) + _LISTS_BYTES
)
_CONSUMER_BYTES: cython.long = instance_bytes(Consumer)


class References(Enum):
    """The options of a deletion for pending entries lists (Redis 8.2)."""

    KEEP = "KEEPREF"  # delete the entry; it stays pending
    DELETE = "DELREF"  # delete the entry, also from all pending entries lists
    ACKED = "ACKED"  # delete the entry if every group has read and acknowledged it


class Traces:
    """What a trim with DELREF or ACKED has removed, for those that must do the same."""

    __slots__ = ("dropped", "removed")

    def __init__(self) -> None:
        self.removed: list[EntryID] = []  # entries
        self.dropped: dict[bytes, list[EntryID]] = {}  # references, by group

    def drop_references(self, groups: dict[bytes, Group], start: EntryID, end: EntryID) -> None:
        """Remove what is pending from `start` to below `end`, whether the entries exist or not."""
        for name, group in groups.items():
            ids = group.pending.ids_between(start, end)
            if ids:
                group.acknowledge_all(EntryIDs.of(ids))
                self.dropped[name] = ids
