"""A consumer's turn to read a group that has a delivery policy. Rillway's own.

In a group with ACK-WAIT, `XREADGROUP ... >` first gives entries that are due, whoever had them, the
one that was due first before the others, and then new ones:

* While new entries wait, one of four entries is new, so that entries that fail again and again do
  not keep new ones from being delivered.
* An entry in its last delivery (MAX-DELIVERIES) is alone in its reply: if it kills the consumer, no
  other entry has lost an attempt.
* MAX-PENDING bounds the number of entries in flight: those that have an owner and content. What
  passes from one owner to the next does not count again.
* With NOACK, only new entries are delivered: one that was pending would stay so.
* An entry that is due but has no content is dropped.

The history of a consumer gives an entry as it is until its deadline; from then on that is another
delivery, so that a consumer that dies of its own history uses up its attempts.
"""

from __future__ import annotations

from commands.core.client import Client
from commands.streams.groups.delivery import group_changed, propagate_claims
from commands.streams.policies.dead_letters import drop_ghosts
from commands.streams.policies.group_deliveries import look
from commands.streams.policies.timer import PolicyTimer, note
from commands.streams.ranges import deleted_entry
from commands.streams.read import ALL, NO_CAPS, NoCaps
from protocol import replies
from storage.entries.entry_id import MAX_ID, MIN_ID, EntryID, EntryIDs
from storage.groups.group import Consumer, Group
from storage.groups.pending_block import Row
from storage.policies.group_policy import REDELIVERED_IN_A_ROW, GroupPolicy
from storage.stream import Stream

# How many pending entries are searched for lost content in one read.
_SWEPT_AT_ONCE = 1000
_SWEEPS = 10


