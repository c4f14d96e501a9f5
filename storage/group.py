"""Consumer groups: who was given which entry, and has not acknowledged it yet.

A pending entry is one object that is reached from its group's pending entries list (PEL) and from
its consumer's. The two lists always agree: a group's PEL is the union of its consumers'.

Times are Unix ms. The counters that a group keeps for XINFO (entries-read, lag) depend on the
stream: storage/stream.py moves and reads them.
"""

from __future__ import annotations

import sys

from storage.entry_id import EntryID
from storage.ordered_index import OrderedIndex

# entries_read of a group that does not know how many entries it was given.
UNKNOWN = -1

# active_ms of a consumer that was never given an entry.
NEVER = -1


class PendingEntry:
    """An entry that a consumer was given and has not acknowledged."""

    __slots__ = ("consumer", "delivery_count", "delivery_ms", "entry_id")

    def __init__(
        self, entry_id: EntryID, consumer: Consumer, delivery_ms: int, delivery_count: int
    ) -> None:
        self.entry_id = entry_id
        self.consumer = consumer
        self.delivery_ms = delivery_ms
        self.delivery_count = delivery_count


class Consumer:
    """A consumer of a group; it exists from its first attempt to read."""

    __slots__ = ("active_ms", "name", "pending", "seen_ms")

    def __init__(self, name: bytes, now_ms: int) -> None:
        self.name = name
        self.seen_ms = now_ms  # the last attempt to read or claim
        self.active_ms = NEVER  # the last time that it got something
        self.pending: OrderedIndex[PendingEntry] = OrderedIndex()


class Group:
    """A consumer group of one stream."""

    __slots__ = ("consumers", "entries_read", "last_delivered_id", "name", "pending")

    def __init__(
        self, name: bytes, last_delivered_id: EntryID, entries_read: int = UNKNOWN
    ) -> None:
        self.name = name
        self.last_delivered_id = last_delivered_id
        self.entries_read = entries_read
        self.pending: OrderedIndex[PendingEntry] = OrderedIndex()
        self.consumers: dict[bytes, Consumer] = {}

    # -- consumers -----------------------------------------------------------------------------

    def create_consumer(self, name: bytes, now_ms: int) -> Consumer:
        """A new consumer; there must be none of that name."""
        assert name not in self.consumers
        consumer = self.consumers[name] = Consumer(name, now_ms)
        return consumer

    def delete_consumer(self, name: bytes) -> int:
        """Remove a consumer with its pending entries; how many these were. 0 if there is none."""
        consumer = self.consumers.pop(name, None)
        if consumer is None:
            return 0
        dropped = len(consumer.pending)
        for entry_id in consumer.pending:
            self.pending.pop(entry_id)
        consumer.pending.clear()
        return dropped

    def disband(self) -> None:
        """Let go of all consumers and pending entries, when the group itself goes.

        Consumers and pending entries refer to each other. To break these circles here gives
        their memory back at once, whenever the garbage collector may next look.
        """
        for consumer in self.consumers.values():
            consumer.pending.clear()
        self.pending.clear()
        self.consumers.clear()

    # -- pending entries -----------------------------------------------------------------------

    def deliver(self, consumer: Consumer, ids: list[EntryID], now_ms: int) -> None:
        """Note that `consumer` was given the entries `ids` (ascending).

        An ID may be pending already, if the group was set back (XGROUP SETID). It then changes
        hands and starts anew with one delivery, as in Redis (reference 1.8).
        """
        pending = self.pending
        if ids and pending and (last := pending.last_key()) is not None and ids[0] <= last:
            ids = [entry_id for entry_id in ids if not self._redeliver(consumer, entry_id, now_ms)]
        entries = [PendingEntry(entry_id, consumer, now_ms, 1) for entry_id in ids]
        pending.extend(ids, entries)
        consumer.pending.extend(ids, entries)

    def _redeliver(self, consumer: Consumer, entry_id: EntryID, now_ms: int) -> bool:
        entry = self.pending.get(entry_id)
        if entry is None:
            return False
        self.assign(entry, consumer)
        entry.delivery_ms = now_ms
        entry.delivery_count = 1
        return True

    def acknowledge(self, entry_id: EntryID) -> bool:
        """Remove a pending entry (XACK); False if it is not pending."""
        entry = self.pending.pop(entry_id)
        if entry is None:
            return False
        entry.consumer.pending.pop(entry_id)
        return True

    drop = acknowledge

    def add(
        self, entry_id: EntryID, consumer: Consumer, delivery_ms: int, delivery_count: int
    ) -> PendingEntry:
        """Make an entry pending that is not (XCLAIM with FORCE)."""
        assert entry_id not in self.pending
        entry = PendingEntry(entry_id, consumer, delivery_ms, delivery_count)
        self.pending[entry_id] = entry
        consumer.pending[entry_id] = entry
        return entry

    def assign(self, entry: PendingEntry, consumer: Consumer) -> None:
        """Hand a pending entry over to `consumer`; its time and count stay."""
        if entry.consumer is not consumer:
            entry.consumer.pending.pop(entry.entry_id)
            entry.consumer = consumer
            consumer.pending[entry.entry_id] = entry

    # -- the whole -----------------------------------------------------------------------------

    def copy(self) -> Group:
        """An independent group with the same consumers and pending entries."""
        twin = Group(self.name, self.last_delivered_id, self.entries_read)
        for name, consumer in self.consumers.items():
            other = twin.consumers[name] = Consumer(name, consumer.seen_ms)
            other.active_ms = consumer.active_ms
        for entry in self.pending.values():
            owner = twin.consumers[entry.consumer.name]
            twin.add(entry.entry_id, owner, entry.delivery_ms, entry.delivery_count)
        return twin

    def memory_bytes(self) -> int:
        """An estimate of the memory that the group takes, consumers and PELs included."""
        size = sys.getsizeof(self) + sys.getsizeof(self.consumers) + self.pending.memory_bytes()
        for consumer in self.consumers.values():
            size += sys.getsizeof(consumer) + sys.getsizeof(consumer.name)
            size += consumer.pending.memory_bytes()
        if self.pending:
            # Every entry is an object and an ID; the indexes counted their references to them.
            entry = next(self.pending.values())
            size += len(self.pending) * (sys.getsizeof(entry) + sys.getsizeof(entry.entry_id))
        return size
