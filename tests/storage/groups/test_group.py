"""Consumer groups and their pending entries lists."""

from __future__ import annotations

import gc
import weakref
from collections import deque
from collections.abc import Callable

import pytest

from storage.entries.entry_ids import EntryIDs
from storage.groups.consumer import NEVER, Consumer
from storage.groups.group import MAX_DELIVERIES, UNKNOWN, Group
from storage.groups.pending_block import PendingEntry
from tests.storage.groups.changes import assign, set_delivery


@pytest.fixture
def group() -> Group:
    """A group with consumers alice (entries 1 to 5) and bob (6 to 8), delivered at 100 and 200."""
    group = Group(b"readers", 8)
    alice = group.create_consumer(b"alice", 100)
    bob = group.create_consumer(b"bob", 200)
    group.deliver(alice, EntryIDs.of([1, 2, 3, 4, 5]), 100)
    group.deliver(bob, EntryIDs.of([6, 7, 8]), 200)
    return group


def owned(consumer: Consumer) -> list[int]:
    return list(consumer.pending)


def entry(group: Group, entry_id: int) -> PendingEntry:
    found = group.pending.get(entry_id)
    assert found is not None
    return found


def assert_consistent(group: Group) -> None:
    """The group's PEL is the union of its consumers', entry by entry."""
    union = {}
    for consumer in group.consumers.values():
        for entry_id, pending in consumer.pending.items():
            assert pending.consumer is consumer
            assert entry_id not in union
            union[entry_id] = pending
    assert dict(group.pending.items()) == union


def test_a_new_group_knows_only_where_it_starts() -> None:
    group = Group(b"readers", 5)
    assert (group.name, group.last_delivered_id) == (b"readers", 5)
    assert group.entries_read == UNKNOWN
    assert len(group.pending) == 0
    assert group.consumers == {}


def test_a_new_consumer_was_seen_but_never_active(group: Group) -> None:
    carol = group.create_consumer(b"carol", 300)
    assert (carol.name, carol.seen_ms, carol.active_ms) == (b"carol", 300, NEVER)
    assert group.consumers[b"carol"] is carol


def test_a_delivered_entry_is_pending_with_one_delivery(group: Group) -> None:
    pending = entry(group, 7)
    assert (pending.entry_id, pending.delivery_ms, pending.delivery_count) == (7, 200, 1)
    assert pending.consumer is group.consumers[b"bob"]
    assert list(group.consumers[b"bob"].pending.values())[1:2] == [pending]
    assert list(group.pending) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert_consistent(group)


def test_an_acknowledged_entry_is_no_longer_pending(group: Group) -> None:
    assert group.acknowledge(3)
    assert owned(group.consumers[b"alice"]) == [1, 2, 4, 5]
    assert not group.acknowledge(3)
    assert not group.acknowledge(99)
    assert_consistent(group)


def test_an_entry_delivered_again_changes_hands_and_starts_anew(group: Group) -> None:
    bob = group.consumers[b"bob"]
    set_delivery(group, entry(group, 2), 100, 9)
    group.deliver(bob, EntryIDs.of([2, 5, 7, 9, 10]), 500)
    assert entry(group, 2) == PendingEntry(2, bob, 500, 1)
    assert owned(group.consumers[b"alice"]) == [1, 3, 4]
    assert owned(bob) == [2, 5, 6, 7, 8, 9, 10]
    assert entry(group, 7).delivery_ms == 500
    assert_consistent(group)


def test_the_last_pending_entry_is_delivered_again(group: Group) -> None:
    alice = group.consumers[b"alice"]
    group.deliver(alice, EntryIDs.of([8, 9]), 500)
    assert owned(alice) == [1, 2, 3, 4, 5, 8, 9]
    assert_consistent(group)


def test_entries_below_pending_ones_are_delivered_in_order(group: Group) -> None:
    for entry_id in (2, 4):
        group.acknowledge(entry_id)
    group.deliver(group.consumers[b"bob"], EntryIDs.of([2, 4]), 500)
    assert list(group.pending) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert owned(group.consumers[b"bob"]) == [2, 4, 6, 7, 8]
    assert_consistent(group)


def test_delivering_nothing_changes_nothing(group: Group) -> None:
    group.deliver(group.consumers[b"bob"], EntryIDs.of([]), 500)
    assert len(group.pending) == 8


