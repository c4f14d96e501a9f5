"""A consumer's turn to read a group that orders its entries by key (KEY-FIELD). Rillway's own.

One consumer at a time has the unacknowledged entries of a key (storage/policies/key_order.py).
`XREADGROUP ... >` delivers

1. due entries: of a key only the first one, which takes the key with it. The other entries that the
   former owner had of the key become reserved, and keep their delivery counts;
2. reserved entries, of the consumer's own keys and of free keys;
3. new entries. If another consumer has the key, the entry is reserved for that consumer, and
   reading continues after it. An entry of an own key is reserved, too, while others of the key
   wait, or one of them is being delivered again.

Reading ahead ends when KEY-LOOKAHEAD entries are reserved, until a quarter of them is delivered. A
key with KEY-LOOKAHEAD-KEY reserved entries is passed over: the group's position stays before the
first such entry, so that no other server loses it, and the policy records where new entries begin.
A read examines a limited number of entries that it does not deliver; a client that waits continues
in the next cycle.

Reserved entries are pending for their owner, with the delivery time 0. They are propagated in a
form that every Redis knows, and as rows of the policy.
"""

from __future__ import annotations

from collections.abc import Iterable

from commands.core.client import Client
from commands.streams.groups.delivery import (
    group_changed,
    propagate_claims,
    propagate_delivery,
    propagate_position,
)
from commands.streams.groups.policy_turn import PolicyTurn
from commands.streams.policies.carrier import propagate_row
from commands.streams.policies.dead_letters import drop_ghosts
from commands.streams.policies.retention import acknowledged
from commands.streams.policies.timer import note
from commands.streams.read import ALL, NoCaps
from storage.entries.entry_id import MAX_ID, MIN_ID, EntryID, EntryIDs
from storage.groups.group import Consumer, Group
from storage.groups.pending_block import Row
from storage.policies.group_rows import ahead_row, passed_row, reserved_rows
from storage.policies.key_lock import KeyLock
from storage.policies.key_order import MOST_PASSED, KeyOrder
from storage.stream import Stream, advance_group

# The number of entries that a read examines and does not deliver.
LOOKED_AT_ONCE = 1000
# As many entries are looked up at once.
ENTRIES_AT_ONCE = 100


def open_keys(stream: Stream, group: Group) -> KeyOrder | None:
    """The keys of a group as they are now; None if it does not order by key."""
    keys = None if group.policy is None else group.policy.keys
    if keys is not None:
        keys.open(stream.entries_of_any, stream.first_id)
    return keys


def take_over(
    client: Client, key: bytes, group: Group, consumer: Consumer, ids: Iterable[EntryID]
) -> None:
    """A consumer was given the first entries of keys: the others become reserved for it."""
    policy = group.policy
    if policy is None or policy.keys is None:
        return
    locks = [(each, policy.keys.lock_of(each)) for each in ids]
    others = [other for each, lock in locks if lock for other in lock.sent if other != each]
    rows = [
        row
        for row in group.pending.rows_of(others)
        if row is not None and not policy.due.is_exhausted(row[3])
    ]
    if rows:
        group.withhold(rows, consumer)
        propagate_reserved(client, key, group, consumer, rows)


def propagate_reserved(
    client: Client, key: bytes, group: Group, consumer: Consumer, rows: list[Row]
) -> None:
    """Propagate entries that are reserved for a consumer, whoever had them."""
    if client.instance.propagation.sinks:
        ids = [row[0] for row in rows]
        propagate_claims(client, key, group, consumer, ids, 0, [row[3] for row in rows])
        for row in reserved_rows(group, ids):
            propagate_row(client, key, *row)