class PolicyTurn:
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
        """`is_begun`: the reply has entries of other streams already."""
        assert group.policy is not None
        self.client = client
        self.key = key
        self.stream = stream
        self.group = group
        self.policy: GroupPolicy = group.policy
        self.consumer = consumer
        self.now_ms = client.instance.now_ms
        self.pieces: list[bytes] = []  # the encoded entries for the consumer, and their number
        self.count = 0
        self.ends = False  # nothing may follow in the reply
        self._is_begun = is_begun
        self._is_any_due = False
        self._taken: dict[EntryID, Row] = {}  # what changes its owner
        self._ghosts: list[EntryID] = []
        self._timer = client.instance.feature(PolicyTimer)
        look(self._timer, self.policy, self.now_ms)

    # -- entries that are pending --------------------------------------------------------------

    def take_due(self, count: int, caps: NoCaps, *, with_times: bool) -> None:
        """Take entries that are due, up to `count` with those that are to be new (ALL: no limit).

        `with_times`: in the form of CLAIM.
        """
        policy, due = self.policy, self.policy.due
        policy.row = min(policy.row, REDELIVERED_IN_A_ROW)
        room = self.room(count)
        if not policy.options.ack_wait_ms or not due.has_due(self.now_ms, has_room=room != 0):
            return
        self._is_any_due = True
        limit = count
        if count == ALL and caps is not NO_CAPS and self._reserved(1, room):
            return  # MAXSIZE may leave no room for the new one
        if count != ALL and room != 0:
            limit -= self._reserved(count, room)
        while not self.ends and self.count != limit and caps.admits():
            row = due.take(self.now_ms, has_room=room != 0)
            if row is None:
                break
            if row[0] in self._taken:
                continue
            if not self._give(row, caps, with_times=with_times):
                continue
            if room is not None and row[1] is None:
                room -= 1

    def _reserved(self, count: int, room: int | None) -> int:
        """The number of entries out of `count` that are to be new."""
        reserved = self._share_of_new(count, room)
        start = self._position()
        if not reserved or start >= self.stream.last_id:
            return 0
        return self.stream.ids(start + 1, MAX_ID, reserved).count

    def _position(self) -> EntryID:
        """Up to where entries are not new."""
        return self.group.last_delivered_id

    def _share_of_new(self, count: int, room: int | None) -> int:
        share = (count + self.policy.row) // (REDELIVERED_IN_A_ROW + 1)
        return share if room is None else min(share, room)

    def claim(self, min_idle_ms: int, count: int, caps: NoCaps) -> None:
        """Take entries that were idle for long although they are not due (CLAIM)."""
        room = self.room(count)
        for row in self.group.claimable(self.now_ms, min_idle_ms):
            if self.ends or self.count == count or not caps.admits():
                break
            if row[0] in self._taken or (row[1] is None and room == 0):
                continue
            if self._give(row, caps, with_times=True) and room is not None and row[1] is None:
                room -= 1

    def _give(self, row: Row, caps: NoCaps, *, with_times: bool) -> bool:
        """Answer a pending entry, if that may be."""
        entry = self.stream.get(row[0])
        if entry is None:
            self._ghosts.append(row[0])
            return False
        if self._is_last(row[3]):
            self.ends = True
            if self.count or self._is_begun:
                self._put_back(row)
                return False
        self._taken[row[0]] = row
        times = (max(self.now_ms - row[2], 0), row[3]) if with_times else None
        self._answer(entry, times, caps)
        return True

    def _put_back(self, row: Row) -> None:
        """Take back an entry that may not be given now."""
        self.policy.due.put_back(row)

    def _answer(self, entry: bytes, times: tuple[int, int] | None, caps: NoCaps) -> None:
        """Answer an entry; `times`: how long it was idle, and its deliveries before (CLAIM)."""
        if times is not None:
            entry = b"*4%b:%d\r\n:%d\r\n" % (entry[len(b"*2") :], *times)
        self.count += 1
        self.pieces.append(entry)
        caps.spend(1, len(entry))

    def part(self, header: bytes) -> bytes:
        """What was answered, as a part of the reply after its header."""
        return b"".join([header, replies.array_header(self.count), *self.pieces])

    def _is_last(self, deliveries: int) -> bool:
        """Return True if the next delivery of an entry is its last one."""
        most = self.policy.options.max_deliveries
        return 0 < most <= deliveries + 1

    def commit(self) -> None:
        """Hand over what was taken of due entries."""
        number = self._hand_over()
        if self._is_any_due:
            self.policy.row += number

    def _hand_over(self) -> int:
        """Deliver what was taken, and drop what has no content; the number delivered."""
        drop_ghosts(self.client, self.key, self.group, self.policy, self._ghosts)
        rows = list(self._taken.values())
        self._ghosts, self._taken = [], {}
        if rows:
            self._deliver_again(rows)
        return len(rows)

    def _deliver_again(self, rows: list[Row]) -> None:
        client, group, now_ms = self.client, self.group, self.now_ms
        counts = group.claim_all(rows, self.consumer, now_ms, deliveries=1)
        self.consumer.active_ms = now_ms
        self._count_again(rows)
        group_changed(client, self.key, len(rows))
        if client.instance.propagation.sinks:
            ids = [row[0] for row in rows]
            propagate_claims(client, self.key, group, self.consumer, ids, now_ms, counts)
        note(client, self.key, self.stream)

    def _count_again(self, rows: list[Row]) -> None:
        self.policy.redelivered += len(rows)
        self._timer.counts.redelivered += len(rows)

    # -- MAX-PENDING ---------------------------------------------------------------------------

    def room(self, count: int) -> int | None:
        """How many more entries may be in flight; None: no limit. `count` are wanted, or ALL."""
        most = self.policy.options.max_pending
        if not most:
            return None
        room = most - self._in_flight()
        if count == ALL or room < count:
            for _ in range(_SWEEPS):
                if not self._sweep():
                    break
            room = most - self._in_flight()
        return max(room, 0)

    def _in_flight(self) -> int:
        taken = sum(row[1] is None for row in self._taken.values())
        return self.group.in_flight_count + taken

    def _sweep(self) -> bool:
        """Drop some entries that have lost their content; False if no others can have."""
        policy, stream, pending = self.policy, self.stream, self.group.pending
        lost = stream.entries_added - stream.length
        known, start = policy.swept
        if lost != known:
            start = MIN_ID
        elif start == MAX_ID:
            return False
        ids: list[EntryID] = []
        for row in pending.rows_from(start):
            if len(ids) == _SWEPT_AT_ONCE:
                policy.swept = lost, row[0]
                break
            ids.append(row[0])
        else:
            policy.swept = lost, MAX_ID
        there = set(stream.existing(ids))
        ghosts = [entry_id for entry_id in ids if entry_id not in there | self._taken.keys()]
        drop_ghosts(self.client, self.key, self.group, policy, ghosts)
        return True

    # -- new entries ---------------------------------------------------------------------------

    def new_count(self, count: int, *, noack: bool) -> int:
        """How many new entries may follow (ALL: no limit)."""
        if self.ends:
            return 0
        rest = count if count == ALL else count - self.count
        if noack:
            return rest
        room = self.room(rest)
        if room is not None:
            self.policy.is_held = room == 0
            rest = room if rest == ALL else min(rest, room)
        if not self._is_last(0):
            return rest
        if self.count or self._is_begun:
            return 0
        return 1 if rest == ALL else min(rest, 1)

    def add_new(
        self, ids: EntryIDs, chunks: list[bytes], size_bytes: int, caps: NoCaps, *, with_times: bool
    ) -> None:
        """Answer new entries; with CLAIM, the caps may cut them short."""
        if not with_times:
            self.count += ids.count
            self.pieces += chunks
            caps.spend(ids.count, size_bytes)
            return
        for given, entry in enumerate(self.stream.entries_of(list(ids))):
            if not caps.admits():
                ids.cut(given)
                return
            assert entry is not None
            self._answer(entry, (0, 0), caps)

    def note_new(self, number: int) -> None:
        """New entries were delivered."""
        if number:
            if self._is_any_due:
                row = self.policy.row - REDELIVERED_IN_A_ROW * number
                self.policy.row = max(0, row)
            if self._is_last(0):
                self.ends = True
                note(self.client, self.key, self.stream)

    # -- history -------------------------------------------------------------------------------

    def history(self, after: EntryID, count: int, caps: NoCaps) -> None:
        """The consumer's own entries after an ID."""
        due = self.policy.due
        for row in self.consumer.pending.rows_from(after + 1):
            if self.ends or self.count == count or not caps.admits():
                break
            if self._is_hidden(row):
                continue
            if self._stays(row):
                entry = self.stream.get(row[0]) or deleted_entry(row[0], self.client.resp)
                self._answer(entry, None, caps)
            elif not due.is_exhausted(row[3]):
                self._give(row, caps, with_times=False)
        self.commit()

    def _is_hidden(self, row: Row) -> bool:
        """Return True if an entry was not sent to its owner yet, or not again."""
        return False

    def _stays(self, row: Row) -> bool:
        """Return True if an entry is answered as it is, because its owner may be at work on it."""
        return self.now_ms < self.policy.due.deadline_ms(row)