def test_a_claimed_entry_moves_with_its_time_and_count(group: Group) -> None:
    bob = group.consumers[b"bob"]
    pending = entry(group, 3)
    assign(group, pending, bob)
    assert (pending.consumer, pending.delivery_ms, pending.delivery_count) == (bob, 100, 1)
    assert owned(bob) == [3, 6, 7, 8]
    assert owned(group.consumers[b"alice"]) == [1, 2, 4, 5]
    assert_consistent(group)


def test_claiming_ones_own_entry_keeps_it(group: Group) -> None:
    bob = group.consumers[b"bob"]
    assign(group, entry(group, 6), bob)
    assert owned(bob) == [6, 7, 8]
    assert_consistent(group)


def test_an_entry_is_made_pending_by_force(group: Group) -> None:
    bob = group.consumers[b"bob"]
    group.acknowledge(2)
    pending = group.add(2, bob, 50, 3)
    assert entry(group, 2) == pending
    assert (pending.delivery_ms, pending.delivery_count) == (50, 3)
    assert list(group.pending)[:3] == [1, 2, 3]
    assert owned(bob)[0] == 2
    with pytest.raises(AssertionError):
        group.add(2, bob, 50, 3)
    assert_consistent(group)


def test_a_deleted_consumer_takes_its_pending_entries_along(group: Group) -> None:
    assert group.delete_consumer(b"alice") == 5
    assert list(group.pending) == [6, 7, 8]
    assert group.delete_consumer(b"alice") == 0
    assert_consistent(group)


def test_a_copy_has_consumers_and_pending_entries_of_its_own(group: Group) -> None:
    group.entries_read = 8
    group.consumers[b"alice"].active_ms = 150
    group.create_consumer(b"idle", 300)
    set_delivery(group, entry(group, 4), 100, 7)
    twin = group.copy()
    assert (twin.name, twin.last_delivered_id, twin.entries_read) == (b"readers", 8, 8)
    assert list(twin.consumers) == [b"alice", b"bob", b"idle"]
    assert [c.seen_ms for c in twin.consumers.values()] == [100, 200, 300]
    assert [c.active_ms for c in twin.consumers.values()] == [150, NEVER, NEVER]
    assert entry(twin, 4).delivery_count == 7
    assert_consistent(twin)
    twin.acknowledge(4)
    twin.delete_consumer(b"bob")
    assert list(group.pending) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert_consistent(group)


class Watched(Consumer):
    """A consumer that can be watched for being freed."""

    __slots__ = ("__weakref__",)


def delete_consumer(group: Group) -> None:
    group.delete_consumer(b"c")
    for _ in group.tidy_up():
        pass


@pytest.mark.parametrize("end", [Group.disband, delete_consumer], ids=["disband", "delete"])
def test_a_consumer_is_freed_without_the_garbage_collector(end: Callable[[Group], None]) -> None:
    group = Group(b"readers", 0)
    consumer = group.consumers[b"c"] = Watched(b"c", 0)
    group.deliver(consumer, EntryIDs.of([1, 2, 3]), 0)
    freed = weakref.ref(consumer)
    gc.disable()
    try:
        end(group)
        del consumer
        assert freed() is None
    finally:
        gc.enable()


def test_the_estimate_of_memory_grows_with_what_is_pending(group: Group) -> None:
    small = group.memory_bytes()
    group.deliver(group.consumers[b"bob"], EntryIDs.of(range(1000, 11_000)), 300)
    grown = group.memory_bytes() - small
    assert 10_000 * 32 < grown < 10_000 * 40


# -- entries without an owner ------------------------------------------------------------------


def test_a_released_entry_is_pending_and_nobodys(group: Group) -> None:
    pending = entry(group, 3)
    group.release(pending, 4)
    assert (pending.consumer, pending.delivery_ms, pending.delivery_count) == (None, 0, 4)
    assert entry(group, 3) == pending
    assert owned(group.consumers[b"alice"]) == [1, 2, 4, 5]
    assert group.nacked_count == 1
    assert list(group.nacked()) == [pending]


def test_an_entry_can_be_pending_without_having_been_delivered(group: Group) -> None:
    pending = group.add(20, None, 500, 0)
    assert (pending.consumer, pending.delivery_ms, pending.delivery_count) == (None, 0, 0)
    assert list(group.nacked()) == [pending]


