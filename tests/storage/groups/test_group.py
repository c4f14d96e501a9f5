"""storage/groups/group.py: how long entries waited for their first delivery.

Consumer groups and their pending entries lists.

Deletions that look at what groups refer to: KEEPREF, DELREF and ACKED.
"""

from __future__ import annotations

import gc
import weakref
from collections import deque
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.entries.entry_id import EntryIDs, make_id
from storage.groups.group import (
    BOUNDS_MS,
    MAX_DELIVERIES,
    NEVER,
    UNKNOWN,
    Consumer,
    DeliveryLatency,
    Group,
    References,
    Traces,
    is_time,
)
from storage.groups.pending_block import NO_BLOCKS, PendingEntry
from storage.stream import Stream
from tests.storage.groups.changes import assign, set_delivery

NOW_MS = 1_700_000_000_000


def observed(*added_ms: int) -> DeliveryLatency:
    latency = DeliveryLatency()
    latency.observe(EntryIDs.of([make_id(ms, 0) for ms in sorted(added_ms)]), NOW_MS)
    return latency


def test_an_entry_counts_at_each_bound_that_it_did_not_exceed() -> None:
    counts = dict(zip([*BOUNDS_MS, None], observed(NOW_MS - 3).cumulative(), strict=True))
    assert (counts[2], counts[4], counts[8], counts[None]) == (0, 1, 1, 1)


def test_the_bounds_are_from_1_ms_to_524_s() -> None:
    assert (BOUNDS_MS[0], BOUNDS_MS[-1]) == (1, 524_288)


def test_an_id_ahead_of_the_clock_has_not_waited() -> None:
    latency = observed(NOW_MS + 1000)
    assert (latency.cumulative()[0], latency.total_ms) == (1, 0)


def test_an_id_that_is_no_time_is_left_out() -> None:
    latency = observed(1, 10**12 - 1, NOW_MS - 7, NOW_MS + 3_600_001)
    assert (latency.cumulative()[-1], latency.total_ms) == (1, 7)
    assert [is_time(ms, NOW_MS) for ms in (1, NOW_MS, NOW_MS + 3_600_001)] == [False, True, False]


@given(st.lists(st.integers(0, 2_000_000), max_size=50))
def test_each_entry_is_in_the_bucket_of_its_time(waited: list[int]) -> None:
    latency = observed(*(NOW_MS - ms for ms in waited))
    expected = [sum(ms <= bound for ms in waited) for bound in BOUNDS_MS]
    assert latency.cumulative() == [*expected, len(waited)]
    assert latency.total_ms == sum(waited)


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


def test_a_consumer_has_an_index_of_its_own_from_its_first_pending_entry_on() -> None:
    group = Group(b"readers", 0)
    idle, busy = group.create_consumer(b"idle", 1), group.create_consumer(b"busy", 1)
    before = group.memory_bytes()
    assert idle.pending_blocks is busy.pending_blocks is NO_BLOCKS
    group.deliver(busy, EntryIDs.of([1, 2]), 5)
    assert (len(NO_BLOCKS), idle.pending_blocks) == (0, NO_BLOCKS)
    assert busy.pending_blocks is not NO_BLOCKS and list(busy.pending) == [1, 2]
    assert group.memory_bytes() > before
    twin = group.copy()
    assert twin.consumers[b"idle"].pending_blocks is NO_BLOCKS
    assert list(twin.consumers[b"busy"].pending) == [1, 2] and list(idle.pending) == []
    for name in (b"idle", b"busy"):
        group.delete_consumer(name)
    assert len(NO_BLOCKS) == 0


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
@pytest.mark.parametrize(("delivered", "acknowledged"), [(3, 0), (3, 3), (0, 0)])
def test_a_consumer_is_freed_without_the_garbage_collector(
    end: Callable[[Group], None], delivered: int, acknowledged: int
) -> None:
    group = Group(b"readers", 0)
    consumer = group.consumers[b"c"] = Watched(b"c", 0)
    group.deliver(consumer, EntryIDs.of(list(range(1, delivered + 1))), 0)
    group.acknowledge_all(EntryIDs.of(list(range(1, acknowledged + 1))))
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


