"""The keys of each slot."""

from __future__ import annotations

from storage.keyspace.database import Database
from storage.keyspace.slot_index import SlotIndex
from storage.types.value import StringValue

SLOT = 12182  # of foo


def test_keys_are_kept_by_slot() -> None:
    index = SlotIndex([b"foo", b"{foo}b", b"bar"])
    assert index.count(SLOT) == 2
    assert index.first(SLOT, 10) == [b"foo", b"{foo}b"]
    assert index.first(SLOT, 1) == [b"foo"]
    index.discard(b"foo")
    index.discard(b"foo")
    assert index.first(SLOT, 10) == [b"{foo}b"]
    index.discard(b"{foo}b")
    assert index.slots() == [5061]
    index.clear()
    assert index.slots() == []


def test_a_database_keeps_its_index() -> None:
    db = Database(0)
    db.slots = SlotIndex()
    db.set(b"foo", StringValue(b"1"))
    db.set(b"foo", StringValue(b"2"))
    assert db.add_all([b"{foo}b", b"bar"], [StringValue(b"3"), StringValue(b"4")])
    assert db.slots.count(SLOT) == 2
    other = Database(1)
    db.swap_content(other)
    assert db.slots is None
    assert other.slots is not None
    other.remove(b"foo")
    assert other.slots.first(SLOT, 10) == [b"{foo}b"]
    other.clear()
    assert other.slots.slots() == []