def test_a_released_entry_is_acknowledged_as_any_other(group: Group) -> None:
    group.release(entry(group, 3), 1)
    assert group.acknowledge_all(EntryIDs.of([3, 4, 99, 3])) == 2
    assert (group.nacked_count, len(group.pending)) == (0, 6)


def test_a_released_entry_stays_when_its_former_owner_goes(group: Group) -> None:
    group.release(entry(group, 3), 1)
    assert group.delete_consumer(b"alice") == 4
    assert list(group.pending) == [3, 6, 7, 8]
    assert group.nacked_count == 1


def test_a_released_entry_is_claimed_and_delivered_again(group: Group) -> None:
    bob = group.consumers[b"bob"]
    for entry_id in (2, 3):
        group.release(entry(group, entry_id), 4)
    assign(group, entry(group, 2), bob)
    group.deliver(bob, EntryIDs.of([3]), 500)
    assert (entry(group, 2).delivery_ms, entry(group, 2).delivery_count) == (0, 4)
    assert (entry(group, 3).delivery_ms, entry(group, 3).delivery_count) == (500, 1)
    assert owned(bob) == [2, 3, 6, 7, 8]
    assert group.nacked_count == 0
    assert_consistent(group)


def test_only_an_owned_entry_has_a_delivery_to_change(group: Group) -> None:
    group.release(entry(group, 3), 1)
    with pytest.raises(AssertionError):
        set_delivery(group, entry(group, 3), 500, 1)


def test_delivery_counts_stop_at_the_greatest_number() -> None:
    group = Group(b"readers", 0)
    alice = group.create_consumer(b"alice", 0)
    pending = group.add(1, alice, 0, MAX_DELIVERIES + 1)
    assert pending.delivery_count == MAX_DELIVERIES
    group.claim(pending, alice, 5, pending.delivery_count + 1)
    assert pending.delivery_count == MAX_DELIVERIES
    set_delivery(group, pending, 6, pending.delivery_count + 1)
    assert pending.delivery_count == MAX_DELIVERIES
    group.release(pending, MAX_DELIVERIES + 1)
    assert pending.delivery_count == MAX_DELIVERIES


def test_a_group_is_loaded_part_by_part() -> None:
    group = Group(b"readers", 8)
    alice, bob = (group.create_consumer(name, 5) for name in (b"alice", b"bob"))
    group.load_pending([1, 2, 3, 5], [50, 40, 0, 0], [1, 2, 3, 2**64 - 1])
    assert group.load_strays([4], [30], [4]) is None
    assert group.load_strays([5], [30], [4]) == 5
    deque(group.order_pending(), maxlen=0)
    assert group.load_owned(alice, [1, 4]) is None
    assert group.load_owned(bob, [2]) is None
    assert not group.is_loaded
    assert group.load_released([5, 3]) is None
    assert group.is_loaded
    assert (owned(alice), owned(bob), group.nacked_count) == ([1, 4], [2], 2)
    assert list(alice.pending.values()) == [group.pending[1], group.pending[4]]
    assert [row[0] for row in group.claimable(100, 0)] == [5, 3, 4, 2, 1]
    assert entry(group, 5).delivery_count == MAX_DELIVERIES
    assert (entry(group, 2).consumer, entry(group, 3).consumer) == (bob, None)


def test_a_group_is_not_loaded_with_an_entry_that_has_no_owner_or_two() -> None:
    group = Group(b"readers", 8)
    alice, bob = (group.create_consumer(name, 5) for name in (b"alice", b"bob"))
    group.load_pending([1, 2, 3], [5, 5, 5], [1, 1, 1])
    assert group.load_owned(alice, [1, 9]) == 9
    assert group.load_owned(alice, [2]) is None
    assert group.load_owned(bob, [2, 3]) == 2
    assert group.load_released([9]) == 9
    assert group.load_released([2]) == 2
    assert group.load_released([3, 3]) == 3

    group = Group(b"readers", 8)
    group.load_pending([1, 2, 3], [5, 5, 5], [1, 1, 1])
    assert group.load_released([3, 1]) is None
    assert not group.is_loaded
    assert group.load_released([1]) == 1