def stream_of(count: int, node_entries: int = 100) -> Stream:
    """A stream with the entries 1 to `count`."""
    stream = Stream()
    for entry_id in range(1, count + 1):
        stream.append(entry_id, [b"f", b"v"], node_entries, 0)
    return stream


def read(stream: Stream, name: bytes, last_id: int, acknowledged: list[int]) -> Group:
    """A group that was given all entries up to `last_id` and has acknowledged some."""
    group = stream.groups[name] = Group(name, 0, 0)
    group.deliver(group.create_consumer(b"alice", 0), EntryIDs.of(range(1, last_id + 1)), 100)
    group.last_delivered_id = last_id
    group.acknowledge_all(EntryIDs.of(acknowledged))
    return group


def is_referenced(stream: Stream, entry_id: int) -> bool:
    return not stream.unreferenced([entry_id])


def ids(stream: Stream) -> list[int]:
    return list(stream.ids(0, 2**128 - 1))


def node_sizes(stream: Stream) -> list[int]:
    return [node.live for node in stream.iter_nodes()]


def test_without_groups_nothing_is_referenced() -> None:
    stream = stream_of(3)
    assert not is_referenced(stream, 2)
    assert not is_referenced(stream, 99)


def test_what_one_group_was_not_given_is_referenced() -> None:
    stream = stream_of(5)
    read(stream, b"fast", 5, [1, 2, 3, 4, 5])
    read(stream, b"slow", 2, [1, 2])
    assert [is_referenced(stream, entry_id) for entry_id in (1, 2, 3, 5)] == [
        *(False, False),
        *(True, True),
    ]


def test_what_does_not_exist_is_referenced_beyond_the_last_delivery() -> None:
    stream = stream_of(5)
    read(stream, b"readers", 5, [1, 2, 3, 4, 5])
    assert is_referenced(stream, 6)


def test_what_one_group_has_not_acknowledged_is_referenced() -> None:
    stream = stream_of(3)
    read(stream, b"one", 3, [1, 2, 3])
    read(stream, b"two", 3, [1, 3])
    assert [is_referenced(stream, entry_id) for entry_id in (1, 2, 3)] == [False, True, False]


def test_an_entry_that_nobody_owns_is_referenced() -> None:
    stream = stream_of(3)
    group = read(stream, b"readers", 3, [1, 3])
    group.release(group.pending[2], 1)
    assert is_referenced(stream, 2)
    assert stream.drop_references([2]) == 1
    assert not is_referenced(stream, 2)
    assert group.nacked_count == 0


def test_a_destroyed_group_refers_to_nothing() -> None:
    """Redis 8.2 kept the smallest last ID of a group that was gone."""
    stream = stream_of(3)
    read(stream, b"fast", 3, [1, 2, 3])
    read(stream, b"slow", 1, [])
    assert is_referenced(stream, 1)
    assert is_referenced(stream, 3)
    stream.groups.pop(b"slow").disband()
    assert not is_referenced(stream, 1)
    assert not is_referenced(stream, 3)


def test_a_group_that_was_set_back_refers_to_what_it_will_be_given_again() -> None:
    stream = stream_of(3)
    group = read(stream, b"readers", 3, [1, 2, 3])
    group.last_delivered_id = 1
    assert [is_referenced(stream, entry_id) for entry_id in (1, 2, 3)] == [False, True, True]


def test_a_copy_refers_to_the_same_entries() -> None:
    """Redis 8.2 crashed where its table of references had not been built."""
    stream = stream_of(3)
    read(stream, b"readers", 3, [1, 3])
    twin = stream.copy()
    assert [is_referenced(twin, entry_id) for entry_id in (1, 2, 3)] == [False, True, False]
    assert twin.trim_to_length(0, references=References.ACKED) == 2
    assert ids(twin) == [2]
    assert ids(stream) == [1, 2, 3]


