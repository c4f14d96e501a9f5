"""The lock of a key: its pending entries in a group with KEY-FIELD (key_order.py).

The entries of a key are

    sent      with the owner of the key, who works on them
    reserved  pending for the owner of the key, but not sent, or not sent again
    released  by XNACK, without an owner

A lock with one entry takes about 340 bytes beside the pending entry itself, a further sent entry
about 120, and a reserved one 190. There are `KEY-LOOKAHEAD` reserved entries at most.

Leaves out: which of the entries that are not sent are reserved, and which were released. KeyOrder
knows the reserved ones of all keys.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import TypeAlias

from storage.entries.entry_id import MIN_ID, EntryID
from storage.groups.pending_block import Owner
from storage.memory import allocated_bytes, instance_bytes

# Most locks hold no entry back: they share the empty tuple.
_HeldIDs: TypeAlias = "list[EntryID] | tuple[EntryID, ...]"


class KeyLock:
    """The pending entries of one key; IDs ascend."""

    __slots__ = (
        "alone", "bound_ms", "held", "key", "last", "listed", "owner", "released", "sent",
    )  # fmt: skip

    def __init__(self, key: bytes) -> None:
        self.key = key
        self.owner: Owner | None = None  # of what is sent, or was sent last
        self.sent: list[EntryID] = []
        self.held: _HeldIDs = ()  # reserved and released entries
        self.released = 0  # how many of them were released
        self.alone: EntryID = MIN_ID  # what was sent again, so that nothing may follow
        self.listed: EntryID = MIN_ID  # the candidate that a heap has
        # No delay of a released entry ends later; that of `last` did, which may have left.
        self.bound_ms = 0
        self.last: EntryID = MIN_ID

    @property
    def oldest(self) -> EntryID:
        """The first of all."""
        if not self.held:
            return self.sent[0]
        return min(self.sent[0], self.held[0]) if self.sent else self.held[0]

    def has_sent(self, entry_id: EntryID) -> bool:
        """Return True if an entry is among those that are sent."""
        return _has(self.sent, entry_id)

    def has_held(self, entry_id: EntryID) -> bool:
        """Return True if an entry is among those that are not sent."""
        return _has(self.held, entry_id)

    def is_next(self, entry_id: EntryID, owner: Owner | None) -> bool:
        """Return True if a reserved entry may be sent to a consumer now; None: to anyone."""
        if not self.held or self.held[0] != entry_id or self.released:
            return False
        if owner is None:
            return not self.sent
        return bool(self.sent) and not self.alone and self.owner is owner

    def send(self, entry_id: EntryID) -> None:
        """Add an entry to those that are sent."""
        if not self.sent or entry_id > self.sent[-1]:
            self.sent.append(entry_id)
        elif not self.has_sent(entry_id):
            insort(self.sent, entry_id)

    def unsend(self, entry_id: EntryID) -> bool:
        """Remove an entry from those that are sent. Return True if it was their first."""
        place = bisect_left(self.sent, entry_id)
        del self.sent[place]
        if not self.sent:
            self.listed = MIN_ID
        return place == 0

    def hold(self, entry_id: EntryID) -> None:
        """Add an entry to those that are not sent."""
        if isinstance(self.held, tuple):
            self.held = [entry_id]
        elif entry_id > self.held[-1]:
            self.held.append(entry_id)
        else:
            insort(self.held, entry_id)

    def unhold(self, entry_id: EntryID) -> None:
        """Remove an entry from those that are not sent."""
        if isinstance(self.held, list):
            del self.held[bisect_left(self.held, entry_id)]
            if not self.held:
                self.held = ()


def _has(ids: _HeldIDs, entry_id: EntryID) -> bool:
    place = bisect_left(ids, entry_id)
    return place < len(ids) and ids[place] == entry_id


LOCK_BYTES = instance_bytes(KeyLock) + allocated_bytes([None])
