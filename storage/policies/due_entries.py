"""The pending entries of a group in the order in which they fall due.

An entry that a consumer owns is due when its deadline (the delivery and ACK-WAIT) and the pause
that its number of deliveries asks for (BACKOFF) are over. An entry that was released is due at the
time that was set for it, or at once.

Nothing is stored for an entry that is acknowledged before its deadline: deliveries are in the claim
order of the group already (storage/groups/claim_order.py), and a look moves those whose deadline is
over from there into heaps, by cursors. `quiet_until_ms` is the time before which no look is needed
and nothing is due, so that a read costs one comparison where nothing falls due. The items of the
heaps only count as long as the pending entry is due at that time: changes add items and remove
none. A look moves a limited number of entries; what is left is moved by the next one.

An entry that has had its last delivery (`is_exhausted`) goes to a heap of its own when its deadline
is over, for whoever moves the dead letters.

`DeliveryOptions` are the options of a group's delivery policy (XGROUP CONFIG):

    ACK-WAIT           working time of a delivery, in ms
    BACKOFF            the pauses before the next deliveries, in ms; the last one repeats
    MAX-DELIVERIES     the number of deliveries after which an entry goes to the dead letters
    DEAD-LETTER        the key of the stream of dead letters
    MAX-PENDING        the number of entries that may be in flight
    CONSUMER-EXPIRY    how long a consumer may be idle, in ms
    KEY-FIELD          the field by whose value entries are ordered (storage/policies/key_order.py)
    KEY-LOOKAHEAD      the number of entries that may be reserved; 0: the default
    KEY-LOOKAHEAD-KEY  the same, of one key

Each of the others is 0 or empty where it is off. With KEY-FIELD, a reserved entry is not due, and
of the entries that consumers have of a key only the first.

Leaves out: who gets an entry (commands/streams/groups), and timers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from protocol.records import frozen_record
from storage.entries.entry_id import MAX_ID, EntryID
from storage.groups.claim_order import ClaimOrder
from storage.groups.pending_block import MemoryCounter, Row
from storage.groups.pending_list import PendingList
from storage.keyspace.ordered_index import OrderedIndex
from storage.memory import allocated_bytes
from storage.policies.key_order import KeyOrder

# The number of entries that a look moves from each of its sources.
MOVED_AT_ONCE = 1000

# The items of each heap that a census looks at, and a large prime that scatters them: at a regular
# distance they would be of one kind, as left and right children are.
SAMPLED = 500
SPREAD = 2_654_435_761

# Up to this many stale items are tolerated, whatever the number of pending entries.
SPARE_ITEMS = 1024

# No entry falls due.
NEVER_MS = 1 << 62

WORDS = [
    b"ACK-WAIT", b"BACKOFF", b"MAX-DELIVERIES", b"DEAD-LETTER", b"MAX-PENDING", b"CONSUMER-EXPIRY",
]  # fmt: skip
KEY_WORDS = [b"KEY-FIELD", b"KEY-LOOKAHEAD", b"KEY-LOOKAHEAD-KEY"]

# An item of a heap is a time (ms) and an ID, in one number.
_ID_BITS = 128
_ITEM_BYTES = allocated_bytes(1 << 170) + 9


@frozen_record
class DeliveryOptions:
    """The options of one group; see the module."""

    ack_wait_ms: int = 0
    backoff_ms: tuple[int, ...] = ()
    max_deliveries: int = 0
    dead_letter: bytes = b""
    dead_letter_user: bytes = b""  # who configured DEAD-LETTER, and must have the right to it
    max_pending: int = 0
    consumer_expiry_ms: int = 0
    key_field: bytes = b""
    key_lookahead: int = 0
    key_lookahead_of_key: int = 0

    @property
    def asks_each_read(self) -> bool:
        """True if each read must ask what it may deliver, also of new entries."""
        return self.max_deliveries == 1 or bool(self.key_field)

    def pause_ms(self, deliveries: int) -> int:
        """The pause before the next delivery of an entry that had this number."""
        if not self.backoff_ms:
            return 0
        return self.backoff_ms[min(max(deliveries, 1), len(self.backoff_ms)) - 1]

    def words(self) -> list[bytes]:
        """All options, as the words of XGROUP CONFIG that set them."""
        words = [b"ACK-WAIT", b"%d" % self.ack_wait_ms, b"BACKOFF"]
        words += [b"%d" % pause_ms for pause_ms in self.backoff_ms or (0,)]
        words += [
            b"MAX-DELIVERIES", b"%d" % self.max_deliveries, b"DEAD-LETTER", self.dead_letter,
            b"MAX-PENDING", b"%d" % self.max_pending,
            b"CONSUMER-EXPIRY", b"%d" % self.consumer_expiry_ms,
        ]  # fmt: skip
        if self.key_field:
            words += [
                b"KEY-FIELD", self.key_field, b"KEY-LOOKAHEAD", b"%d" % self.key_lookahead,
                b"KEY-LOOKAHEAD-KEY", b"%d" % self.key_lookahead_of_key,
            ]  # fmt: skip
        return words

    @classmethod
    def from_words(cls, user: bytes, words: list[bytes]) -> DeliveryOptions:
        """The options by `words`, all of them, set by a user. Raises ValueError."""
        end = next(place for place in range(3, len(words)) if not words[place].isdigit())
        names = [words[0], words[2], *words[end::2]]
        if names not in (WORDS, WORDS + KEY_WORDS):
            raise ValueError(f"the options of a group are {names!r}")
        pauses = tuple(map(int, words[3:end]))
        most, letters, pending, expiry, *keys = words[end + 1 :: 2]
        options = cls(
            int(words[1]), pauses if any(pauses) else (), int(most), letters, user, int(pending),
            int(expiry),
        )  # fmt: skip
        if not keys:
            return options
        return replace(
            options,
            key_field=keys[0],
            key_lookahead=int(keys[1]),
            key_lookahead_of_key=int(keys[2]),
        )


class Census(NamedTuple):
    """Numbers of pending entries: due, in a pause, and owned ones whose deadline is over."""

    due: int
    in_pause: int
    overtime: int


class DueEntries:
    """When the pending entries of a group fall due; see the module."""

    __slots__ = (
        "_counted_bytes", "_deadline_ms", "_delays", "_dying", "_line_id", "_lines", "_options",
        "_order", "_owned", "_passed_ms", "_pending", "_released", "_strays_ms", "_counter",
        "has_delays", "keys", "not_before_ms", "quiet_until_ms",
    )  # fmt: skip

    def __init__(self, pending: PendingList, order: ClaimOrder) -> None:
        self._pending = pending
        self._order = order
        self._counter: MemoryCounter = pending.counter
        self._counted_bytes = 0
        self._options = DeliveryOptions()
        self._delays = OrderedIndex()  # when released entries fall due, by ID, unless at once
        self.has_delays = False  # the index has items
        self.not_before_ms = 0  # no deadline is before (after a start or a promotion)
        self.keys: KeyOrder | None = None  # KEY-FIELD
        self._reset()

    def configure(self, options: DeliveryOptions) -> None:
        """Apply other options, to entries that are pending already as well."""
        self._options = options
        self._reset()
        for entry_id in self._order.released():
            self._push_released(self._pending.rows_of([entry_id])[0])
        self._settle()

    def _reset(self) -> None:
        self._owned: list[int] = []
        self._released: list[int] = []
        self._dying: list[int] = []
        # All entries in line below an ID, and all strays that were delivered up to a time, were
        # moved; and nothing that was delivered later than the third.
        self._lines = self._order.lines
        self._line_id: EntryID = 0
        self._strays_ms = self._passed_ms = -1
        self._deadline_ms = 0  # of the entries that were not moved, at the earliest
        self.quiet_until_ms = 0

    def begin_at(self, not_before_ms: int) -> None:
        """Set the time before which there is no deadline."""
        if not_before_ms != self.not_before_ms:
            self.not_before_ms = not_before_ms
            self._deadline_ms = self.quiet_until_ms = 0

    # -- single entries ------------------------------------------------------------------------

    def is_exhausted(self, deliveries: int) -> bool:
        """Return True if an entry with this delivery count is not delivered again."""
        return 0 < self._options.max_deliveries <= deliveries

    def may_be_claimed(self, row: Row, now_ms: int) -> bool:
        """Return True if CLAIM and XAUTOCLAIM may take an entry, as far as a policy goes."""
        if self.keys is not None and not self.keys.may_be_claimed(row[0]):
            return False
        return not self.is_exhausted(row[3]) and (
            row[1] is not None or self.delay_ms(row[0]) <= now_ms
        )

    def may_fall_due(self, row: Row) -> bool:
        """Return True if a read gives an entry some time, if it is not acknowledged."""
        if self.keys is not None and not self._has_turn(row, NEVER_MS):
            return False
        return self._options.ack_wait_ms > 0 and not self.is_exhausted(row[3])

    def deadline_ms(self, row: Row) -> int:
        """When the working time of an owner is over."""
        return max(row[2] + self._options.ack_wait_ms, self.not_before_ms)

    def due_ms(self, row: Row) -> int:
        """When an entry may be delivered again, or is dead."""
        if row[1] is None:
            return self.delay_ms(row[0])
        pause_ms = 0 if self.is_exhausted(row[3]) else self._options.pause_ms(row[3])
        return row[2] + self._options.ack_wait_ms + pause_ms

    def delay_ms(self, entry_id: EntryID) -> int:
        """When a released entry falls due; 0: at once."""
        return self._delays.get(entry_id) or 0

    def delays(self) -> Iterator[tuple[EntryID, int]]:
        """The released entries that do not fall due at once: (ID, Unix ms)."""
        return self._delays.items()

    # -- changes -------------------------------------------------------------------------------

    def note(self, ids: list[EntryID], delivery_ms: int) -> None:
        """Entries have an owner, whom they were delivered to at this time."""
        if self.has_delays:
            self.forget(ids)
        if not self._options.ack_wait_ms:
            return
        if delivery_ms <= self._passed_ms:  # the cursors do not pass there again
            for row in self._pending.rows_of(ids):
                self._push_owned(row)
            self._settle()
        self.note_time(delivery_ms)

    def note_time(self, delivery_ms: int) -> None:
        """An entry was delivered at this time, which may be in the past."""
        if self._options.ack_wait_ms:
            deadline_ms = max(delivery_ms + self._options.ack_wait_ms, self.not_before_ms)
            self._deadline_ms = min(self._deadline_ms, deadline_ms)
            self.quiet_until_ms = min(self.quiet_until_ms, deadline_ms)

    def release(self, ids: list[EntryID], dues_ms: list[int]) -> None:
        """Entries were released, and fall due at these times (0: at once)."""
        for entry_id, due_ms in zip(ids, dues_ms, strict=True):
            if due_ms:
                self._delays[entry_id] = due_ms
            elif self.has_delays:
                self._delays.pop(entry_id)
        self.has_delays = len(self._delays) > 0
        for row in self._pending.rows_of(ids):
            self._push_released(row)
        self._settle()

    def forget(self, ids: list[EntryID]) -> None:
        """Entries are not released any more."""
        for entry_id in ids:
            self._delays.pop(entry_id)
        self.has_delays = len(self._delays) > 0
        self._settle()

    def watch(self, row: Row) -> None:
        """An entry may fall due that did not count before (KEY-FIELD)."""
        if row[1] is None:
            self._push_released(row)
        elif self._options.ack_wait_ms and row[2] <= self._passed_ms:
            self._push_owned(row)
        self._settle()

    def _has_turn(self, row: Row, when_ms: int) -> bool:
        """Return True if an entry is one that decides about its key (KEY-FIELD), at a time."""
        assert self.keys is not None
        if row[1] is None:
            first_id = self.keys.first_at(row[0], when_ms)
            first = None if first_id is None else self._pending.rows_of([first_id])[0]
            return first is not None and not self.is_exhausted(first[3])
        return self.keys.is_deadline(row[0])

    # -- heaps ---------------------------------------------------------------------------------

    def _push(self, heap: list[int], when_ms: int, entry_id: EntryID) -> None:
        heappush(heap, when_ms << _ID_BITS | entry_id)
        self.quiet_until_ms = min(self.quiet_until_ms, when_ms)
        if len(heap) > 2 * self._pending.length + SPARE_ITEMS:
            heap[:] = [item for item in set(heap) if self._counts(heap, item, self._row_at(item))]
            heapify(heap)

    def _push_owned(self, row: Row | None) -> None:
        assert row is not None
        heap = self._dying if self.is_exhausted(row[3]) else self._owned
        self._push(heap, max(self.due_ms(row), 0), row[0])

    def _push_released(self, row: Row | None) -> None:
        assert row is not None
        heap = self._dying if self.is_exhausted(row[3]) else self._released
        self._push(heap, self.due_ms(row), row[0])

    def _row_at(self, item: int) -> Row | None:
        return self._pending.rows_of([item & MAX_ID])[0]

    def _counts(self, heap: list[int], item: int, row: Row | None) -> bool:
        """Return True if an item says when its entry, which is pending as `row`, is due."""
        if row is None:
            return False
        if heap is self._dying:
            return self.is_exhausted(row[3])
        is_of_heap = (row[1] is None) is (heap is self._released)
        is_current = max(self.due_ms(row), 0) == item >> _ID_BITS
        if self.keys is not None and is_current and not self._has_turn(row, item >> _ID_BITS):
            return False
        return is_of_heap and is_current and not self.is_exhausted(row[3])

    def _head(self, heap: list[int], now_ms: int) -> Row | None:
        """The entry of the first item, if it is due; items that do not count are dropped."""
        while heap and heap[0] >> _ID_BITS <= now_ms:
            row = self._row_at(heap[0])
            if self._counts(heap, heap[0], row):
                return row
            heappop(heap)
        return None

    # -- looking -------------------------------------------------------------------------------

    def look(self, now_ms: int) -> None:
        """Move entries whose deadline is over into the heaps."""
        self._deadline_ms = NEVER_MS
        wait_ms = self._options.ack_wait_ms
        if wait_ms and now_ms < self.not_before_ms:
            self._deadline_ms = self.not_before_ms
        elif wait_ms:
            limit_ms = now_ms - wait_ms
            next_ms = min(self._move_line(limit_ms), self._move_strays(limit_ms))
            # That of an entry that is delivered from now on, at the latest.
            self._deadline_ms = min(next_ms + wait_ms, now_ms + wait_ms)
        for heap in (self._owned, self._dying, self._released):
            self._head(heap, now_ms)  # drops what does not count
        quiet_until_ms = min(self.next_due_ms(has_room=True), self.next_dead_ms())
        self.quiet_until_ms = 0 if self._options.asks_each_read else quiet_until_ms
        self._settle()

    def next_due_ms(self, *, has_room: bool) -> int:
        """When the next entry falls due, or a look is needed to know; without room: as `take`."""
        heads = [self._owned[0] >> _ID_BITS] if self._owned else []
        times = [self._deadline_ms, *(max(head, self.not_before_ms) for head in heads)]
        if self._released and has_room:
            times.append(self._released[0] >> _ID_BITS)
        return min(times)

    def next_dead_ms(self) -> int:
        """When the next entry is dead, or a look is needed to know."""
        if not self._dying:
            return self._deadline_ms
        return min(self._deadline_ms, max(self._dying[0] >> _ID_BITS, self.not_before_ms))

    def _move_line(self, limit_ms: int) -> int:
        """Move entries that are in line; when the next one was delivered."""
        order = self._order
        if self._lines != order.lines:
            self._lines, self._line_id = order.lines, 0
        for moved, row in enumerate(order.line_from(self._line_id)):
            if row[2] > limit_ms or moved == MOVED_AT_ONCE:
                return row[2]
            self._push_owned(row)
            self._line_id = min(row[0] + 1, MAX_ID)
            self._passed_ms = max(self._passed_ms, row[2])
        return NEVER_MS

    def _move_strays(self, limit_ms: int) -> int:
        """Move strays, all that were delivered at one time together; see `_move_line`."""
        for moved, row in enumerate(self._order.strays_after(self._strays_ms)):
            if row[2] > limit_ms or (moved >= MOVED_AT_ONCE and row[2] > self._strays_ms):
                return row[2]
            self._push_owned(row)
            self._strays_ms = row[2]
            self._passed_ms = max(self._passed_ms, row[2])
        return NEVER_MS

    def take(self, now_ms: int, *, has_room: bool = True) -> Row | None:
        """The entry that was due first, which is not given again; None if there is none.

        Without room, only an entry with an owner. Follows a `look`.
        """
        owned = self._head(self._owned, now_ms if now_ms >= self.not_before_ms else -1)
        released = self._head(self._released, now_ms) if has_room else None
        if owned is not None and (released is None or self._owned[0] < self._released[0]):
            heappop(self._owned)
            return owned
        if released is not None:
            heappop(self._released)
        return released

    def put_back(self, row: Row) -> None:
        """Take back an entry that was not delivered after all."""
        (self._push_released if row[1] is None else self._push_owned)(row)

    def has_due(self, now_ms: int, *, has_room: bool = True) -> bool:
        """Return True if `take` would give an entry."""
        row = self.take(now_ms, has_room=has_room)
        if row is not None:
            self.put_back(row)
        return row is not None

    def take_dying(self, now_ms: int) -> Row | None:
        """An entry that is dead, which is not given again until `retry_dying`; None: none is."""
        while self._dying and self._dying[0] >> _ID_BITS <= now_ms >= self.not_before_ms:
            row = self._row_at(heappop(self._dying))
            if row is not None and self.is_exhausted(row[3]) and self.due_ms(row) <= now_ms:
                return row
        return None

    def retry_dying(self, row: Row, when_ms: int) -> None:
        """Give an entry by `take_dying` again at a time."""
        self._push(self._dying, when_ms, row[0])
        self._settle()

    def census(self, now_ms: int) -> Census:
        """The numbers of entries, as far as looks have come; of very many, by a sample."""
        due = in_pause = overtime = 0.0
        for heap in (self._owned, self._released, self._dying):
            if len(heap) <= SAMPLED:
                items, weight = list(set(heap)), 1.0
            else:
                places = (number * SPREAD % len(heap) for number in range(SAMPLED))
                items, weight = [heap[place] for place in places], len(heap) / SAMPLED
            counted = [
                item >> _ID_BITS for item in items if self._counts(heap, item, self._row_at(item))
            ]
            if heap is not self._released:
                overtime += weight * len(counted)
            if heap is not self._dying:
                not_before_ms = self.not_before_ms if heap is self._owned else 0
                number = sum(max(when_ms, not_before_ms) <= now_ms for when_ms in counted)
                due += weight * number
                in_pause += weight * (len(counted) - number)
        return Census(round(due), round(in_pause), round(overtime))

    # -- the whole -----------------------------------------------------------------------------

    def leave(self) -> None:
        """Subtract the memory from the counter."""
        self._counter.add(-self._counted_bytes)
        self._counted_bytes = 0

    def _settle(self) -> None:
        """Bring the counter up to date."""
        items = len(self._owned) + len(self._released) + len(self._dying)
        size = self._delays.memory_bytes() + items * _ITEM_BYTES
        self._counter.add(size - self._counted_bytes)
        self._counted_bytes = size