def test_references_are_dropped_in_every_group_and_for_every_consumer() -> None:
    stream = stream_of(3)
    one = read(stream, b"one", 3, [])
    two = read(stream, b"two", 3, [1])
    assert stream.drop_references([2]) == 2
    assert stream.drop_references([2]) == 0
    assert stream.drop_references([1]) == 1
    assert list(one.pending) == list(one.consumers[b"alice"].pending) == [3]
    assert list(two.pending) == [3]


def test_hundreds_of_references_are_dropped() -> None:
    """Redis 8.2 had room for a fixed number of IDs."""
    stream = stream_of(500)
    group = read(stream, b"readers", 500, [])
    assert stream.drop_references(list(range(1, 501))) == 500
    assert not group.pending
    assert list(group.claimable(10_000, 0)) == []


# -- trimming ----------------------------------------------------------------------------------


def test_trimming_keeps_references_unless_told_otherwise() -> None:
    stream = stream_of(4)
    group = read(stream, b"readers", 4, [])
    assert stream.trim_to_length(1) == 3
    assert list(group.pending) == [1, 2, 3, 4]


def test_trimming_drops_the_references_to_what_it_removes() -> None:
    stream = stream_of(4)
    group = read(stream, b"readers", 4, [1])
    assert stream.trim_to_length(1, references=References.DELETE) == 3
    assert (ids(stream), list(group.pending)) == ([4], [4])
    assert stream.trim_before(5, references=References.DELETE) == 1
    assert (stream.node_count, list(group.pending)) == (0, [])


def test_trimming_passes_over_what_is_referenced_and_goes_on() -> None:
    stream = stream_of(10, node_entries=3)
    read(stream, b"readers", 8, [1, 3, 4, 5, 6, 8])
    assert stream.trim_to_length(6, references=References.ACKED) == 4
    assert ids(stream) == [2, 6, 7, 8, 9, 10]
    assert stream.trim_to_length(0, references=References.ACKED) == 2
    assert ids(stream) == [2, 7, 9, 10]


def test_trimming_by_id_passes_over_what_is_referenced() -> None:
    stream = stream_of(10, node_entries=3)
    read(stream, b"readers", 10, [1, 3, 4, 5, 6, 8])
    assert stream.trim_before(6, references=References.ACKED) == 4
    assert ids(stream) == [2, 6, 7, 8, 9, 10]


def test_trimming_never_changes_the_greatest_deleted_id() -> None:
    for references in References:
        stream = stream_of(4)
        stream.trim_to_length(1, references=references)
        assert (stream.length, stream.max_deleted_id) == (1, 0)


def test_acknowledged_entries_go_in_an_approximate_trim_too() -> None:
    """Redis 8.2 removed nothing with `~` and one of these options."""
    for references in (References.DELETE, References.ACKED):
        stream = stream_of(10, node_entries=2)
        read(stream, b"readers", 10, list(range(1, 11)))
        removed = stream.trim_to_length(4, approximate=True, limit=100, references=references)
        assert (removed, ids(stream)) == (6, [7, 8, 9, 10])


def test_an_approximate_trim_that_looks_at_references_cuts_nodes_apart() -> None:
    for references in (References.DELETE, References.ACKED):
        stream = stream_of(10)
        assert stream.trim_to_length(7, approximate=True, references=references) == 3
        assert stream.trim_before(6, approximate=True, references=references) == 2
        assert ids(stream) == [6, 7, 8, 9, 10]


def test_a_limit_below_the_size_of_a_node_trims_nothing() -> None:
    for references in References:
        stream = stream_of(10, node_entries=4)
        assert stream.trim_to_length(0, approximate=True, limit=3, references=references) == 0
        assert stream.trim_to_length(0, approximate=True, limit=7, references=references) == 4


def test_without_groups_every_entry_counts_as_acknowledged() -> None:
    stream = stream_of(4)
    assert stream.trim_before(4, approximate=True, limit=4, references=References.ACKED) == 3
    assert ids(stream) == [4]