class KeyTurn(PolicyTurn):
    """One consumer's turn; see the module."""

    def __init__(
        self,
        client: Client,
        key: bytes,
        stream: Stream,
        group: Group,
        consumer: Consumer,
        *,
        is_begun: bool,
    ) -> None:
        super().__init__(client, key, stream, group, consumer, is_begun=is_begun)
        keys = open_keys(stream, group)
        assert keys is not None
        self.keys = keys
        self._takes_all_due = False
        self._reserved_ids: dict[Consumer, list[EntryID]] = {}
        ghosts, keys.ghosts = keys.ghosts, []
        drop_ghosts(
            client, key, group, self.policy, [one for one in ghosts if one in keys.reserved]
        )

    def read(self, count: int, caps: NoCaps, *, noack: bool, min_idle_ms: int | None) -> None:
        """Take up to `count` entries (ALL: no limit). `min_idle_ms`: CLAIM."""
        with_times = min_idle_ms is not None
        self.keys.is_behind = False
        self._look_at_passed()
        if not noack:
            self.take_due(count, caps, with_times=with_times)
            if min_idle_ms is not None:
                self.claim(min_idle_ms, count, caps)
            self._commit_with_keys()
            self._take_held(count, caps, with_times=with_times)
        self._take_new(count, caps, noack=noack, with_times=with_times)
        if not noack and not self.ends and self.count != count and caps.admits():
            self._takes_all_due = True  # there were fewer new entries than places kept for them
            self.take_due(count, caps, with_times=with_times)
            self._commit_with_keys()
        if self.keys.wakes:
            self.keys.wakes = False
            self.client.signal_key_as_ready(self.key)
        if self.keys.is_behind and self.policy.is_awaited:
            note(self.client, self.key, self.stream)

    # -- entries that are pending --------------------------------------------------------------

    def _reserved(self, count: int, room: int | None) -> int:
        if self._takes_all_due:
            return 0
        if self.keys.has_held(self.consumer):
            return self._share_of_new(count, room)
        return super()._reserved(count, room)

    def _give(self, row: Row, caps: NoCaps, *, with_times: bool) -> bool:
        keys = self.keys
        if row[1] is None and (lock := keys.lock_of(row[0])) is not None:
            # All that were released are due: the first entry of the key is next.
            first = self.group.pending.rows_of([lock.held[0]])[0]
            if first is None or first[0] in self._taken or self.policy.due.is_exhausted(first[3]):
                return False
            row = first
        if not super()._give(row, caps, with_times=with_times):
            return False
        keys.begin(row[0], self.consumer, row[3] + 1)
        return True

    def _put_back(self, row: Row) -> None:
        if row[0] in self.keys.reserved:
            self.keys.put_back(row[0])
        else:
            super()._put_back(row)

    def _commit_with_keys(self) -> None:
        """Hand over what was taken, each with its key."""
        ids = list(self._taken)
        self.commit()
        take_over(self.client, self.key, self.group, self.consumer, ids)

    def _take_held(self, count: int, caps: NoCaps, *, with_times: bool) -> None:
        """Take reserved entries, which count as new ones."""
        room = self.room(count)
        while not self.ends and self.count != count and room != 0 and caps.admits():
            entry_id = self.keys.next_held(self.consumer)
            row = None if entry_id is None else self.group.pending.rows_of([entry_id])[0]
            if row is None:
                break
            if self.policy.due.is_exhausted(row[3]):
                self._put_back_dying(row)
            elif self._give(row, caps, with_times=with_times) and room is not None:
                room -= 1
        self.note_new(self._hand_over())

    def _put_back_dying(self, row: Row) -> None:
        """A reserved entry has had its last delivery: MAX-DELIVERIES was lowered."""
        self.policy.due.put_back(row)
        note(self.client, self.key, self.stream)

    def _count_again(self, rows: list[Row]) -> None:
        first = [row[0] for row in rows if row[1] is not None and not row[3]]
        if first:
            self._observe(EntryIDs.of(sorted(first)))
        super()._count_again([row for row in rows if row[1] is None or row[3]])

    def _observe(self, ids: EntryIDs) -> None:
        """Measure how long entries have waited for their first delivery."""
        self.client.instance.stats.delivery_latency.observe(ids, self.now_ms)
        if self.group.delivery_latency is not None:
            self.group.delivery_latency.observe(ids, self.now_ms)

    # -- new entries ---------------------------------------------------------------------------

    def _take_new(self, count: int, caps: NoCaps, *, noack: bool, with_times: bool) -> None:
        """Take new entries, and reserve those that others are to have."""
        rest = self.new_count(count, noack=noack)
        start = position = self._position()
        if not rest or not caps.admits() or not self.keys.has_room:
            return
        given, looked, passed = EntryIDs(), 0, len(self.keys.passed)
        wanted, is_over = ENTRIES_AT_ONCE if rest == ALL else rest, False
        while looked < LOOKED_AT_ONCE:
            ids = list(self.stream.ids(position + 1, MAX_ID, min(wanted, ENTRIES_AT_ONCE)))
            for entry_id, entry in zip(ids, self.stream.entries_of(ids), strict=True):
                assert entry is not None
                gives = self._gives(entry_id, entry, noack=noack)
                if gives is None:
                    is_over = True
                    break
                position = entry_id
                if gives:
                    given.add(entry_id)
                    self._answer(entry, (0, 0) if with_times else None, caps)
                else:
                    looked += 1
                is_over = given.count == rest or not caps.admits() or not self.keys.has_room
                if is_over:
                    break
            if is_over or not ids:
                break
            wanted = max(rest - given.count, looked + 1) if rest != ALL else ENTRIES_AT_ONCE
        else:
            self.keys.is_behind = True
        if position != start:
            self._commit_new(position, given, noack=noack, passed=passed)

    def _position(self) -> EntryID:
        return self.keys.ahead or self.group.last_delivered_id

    def _gives(self, entry_id: EntryID, entry: bytes, *, noack: bool) -> bool | None:
        """Return True if a new entry is the consumer's; reserve it otherwise. None: no room."""
        keys, pending = self.keys, self.group.pending
        if pending.reaches(entry_id) and entry_id in pending:
            return False  # the group was set back
        key = keys.key_of(entry)
        if key is None:
            return True
        if key in keys.passed:
            return False
        lock = keys.locks.get(key)
        is_own = lock is not None and lock.owner is self.consumer and bool(lock.sent)
        if lock is None or (is_own and not lock.held and not lock.alone):
            if not noack:
                keys.send_new(entry_id, key, self.consumer)
            return True
        if len(lock.held) < keys.most_of_key:
            self._reserve(entry_id, key, lock)
        elif len(keys.passed) < MOST_PASSED:
            keys.pass_over(key, entry_id)
            if self.client.instance.propagation.sinks:
                propagate_row(self.client, self.key, *passed_row(self.group, key, entry_id))
        else:
            return None
        return False

    def _reserve(self, entry_id: EntryID, key: bytes, lock: KeyLock | None) -> None:
        """Reserve an entry for the owner of its key, or for the consumer if none is there."""
        owner: Consumer = self.consumer
        if lock is not None and lock.sent and lock.owner is not None:
            owner = self.group.consumers[lock.owner.name]
        self.keys.reserve_new(entry_id, key, owner)
        self._reserved_ids.setdefault(owner, []).append(entry_id)

    def _commit_new(self, ahead: EntryID, given: EntryIDs, *, noack: bool, passed: int) -> None:
        """Note which new entries the consumer is given, and up to where they were looked at."""
        client, key, group = self.client, self.key, self.group
        self._move(ahead)
        group_changed(client, key)
        if given.count:
            self._observe(given)
            if noack:
                acknowledged(client, key, self.stream)
            else:
                group.deliver(self.consumer, given, self.now_ms)
                self.policy.due.note_time(self.now_ms)
                self.consumer.active_ms = self.now_ms
                if client.instance.propagation.sinks:
                    propagate_delivery(client, key, group, self.consumer, given, self.now_ms)
            self.note_new(given.count)
        self._commit_reserved()
        propagate_position(client, key, group)
        self._propagate_ahead(was_ahead=passed > 0)

    def _move(self, ahead: EntryID) -> None:
        """Move the group up to where all entries were given or reserved."""
        group, keys = self.group, self.keys
        position: EntryID | None = ahead
        keys.ahead = MIN_ID
        if keys.passed:
            position = self.stream.last_before(min(keys.passed.values()))
            keys.ahead = ahead
        if position is not None and position > group.last_delivered_id:
            ids = self.stream.ids(group.last_delivered_id + 1, position)
            if ids.count:
                advance_group(self.stream, group, ids)
            group.last_delivered_id = position

    def _commit_reserved(self) -> None:
        """Make entries pending for those that they are reserved for."""
        reserved, self._reserved_ids = self._reserved_ids, {}
        for owner, ids in reserved.items():
            self.group.reserve(owner, ids)
            rows: list[Row] = [(entry_id, owner, 0, 0) for entry_id in ids]
            propagate_reserved(self.client, self.key, self.group, owner, rows)

    def _propagate_ahead(self, *, was_ahead: bool) -> None:
        keys = self.keys
        if self.client.instance.propagation.sinks and (keys.passed or was_ahead):
            propagate_row(self.client, self.key, *ahead_row(self.group, keys.ahead))

    # -- keys that were passed over ------------------------------------------------------------

    def _look_at_passed(self) -> None:
        """Reserve entries of keys that were passed over, and have room now."""
        keys = self.keys
        to_scan = keys.to_scan
        if not to_scan:
            return
        left = LOOKED_AT_ONCE
        for key in to_scan:
            start = keys.passed[key]
            start, left, is_done = self._scan(key, start, left)
            keys.pass_over(key, MIN_ID if is_done else start)
            if self.client.instance.propagation.sinks:
                propagate_row(
                    self.client, self.key, *passed_row(self.group, key, start * (not is_done))
                )
            if left <= 0:
                keys.is_behind = True
                break
        self._move(keys.ahead)
        group_changed(self.client, self.key)
        self._commit_reserved()
        propagate_position(self.client, self.key, self.group)
        self._propagate_ahead(was_ahead=True)

    def _scan(self, key: bytes, start: EntryID, left: int) -> tuple[EntryID, int, bool]:
        """Reserve a key's entries from an ID on: where it ended, what it may still look at, and
        whether there are no others.
        """
        keys = self.keys
        while left > 0:
            ids = list(self.stream.ids(start, keys.ahead, ENTRIES_AT_ONCE))
            if not ids:
                return start, left, True
            for entry_id, entry in zip(ids, self.stream.entries_of(ids), strict=True):
                assert entry is not None
                if keys.key_of(entry) == key and entry_id not in self.group.pending:
                    lock = keys.locks.get(key)
                    is_long = lock is not None and len(lock.held) >= keys.most_of_key
                    if is_long or not keys.has_room:
                        return entry_id, left, False
                    self._reserve(entry_id, key, lock)
                left -= 1
                start = entry_id + 1
        return start, left, False

    # -- history -------------------------------------------------------------------------------

    def _is_hidden(self, row: Row) -> bool:
        return row[0] in self.keys.reserved

    def _stays(self, row: Row) -> bool:
        return super()._stays(row) or not self.keys.is_deadline(row[0])
