"""Order by key inside a group (KEY-FIELD): which key each pending entry belongs to.

The key of an entry is the value of its first field with the name that KEY-FIELD says. An entry
without that field has no key, and no order. A key with pending entries has a lock (key_lock.py).

Reserved entries have the delivery time 0, as a Redis shows them. Commands may set that time, too,
so files and replicas get the IDs of reserved entries, and the place of the look-ahead, and nothing
else. Locks are made from the entries when a consumer first reads by key (`open`), and kept up to
date from then on. A replica has none.

What may be given to a consumer, in the order of the IDs:

* Of a key with sent entries, the next reserved one, to the owner of the key: unless a released
  entry of the key waits, or an entry that is delivered again is at work, which goes alone.
* Of a key without sent entries, its first one, to anyone, who owns the key from then on: as soon
  as all that were released are due.
* The first sent entry, when it is due, to anyone: with the key. The deadlines of the others do not
  count.

`wakes` is True once a change may unblock a waiting consumer. Candidates are in heaps, whose items
are valid only as long as they match the lock.

Leaves out: which new entries are reserved (commands/streams/groups/key_turn.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush
from itertools import islice
from typing import Protocol, TypeAlias

from storage.entries.entry import decode_fields, fields_position
from storage.entries.entry_id import MAX_ID, MIN_ID, EntryID
from storage.groups.pending_block import MemoryCounter, Owner, Row
from storage.groups.pending_list import PendingList
from storage.keyspace.ordered_index import OrderedIndex
from storage.memory import allocated_bytes, bytes_object_bytes, dict_bytes, set_bytes
from storage.policies.key_lock import LOCK_BYTES, KeyLock

# What KEY-LOOKAHEAD and KEY-LOOKAHEAD-KEY are unless they are set.
LOOKAHEAD = 120_000
LOOKAHEAD_OF_KEY = 10_000

# The number of keys that may be passed over at the same time.
MOST_PASSED = 100

# The number of entries that are looked up at once.
_AT_ONCE = 1000
# Up to this many stale candidates are tolerated, whatever the number of reserved entries.
_SPARE_ITEMS = 1024
# A longer key is known by its first bytes and a digest.
_LONG_KEY = 64
_KEPT_OF_KEY = 40

Entries = Callable[[list[EntryID]], "list[bytes | None]"]
# Keys that have changed, and whether another of their sent entries is the first now.
Changed: TypeAlias = dict[KeyLock, bool]


class Deadlines(Protocol):
    """What falls due (storage/policies/due_entries.py)."""

    def watch(self, row: Row) -> None:
        """An entry may fall due that did not count before."""

    has_delays: bool

    def delay_ms(self, entry_id: EntryID) -> int:
        """When a released entry falls due; 0: at once, as all without `has_delays`."""


class KeyOrder:
    """The keys of one group; see the module."""

    __slots__ = (
        "_by_id", "_counted_bytes", "_counter", "_deadlines", "_field", "_first_id", "_keys_bytes",
        "_own", "_pattern", "_pending", "_ready", "_unknown", "ahead", "ghosts", "is_behind",
        "is_full", "is_open", "locks", "lookahead", "most_of_key", "passed", "reserved", "wakes",
    )  # fmt: skip

    def __init__(self, pending: PendingList, deadlines: Deadlines) -> None:
        self._pending = pending
        self._deadlines = deadlines
        self._counter: MemoryCounter = pending.counter
        self._counted_bytes = 0
        self._field = self._pattern = b""
        self.lookahead = self.most_of_key = 0
        # Kept in files, and by replicas:
        self.reserved: set[EntryID] = set()
        self.ahead: EntryID = MIN_ID  # up to where entries were looked at, if keys are passed over
        self.passed: dict[bytes, EntryID] = {}  # keys with too many, and where to go on
        self.close()

    def configure(self, field: bytes, lookahead: int, most_of_key: int) -> None:
        """Set the options; 0: the default."""
        if field != self._field:
            self.close()
        self._field = field
        self._pattern = b"$%d\r\n%b\r\n" % (len(field), field)
        self.lookahead = lookahead or LOOKAHEAD
        self.most_of_key = most_of_key or LOOKAHEAD_OF_KEY
        for lock in self.locks.values():  # one may have been put aside by MAX-DELIVERIES
            lock.listed = MIN_ID
            self._list(lock)
        self.wakes = True

    def close(self) -> None:
        """Drop the locks, for `open` to make them again."""
        self.is_open = False
        self.locks: dict[bytes, KeyLock] = {}
        self._by_id = OrderedIndex()  # the locks by the IDs of pending entries
        self._keys_bytes = 0
        self._ready: list[EntryID] = []  # candidates for anyone
        self._own: dict[Owner, list[EntryID]] = {}  # candidates for an owner
        self._unknown: list[EntryID] = []  # pending entries whose keys are not known yet
        self._first_id: EntryID = MIN_ID  # entries below were trimmed
        self.ghosts: list[EntryID] = []  # reserved entries that have lost their content
        self.wakes = True
        self.is_behind = False  # a read has not looked at all that it may
        self.is_full = False  # by KEY-LOOKAHEAD, until a quarter is free
        self._settle()

    # -- keys ----------------------------------------------------------------------------------

    def key_of(self, entry: bytes) -> bytes | None:
        """The key of an encoded entry, shortened if it is long; None if it has none."""
        if self._pattern not in entry:
            return None
        place = fields_position(entry)
        if entry.startswith(self._pattern, place):
            place += len(self._pattern) + 1
            end = entry.index(b"\r", place)
            value = entry[end + 2 : end + 2 + int(entry[place:end])]
        else:
            words = decode_fields(entry)
            if self._field not in words[::2]:
                return None
            value = words[2 * words[::2].index(self._field) + 1]
        if len(value) <= _LONG_KEY:
            return value
        from hashlib import sha1  # it loads OpenSSL: not at the start

        return value[:_KEPT_OF_KEY] + sha1(value, usedforsecurity=False).digest()

    def open(self, entries_of: Entries, first_id: EntryID) -> None:
        """Make the locks if there are none, and take account of changes that were not reported.

        `entries_of`: the entries by their IDs; `first_id`: that of the first in the stream, 0-0 if
        it is empty.
        """
        first_id = first_id or MAX_ID
        if not self.is_open:
            self.is_open = True
            self.reserved = set(self._pending.among(sorted(self.reserved)))
            rows = self._pending.rows_from(MIN_ID)
            while some := list(islice(rows, _AT_ONCE)):
                self._learn(some, entries_of)
            for lock in self.locks.values():
                self._list(lock)
            self._first_id = first_id
        if self._unknown:
            ids, self._unknown = self._unknown, []
            some = [row for row in self._pending.rows_of(ids) if row is not None]
            self._learn([row for row in some if row[0] not in self._by_id], entries_of)
            for entry_id in ids:
                self._list(self._by_id.get(entry_id))
        if first_id != self._first_id:
            self.lose(self._pending.ids_between(self._first_id, first_id))
            self._first_id = first_id
        self._settle()

    def _learn(self, rows: list[Row], entries_of: Entries) -> None:
        """Add pending entries to the locks of their keys."""
        for row, entry in zip(rows, entries_of([row[0] for row in rows]), strict=True):
            entry_id, owner, _, count = row
            if entry is None:
                if entry_id in self.reserved:
                    self.ghosts.append(entry_id)
                continue
            key = self.key_of(entry)
            if key is None:
                self.reserved.discard(entry_id)
                continue
            lock = self._lock(key, entry_id)
            if owner is None:
                lock.hold(entry_id)
                lock.released += 1
                self._note_delay(lock, entry_id)
            elif entry_id in self.reserved:
                lock.hold(entry_id)
                lock.owner = lock.owner or owner
            else:
                lock.send(entry_id)
                if lock.sent[0] == entry_id:
                    lock.owner = owner
                if count > 1:
                    lock.alone = entry_id

    def _lock(self, key: bytes, entry_id: EntryID) -> KeyLock:
        """The lock of a key, which may be new, for one more entry."""
        lock = self.locks.get(key)
        if lock is None:
            lock = self.locks[key] = KeyLock(key)
            self._keys_bytes += bytes_object_bytes(len(key))
        self._by_id[entry_id] = lock
        return lock

    def lock_of(self, entry_id: EntryID) -> KeyLock | None:
        """The lock that a pending entry belongs to."""
        lock: KeyLock | None = self._by_id.get(entry_id)
        return lock

    def shut(self) -> None:
        """`close`, if there are locks: entries were delivered that they do not know."""
        if self.is_open:
            self.close()

    def has_news(self, first_id: EntryID) -> bool:
        """Return True if a consumer that waits may go on; `first_id`: that of the stream."""
        is_trimmed = self.is_open and (first_id or MAX_ID) != self._first_id
        return self.wakes or self.is_behind or is_trimmed or bool(self.ghosts)

    def may_be_taken(self, entry_id: EntryID) -> bool:
        """Return True if XCLAIM may take an entry: the oldest of its key."""
        lock = self._by_id.get(entry_id)
        return lock is None or lock.oldest == entry_id

    def may_be_forced(self, entry: bytes) -> bool:
        """Return True if XCLAIM with FORCE may take an entry: no other of its key is pending."""
        return self.key_of(entry) not in self.locks

    @property
    def has_room(self) -> bool:
        """True if one more entry may be reserved."""
        self.is_full = self.is_full or len(self.reserved) >= self.lookahead
        return not self.is_full

    @property
    def to_scan(self) -> list[bytes]:
        """Keys that were passed over, of which more entries may be reserved now."""
        most = self.most_of_key * 3 // 4
        if not self.passed or not self.has_room:
            return []
        locks = self.locks
        return [key for key in self.passed if key not in locks or len(locks[key].held) <= most]

    # -- what may be given ---------------------------------------------------------------------

    def is_deadline(self, entry_id: EntryID) -> bool:
        """Return True if the deadline of a sent entry is that of its key."""
        lock = self._by_id.get(entry_id)
        return entry_id not in self.reserved and (
            lock is None or not lock.sent or lock.sent[0] == entry_id
        )

    def first_at(self, entry_id: EntryID, when_ms: int) -> EntryID | None:
        """The first entry of the key of a released one that is due then; None: it is not free."""
        lock = self.lock_of(entry_id)
        if lock is None:
            return entry_id
        if lock.sent or (lock.released and self._last_delay(lock, when_ms)[1] > when_ms):
            return None
        return lock.held[0]

    def _note_delay(self, lock: KeyLock, entry_id: EntryID) -> None:
        delay_ms = self._deadlines.delay_ms(entry_id)
        if delay_ms > lock.bound_ms:
            lock.bound_ms, lock.last = delay_ms, entry_id

    def _last_delay(self, lock: KeyLock, when_ms: int) -> tuple[EntryID, int]:
        """The released entry whose delay ends last, and when; any if all end by `when_ms`."""
        delay_ms = self._deadlines.delay_ms
        released = (each for each in lock.held if each not in self.reserved)
        if not self._deadlines.has_delays:
            lock.bound_ms = 0
        if lock.bound_ms <= when_ms:
            return next(released), lock.bound_ms
        is_there = lock.has_held(lock.last) and lock.last not in self.reserved
        if not is_there or delay_ms(lock.last) != lock.bound_ms:
            lock.last = max(released, key=delay_ms)
            lock.bound_ms = delay_ms(lock.last)
        return lock.last, lock.bound_ms

    def may_be_claimed(self, entry_id: EntryID) -> bool:
        """Return True if CLAIM and its kin may take an entry: the oldest of its key."""
        lock = self._by_id.get(entry_id)
        return entry_id not in self.reserved and (lock is None or lock.oldest == entry_id)

    def next_held(self, owner: Owner) -> EntryID | None:
        """The reserved entry that is to be sent to a consumer next; see `begin`, `put_back`."""
        own = self._own.get(owner, [])
        ready = self._head(self._ready, None)
        mine = self._head(own, owner)
        if ready is None and mine is None:
            return None
        heap = own if ready is None or (mine is not None and mine < ready) else self._ready
        entry_id = heappop(heap)
        self._by_id[entry_id].listed = MIN_ID
        return entry_id

    def has_held(self, owner: Owner) -> bool:
        """Return True if `next_held` would give an entry."""
        own = self._own.get(owner, [])
        return self._head(self._ready, None) is not None or self._head(own, owner) is not None

    def _head(self, heap: list[EntryID], owner: Owner | None) -> EntryID | None:
        while heap and not self._counts(heap[0], owner):
            entry_id = heappop(heap)
            lock = self._by_id.get(entry_id)
            if lock is not None and lock.listed == entry_id:
                lock.listed = MIN_ID
        return heap[0] if heap else None

    def _counts(self, entry_id: EntryID, owner: Owner | None) -> bool:
        lock = self._by_id.get(entry_id)
        return lock is not None and lock.is_next(entry_id, owner)

    def put_back(self, entry_id: EntryID) -> None:
        """Take back an entry that was not sent after all."""
        self._list(self._by_id.get(entry_id))

    def _list(self, lock: KeyLock | None) -> None:
        """Make the next entry of a key a candidate, if there is one."""
        if lock is None or not lock.held:
            return
        first = lock.held[0]
        if lock.released:
            if not lock.sent:
                row = self._pending.rows_of([self._last_delay(lock, 0)[0]])[0]
                if row is not None:
                    self._deadlines.watch(row)
        elif lock.sent and lock.alone:
            return
        elif lock.listed != first:
            heap = self._ready
            if lock.sent:
                assert lock.owner is not None
                heap = self._own.setdefault(lock.owner, [])
            lock.listed = first
            heappush(heap, first)
            if len(heap) > 2 * len(self.reserved) + _SPARE_ITEMS:
                owner = lock.owner if lock.sent else None
                heap[:] = {each for each in heap if self._counts(each, owner)}
                heapify(heap)
        self.wakes = True

    # -- changes -------------------------------------------------------------------------------

    def send_new(self, entry_id: EntryID, key: bytes, owner: Owner) -> None:
        """A new entry is sent to a consumer, who may have its key."""
        lock = self._lock(key, entry_id)
        lock.owner = owner
        lock.send(entry_id)

    def reserve_new(self, entry_id: EntryID, key: bytes, owner: Owner) -> None:
        """A new entry is reserved, for the owner of its key."""
        lock = self._lock(key, entry_id)
        if not lock.sent:
            lock.owner = owner
        self.reserved.add(entry_id)
        lock.hold(entry_id)
        self._list(lock)

    def begin(self, entry_id: EntryID, owner: Owner, count: int) -> None:
        """A pending entry is sent to a consumer, with its key; it has this delivery count now."""
        lock = self._by_id.get(entry_id)
        if lock is not None:
            was_free = not lock.sent
            if lock.has_held(entry_id):
                lock.unhold(entry_id)
                lock.released -= entry_id not in self.reserved
            lock.send(entry_id)
            if was_free or lock.owner is not owner:
                lock.listed = MIN_ID
            lock.owner = owner
            if count > 1:
                lock.alone = entry_id
            elif lock.alone == entry_id:
                self._find_alone(lock)
        self.reserved.discard(entry_id)
        self._list(lock)

    def note(self, ids: list[EntryID]) -> None:
        """Pending entries have an owner, whom they were sent to."""
        if not self.is_open:
            self.reserved.difference_update(ids)
            return
        for entry_id, row in zip(ids, self._pending.rows_of(ids), strict=True):
            if row is None or row[1] is None:
                continue
            if entry_id in self._by_id:
                self.begin(entry_id, row[1], row[3])
            else:
                self._unknown.append(entry_id)
        self._settle()

    def hold(self, ids: list[EntryID]) -> None:
        """Pending entries are reserved now, for their owners."""
        self.reserved.update(ids)
        changed: Changed = {}
        for entry_id in ids:
            lock = self._by_id.get(entry_id)
            if lock is not None and lock.has_sent(entry_id):
                self._unsend(lock, entry_id, changed)
                lock.hold(entry_id)
        self._after(changed)

    def release(self, ids: list[EntryID]) -> None:
        """Pending entries have no owner any more."""
        changed: Changed = {}
        for entry_id in ids:
            lock = self._by_id.get(entry_id)
            if lock is None:
                if self.is_open:
                    self._unknown.append(entry_id)
            else:
                changed.setdefault(lock, False)
                self._note_delay(lock, entry_id)
                if lock.has_held(entry_id):
                    lock.released += entry_id in self.reserved
                else:
                    self._unsend(lock, entry_id, changed)
                    lock.hold(entry_id)
                    lock.released += 1
            self.reserved.discard(entry_id)
        self._after(changed)

    def forget(self, ids: Iterable[EntryID]) -> None:
        """Entries are not pending any more."""
        changed: Changed = {}
        for entry_id in ids:
            lock: KeyLock | None = self._by_id.pop(entry_id)
            if lock is not None:
                self._leave(lock, entry_id, changed)
            self.reserved.discard(entry_id)
        self._after(changed)

    def forget_owner(self, owner: Owner, ids: list[EntryID]) -> None:
        """A consumer goes, and with it what is pending for it."""
        self.forget(ids)
        self._own.pop(owner, None)

    def lose(self, ids: list[EntryID]) -> None:
        """Pending entries have lost their content: their keys are free of them."""
        changed: Changed = {}
        for entry_id in ids:
            lock: KeyLock | None = self._by_id.pop(entry_id)
            if lock is not None:
                self._leave(lock, entry_id, changed)
                if entry_id in self.reserved:
                    self.ghosts.append(entry_id)
                else:
                    row = self._pending.rows_of([entry_id])[0]
                    if row is not None:
                        self._deadlines.watch(row)
        self._after(changed)

    def transfer(self, ids: list[EntryID], heir: Owner) -> None:
        """Pending entries have another owner, with all that they had.

        The key goes along, unless a third consumer is at work on it: what is reserved may be
        pending for one that had the key earlier.
        """
        for entry_id in ids:
            lock = self._by_id.get(entry_id)
            is_theirs = lock is not None and (not lock.sent or lock.has_sent(entry_id))
            if lock is not None and lock.owner is not heir and is_theirs:
                lock.owner, lock.listed = heir, MIN_ID
                self._list(lock)

    def _unsend(self, lock: KeyLock, entry_id: EntryID, changed: Changed) -> None:
        """A sent entry is not at work any more; `_after` does what follows."""
        if lock.has_sent(entry_id):
            changed[lock] = lock.unsend(entry_id) or changed.get(lock, False)
            if lock.alone == entry_id:
                self._find_alone(lock)

    def _after(self, changed: Changed) -> None:
        """Entries of some keys are not sent or not pending any more."""
        for lock, has_another_first in changed.items():
            if lock.sent and has_another_first:
                row = self._pending.rows_of([lock.sent[0]])[0]
                if row is not None:
                    self._deadlines.watch(row)
            self._list(lock)
        self._settle()

    def _find_alone(self, lock: KeyLock) -> None:
        rows = self._pending.rows_of(lock.sent)
        again = (row[0] for row in rows if row is not None and row[3] > 1)
        lock.alone = next(again, MIN_ID)

    def _leave(self, lock: KeyLock, entry_id: EntryID, changed: Changed) -> None:
        changed.setdefault(lock, False)
        if lock.has_held(entry_id):
            lock.unhold(entry_id)
            lock.released -= entry_id not in self.reserved
        else:
            self._unsend(lock, entry_id, changed)
        if not lock.sent and not lock.held:
            del self.locks[lock.key]
            self._keys_bytes -= bytes_object_bytes(len(lock.key))
        self.wakes = self.wakes or lock.key in self.passed

    # -- the whole -----------------------------------------------------------------------------

    def mark(self, ids: list[EntryID]) -> None:
        """Pending entries are reserved, as a file or a primary says."""
        rows = self._pending.rows_of(ids)
        self.hold([row[0] for row in rows if row is not None and row[1] is not None])

    def set_position(self, ahead: EntryID) -> None:
        """Set up to where entries were looked at; MIN_ID: up to the group's position."""
        self.ahead = ahead
        if not ahead:
            self.passed.clear()
        self.wakes = True

    def pass_over(self, key: bytes, start: EntryID) -> None:
        """Pass over a key's entries from an ID on, or no longer (MIN_ID)."""
        if start:
            self.passed[key] = start
        else:
            self.passed.pop(key, None)

    def copy_to(self, twin: KeyOrder) -> None:
        """Give a copy of the group what is kept."""
        twin.reserved = set(self.reserved)
        twin.ahead = self.ahead
        twin.passed = dict(self.passed)
        twin._settle()

    def longest(self) -> tuple[bytes, int] | None:
        """The key with most reserved and released entries, and how many these are."""
        lock = max(self.locks.values(), key=lambda lock: len(lock.held), default=None)
        return None if lock is None or not lock.held else (lock.key, len(lock.held))

    def leave(self) -> None:
        """Subtract the memory from the counter."""
        self._counter.add(-self._counted_bytes)
        self._counted_bytes = 0

    def _settle(self) -> None:
        """Bring the counter up to date, and what depends on the number of reserved entries."""
        if self.is_full and len(self.reserved) <= self.lookahead * 3 // 4:
            self.is_full = False
            self.wakes = True
        size = (
            self._by_id.memory_bytes()
            + dict_bytes(self.locks)
            + self._keys_bytes
            + len(self.locks) * LOCK_BYTES
            + len(self._by_id) * _PLACE_BYTES
            + set_bytes(self.reserved)
            + (0 if self.is_open else len(self.reserved) * _ID_BYTES)
        )
        self._counter.add(size - self._counted_bytes)
        self._counted_bytes = size


_ID_BYTES = allocated_bytes(1 << 100)
_PLACE_BYTES = 9  # in the list of a lock
