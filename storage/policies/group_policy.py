"""The delivery policy of a consumer group: its options, and what it knows of pending entries.

A group has one only if it was asked for: by XGROUP CONFIG, or by XNACK with DELAY or REASON. It is
told of each change of the group's pending entries (storage/groups/group.py).

A reason is the text that XNACK gave for an entry. It is kept as long as the entry is pending, and
replaced by the next XNACK.

With KEY-FIELD, `keys` knows which key each pending entry belongs to.
"""

from __future__ import annotations

from collections.abc import Iterable

from storage.entries.entry_id import MIN_ID, EntryID
from storage.groups.claim_order import ClaimOrder
from storage.groups.pending_block import ConsumerPending, MemoryCounter, Owner
from storage.groups.pending_list import PendingList
from storage.memory import allocated_bytes, bytes_object_bytes, dict_bytes
from storage.policies.due_entries import DeliveryOptions, DueEntries
from storage.policies.key_order import KeyOrder

_ID_BYTES = allocated_bytes(1 << 100)

COUNTERS = (
    "redelivered", "dead_lettered", "dead_letter_failures", "ghosts_dropped", "consumers_expired",
)  # fmt: skip

# After this many redelivered entries in a row, a new one is delivered if there is one.
REDELIVERED_IN_A_ROW = 3


class GroupPolicy:
    """The policy of one group; see the module."""

    __slots__ = (
        "_counted_bytes", "_pending", "_counter", "_texts_bytes", "consumers_expired",
        "dead_letter_failures", "dead_lettered", "due", "expiry_ms", "ghosts_dropped",
        "is_awaited", "is_held", "keys", "options", "reasons", "redelivered", "row", "swept",
    )  # fmt: skip

    def __init__(self, pending: PendingList, order: ClaimOrder) -> None:
        self._pending = pending
        self._counter: MemoryCounter = pending.counter
        self._counted_bytes = self._texts_bytes = 0
        self.options = DeliveryOptions()
        self.due = DueEntries(pending, order)
        self.reasons: dict[EntryID, bytes] = {}
        self.keys: KeyOrder | None = None  # KEY-FIELD
        self.row = 0  # the number of entries that were redelivered since a new one was delivered
        self.is_awaited = False  # a client waits for entries that fall due
        self.is_held = False  # a read has found no room (MAX-PENDING)
        # How far entries without content were looked for since the stream lost some: the number
        # that it had lost, and the next ID.
        self.swept: tuple[int, EntryID] = 0, 0
        self.expiry_ms = 0  # no consumer expires before this (CONSUMER-EXPIRY)
        self.redelivered = 0
        self.dead_lettered = 0
        self.dead_letter_failures = 0
        self.ghosts_dropped = 0
        self.consumers_expired = 0
        self._settle()

    def configure(self, options: DeliveryOptions) -> None:
        """Apply other options, to entries that are pending already as well."""
        self.options = options
        self.expiry_ms = 0
        if not options.key_field:
            if self.keys is not None:
                self.keys.leave()
            self.keys = None
        else:
            if self.keys is None:
                self.keys = KeyOrder(self._pending, self.due)
            bounds = options.key_lookahead, options.key_lookahead_of_key
            self.keys.configure(options.key_field, *bounds)
        self.due.keys = self.keys
        self.due.configure(options)

    @property
    def is_needed(self) -> bool:
        """True if an option is set, or something is known of a pending entry."""
        is_default = self.options == DeliveryOptions()
        return not is_default or bool(self.reasons) or self.due.has_delays

    def note(self, ids: list[EntryID], delivery_ms: int, *, is_owned: bool = True) -> None:
        """Entries were delivered to an owner at this time, or added without one."""
        if not is_owned:
            self.release(ids, [0] * len(ids))
            return
        if self.keys is not None:
            self.keys.note(ids)
        self.due.note(ids, delivery_ms)

    def release(self, ids: list[EntryID], dues_ms: list[int]) -> None:
        """Entries were released, and fall due at these times (0: at once)."""
        self.due.release(ids, dues_ms)
        if self.keys is not None:
            self.keys.release(ids)

    def transfer(self, ids: list[EntryID], heir: Owner) -> None:
        """Entries have another owner, and nothing else is new."""
        if self.keys is not None:
            self.keys.transfer(ids, heir)

    @property
    def reserved_count(self) -> int:
        """The number of pending entries that are not sent yet, or not again (KEY-FIELD)."""
        return 0 if self.keys is None else len(self.keys.reserved)

    @property
    def wakes(self) -> bool:
        """True if an acknowledgement may let a consumer go on that waits."""
        return self.is_held or (self.keys is not None and self.keys.wakes)

    # -- reasons -------------------------------------------------------------------------------

    def set_reason(self, ids: Iterable[EntryID], reason: bytes | None) -> None:
        """Set the reason of pending entries; None: they have none any more."""
        for entry_id in ids:
            if reason is not None and entry_id not in self._pending:
                continue
            former = self.reasons.pop(entry_id, None)
            if former is not None:
                self._texts_bytes -= bytes_object_bytes(len(former)) + _ID_BYTES
            if reason is not None:
                self.reasons[entry_id] = reason
                self._texts_bytes += bytes_object_bytes(len(reason)) + _ID_BYTES
        self._settle()

    def forget(self, ids: Iterable[EntryID]) -> None:
        """Entries are not pending any more."""
        if self.due.has_delays:
            self.due.forget(list(ids))
        if self.keys is not None:
            self.keys.forget(ids)
        if self.reasons:
            self.set_reason(ids, None)

    def forget_owned(self, consumer: Owner) -> None:
        """The entries of a consumer are not pending any more."""
        if self.keys is not None:
            owned = ConsumerPending(consumer).rows_from(MIN_ID)
            self.keys.forget_owner(consumer, [row[0] for row in owned])
        ids = list(self.reasons)
        rows = self._pending.rows_of(ids) if ids else []
        self.set_reason([row[0] for row in rows if row is not None and row[1] is consumer], None)

    # -- the whole -----------------------------------------------------------------------------

    def copy(self, pending: PendingList, order: ClaimOrder) -> GroupPolicy:
        """A policy for a copy of the group, with counters that start at 0."""
        twin = GroupPolicy(pending, order)
        twin.configure(self.options)
        for entry_id, due_ms in self.due.delays():
            twin.set_delay(entry_id, due_ms)
        for entry_id, reason in self.reasons.items():
            twin.set_reason([entry_id], reason)
        if self.keys is not None and twin.keys is not None:
            self.keys.copy_to(twin.keys)
        return twin

    # What a snapshot says. What it says about entries that are not pending is ignored.

    def set_delay(self, entry_id: EntryID, due_ms: int) -> None:
        """Set when an entry that is released already falls due."""
        row = self._pending.rows_of([entry_id])[0]
        if row is not None and row[1] is None:
            self.due.release([entry_id], [due_ms])

    def counters(self) -> list[int]:
        """The counters, in the order of COUNTERS."""
        return [getattr(self, name) for name in COUNTERS]

    def count_from(self, numbers: Iterable[int]) -> None:
        """Continue counting from these values. Raises ValueError."""
        for name, number in zip(COUNTERS, numbers, strict=True):
            setattr(self, name, number)

    def leave(self) -> None:
        """Subtract the memory from the group's counter."""
        self.due.leave()
        if self.keys is not None:
            self.keys.leave()
        self._counter.add(-self._counted_bytes)
        self._counted_bytes = 0

    def _settle(self) -> None:
        size = dict_bytes(self.reasons) + self._texts_bytes
        self._counter.add(size - self._counted_bytes)
        self._counted_bytes = size