def test_nodes_are_dropped_when_their_last_entry_goes() -> None:
    for references in (References.DELETE, References.ACKED):
        stream = stream_of(9, node_entries=3)
        stream.trim_to_length(4, references=references)
        assert node_sizes(stream) == [1, 3]
        stream.append(10, [b"f", b"v"], 3, 0)
        assert node_sizes(stream) == [1, 3, 1]
        assert stream.trim_to_length(0, references=references) == 5
        assert node_sizes(stream) == []
        stream.append(11, [b"f", b"v"], 3, 0)
        assert ids(stream) == [11]


@pytest.mark.parametrize("references", References)
def test_a_node_goes_with_its_last_entry_even_if_it_ends_beyond_the_trim(
    references: References,
) -> None:
    """Redis before 8.10 keeps it, and a newer one does not load it (redis#15808)."""
    stream = stream_of(3)
    stream.delete(3)
    assert stream.trim_before(3, references=references) == 2
    assert (stream.length, node_sizes(stream)) == (0, [])
    stream.append(4, [b"f", b"v"], 3, 0)
    assert (node_sizes(stream), stream.first_id, stream.last_live_id) == ([1], 4, 4)


def deleted_in_the_middle() -> tuple[Stream, Group]:
    """Entries 1 to 9 in nodes of three, all delivered, of which 2, 4, 5, 6 and 8 are deleted."""
    stream = stream_of(9, node_entries=3)
    group = read(stream, b"readers", 9, [])
    stream.delete_all([2, 4, 5, 6, 8])
    return stream, group


@pytest.mark.parametrize(
    ("trim", "removed", "kept"),
    [
        (lambda s, how: s.trim_before(3, references=how), 1, [3, 4, 5, 6, 7, 8, 9]),
        (lambda s, how: s.trim_before(8, references=how), 3, [8, 9]),
        (lambda s, how: s.trim_before(9, references=how), 3, [9]),
        (lambda s, how: s.trim_to_length(3, references=how), 1, [2, 3, 4, 5, 6, 7, 8, 9]),
        (lambda s, how: s.trim_to_length(2, references=how), 2, [4, 5, 6, 7, 8, 9]),
        (lambda s, how: s.trim_to_length(1, references=how), 3, [8, 9]),
        (lambda s, how: s.trim_to_length(0, references=how), 4, []),
        (
            lambda s, how: s.trim_before(9, approximate=True, limit=2, references=how),
            2,
            [7, 8, 9],
        ),
    ],
)
def test_references_to_entries_that_were_deleted_before_go_with_a_trim(
    trim: Callable[[Stream, References], int], removed: int, kept: list[int]
) -> None:
    stream, group = deleted_in_the_middle()
    assert trim(stream, References.DELETE) == removed
    assert list(group.pending) == list(group.consumers[b"alice"].pending) == kept


def test_a_trim_that_removes_no_entry_drops_references_as_well() -> None:
    stream = stream_of(3)
    group = read(stream, b"readers", 3, [])
    stream.delete(1)
    traces = Traces()
    assert stream.trim_before(2, references=References.DELETE, traces=traces) == 0
    assert (traces.removed, traces.dropped, list(group.pending)) == ([], {b"readers": [1]}, [2, 3])


def test_references_before_the_first_node_stay() -> None:
    """A trim that took a node whole has kept them, and nothing of the entries is left."""
    stream = stream_of(6, node_entries=3)
    group = read(stream, b"readers", 6, [])
    stream.trim_to_length(3)
    stream.trim_to_length(2, references=References.DELETE)
    assert list(group.pending) == [1, 2, 3, 5, 6]


@pytest.mark.interpreted
def test_nothing_is_looked_at_beyond_the_last_delivery(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = stream_of(1000, node_entries=10)
    read(stream, b"readers", 15, list(range(1, 16)))
    looked_at: list[int] = []
    unreferenced = Stream.unreferenced

    def counting(self: Stream, ids: list[int]) -> list[int]:
        looked_at.extend(ids)
        return unreferenced(self, ids)

    monkeypatch.setattr(Stream, "unreferenced", counting)
    assert stream.trim_to_length(10, references=References.ACKED) == 15
    assert 15 <= len(looked_at) <= 20
