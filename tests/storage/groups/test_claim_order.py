"""The order in which pending entries become claimable, by way of a group."""

from __future__ import annotations

from itertools import islice, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.entries.entry_id import EntryIDs
from storage.groups import claim_order
from storage.groups.claim_order import PART_IDS, SPARE_IDS
from storage.groups.group import LOADED_AT_ONCE, Consumer, Group
from tests.storage.groups.changes import set_delivery


@pytest.fixture
def group() -> Group:
    """A group with the consumer alice."""
    group = Group(b"readers", 0)
    group.create_consumer(b"alice", 0)
    return group


def alice(group: Group) -> Consumer:
    return group.consumers[b"alice"]


def claimable(group: Group, now_ms: int = 10**6, min_idle_ms: int = 0) -> list[int]:
    return [entry_id for entry_id, *_ in group.claimable(now_ms, min_idle_ms)]


def listed(group: Group) -> int:
    """How many strays are in the parts, those that count no more included."""
    return sum(item >= 0 for part in group._order._parts.values() for item in part)


def later(group: Group) -> None:
    """Deliver an entry in the far future: what is delivered after it is no longer in line."""
    group.deliver(alice(group), EntryIDs.of([10**9]), 10**9)


def test_what_is_delivered_in_the_order_of_ids_and_times_is_not_listed(group: Group) -> None:
    group.deliver(alice(group), EntryIDs.of([1, 2]), 100)
    group.deliver(alice(group), EntryIDs.of([3]), 100)
    group.add(4, alice(group), 200, 3)
    assert (claimable(group), listed(group)) == ([1, 2, 3, 4], 0)
    group.deliver(alice(group), EntryIDs.of([5]), 199)
    assert (claimable(group), listed(group)) == ([1, 2, 3, 5, 4], 1)
    group.deliver(alice(group), EntryIDs.of([6]), 200)
    assert (claimable(group), listed(group)) == ([1, 2, 3, 5, 4, 6], 1)


def test_what_is_delivered_behind_a_claim_of_the_same_time_comes_behind_it(group: Group) -> None:
    group.deliver(alice(group), EntryIDs.of([1, 2]), 100)
    group.deliver(alice(group), EntryIDs.of([3]), 200)
    set_delivery(group, group.pending[1], 200, 2)
    group.deliver(alice(group), EntryIDs.of([4]), 200)
    assert claimable(group) == [2, 3, 1, 4]
    group.deliver(alice(group), EntryIDs.of([5]), 201)
    assert (claimable(group), listed(group)) == ([2, 3, 1, 4, 5], 2)


def test_entries_are_in_line_again_once_nothing_is_pending(group: Group) -> None:
    group.deliver(alice(group), EntryIDs.of([5]), 200)
    group.deliver(alice(group), EntryIDs.of([6]), 100)
    assert group.acknowledge_all(EntryIDs.of([5, 6])) == 2
    group.deliver(alice(group), EntryIDs.of([1]), 50)
    assert (claimable(group), listed(group)) == ([1], 0)


def test_the_oldest_delivery_comes_first(group: Group) -> None:
    group.deliver(alice(group), EntryIDs.of([5, 6]), 100)
    group.deliver(alice(group), EntryIDs.of([1, 2]), 300)
    group.deliver(alice(group), EntryIDs.of([3]), 200)
    assert claimable(group) == [5, 6, 3, 1, 2]


def test_what_was_delivered_at_the_same_time_comes_in_order_of_delivery(group: Group) -> None:
    group.deliver(alice(group), EntryIDs.of([5, 9]), 100)
    group.deliver(alice(group), EntryIDs.of([2, 7]), 100)
    group.deliver(alice(group), EntryIDs.of([12]), 200)
    group.deliver(alice(group), EntryIDs.of([13]), 300)
    group.add(1, alice(group), 100, 1)
    group.add(3, alice(group), 200, 1)
    assert claimable(group) == [5, 9, 2, 7, 1, 12, 3, 13]


def test_only_what_is_idle_for_long_enough_is_claimable(group: Group) -> None:
    group.deliver(alice(group), EntryIDs.of([1]), 100)
    group.deliver(alice(group), EntryIDs.of([2]), 200)
    assert claimable(group, 299, 100) == [1]
    assert claimable(group, 300, 100) == [1, 2]
    assert claimable(group, 199, 100) == []


def test_everything_is_claimable_at_once_even_if_the_clock_was_set_back(group: Group) -> None:
    group.deliver(alice(group), EntryIDs.of([1]), 5000)
    assert claimable(group, 100, 0) == [1]
    assert claimable(group, 100, 1) == []


def test_a_delivery_that_is_set_back_in_time_comes_earlier(group: Group) -> None:
    for entry_id in (1, 2, 3):
        group.deliver(alice(group), EntryIDs.of([entry_id]), 100 * entry_id)
    set_delivery(group, group.pending[3], 150, 1)
    assert claimable(group) == [1, 3, 2]
    set_delivery(group, group.pending[3], 300, 1)
    assert claimable(group) == [1, 2, 3]
    set_delivery(group, group.pending[3], 150, 1)
    assert claimable(group) == [1, 3, 2]


def test_many_deliveries_of_one_millisecond_are_all_listed(group: Group) -> None:
    ids = list(range(1, 3 * PART_IDS))
    group.deliver(alice(group), EntryIDs.of(ids), 100)
    group.deliver(alice(group), EntryIDs.of([10**6]), 100)
    assert claimable(group) == [*ids, 10**6]


def test_released_entries_come_first_in_the_order_of_their_release(group: Group) -> None:
    group.deliver(alice(group), EntryIDs.of([1, 2, 3, 4]), 100)
    for entry_id in (3, 1, 4, 3):
        group.release(group.pending[entry_id], 1)
    assert claimable(group, 100, 10_000) == [1, 4, 3]
    assert claimable(group) == [1, 4, 3, 2]


def test_a_released_entry_that_is_claimed_is_the_youngest(group: Group) -> None:
    group.deliver(alice(group), EntryIDs.of([1, 2]), 100)
    group.release(group.pending[1], 1)
    group.claim(group.pending[1], alice(group), 200, 2)
    assert claimable(group) == [2, 1]
    assert group.nacked_count == 0


def test_what_is_listed_twice_is_given_once(group: Group) -> None:
    """Claimed, claimed again, and set back to the time of the first claim."""
    group.deliver(alice(group), EntryIDs.of([1, 2]), 100)
    for delivery_ms in (200, 300, 200):
        set_delivery(group, group.pending[1], delivery_ms, 2)
    assert (claimable(group), listed(group)) == ([2, 1], 3)


def test_strays_and_what_is_in_line_come_in_one_order(group: Group) -> None:
    for entry_id in range(1, 9):
        group.deliver(alice(group), EntryIDs.of([entry_id]), 100 * entry_id)
    for entry_id, delivery_ms in ((1, 350), (2, 450), (3, 400), (8, 10)):
        set_delivery(group, group.pending[entry_id], delivery_ms, 2)
    assert claimable(group) == [8, 1, 4, 3, 2, 5, 6, 7]


def test_what_a_deleted_consumer_leaves_is_swept_in_steps(group: Group) -> None:
    later(group)
    bob = group.create_consumer(b"bob", 0)
    count = 50 * PART_IDS
    group.deliver(bob, EntryIDs.of(range(1, count + 1)), 1)
    assert group.delete_consumer(b"bob") == count
    assert listed(group) > count // 2
    steps = sum(1 for _ in group.tidy_up())
    assert 10 < steps < 200
    assert listed(group) <= 2 + SPARE_IDS
    assert claimable(group, 10**10) == [10**9]


def test_the_oldest_delivery_is_told(group: Group) -> None:
    assert group.oldest_delivery_ms() is None
    group.deliver(alice(group), EntryIDs.of([1]), 100)
    group.deliver(alice(group), EntryIDs.of([2]), 200)
    assert group.oldest_delivery_ms() == 100
    group.acknowledge(1)
    assert group.oldest_delivery_ms() == 200
    group.release(group.pending[2], 1)
    assert group.oldest_delivery_ms() == 0
    group.acknowledge(2)
    assert group.oldest_delivery_ms() is None


@pytest.mark.parametrize("is_one_stuck", [False, True])
def test_what_is_acknowledged_is_forgotten_in_time(group: Group, is_one_stuck: bool) -> None:
    """However long a group is used, the order keeps no more than about what is pending."""
    if is_one_stuck:
        later(group)
    most = 0
    for number in range(2, 20_000, 10):
        group.deliver(alice(group), EntryIDs.of(range(number, number + 10)), number)
        group.acknowledge_all(EntryIDs.of(range(number, number + 10)))
        most = max(most, listed(group))
    assert most <= 2 * SPARE_IDS
    assert claimable(group, 10**10) == [10**9] * is_one_stuck


def test_what_is_delivered_again_and_again_is_listed_a_few_times(group: Group) -> None:
    ids = list(range(1, 2001))
    group.deliver(alice(group), EntryIDs.of(ids), 1)
    for now_ms in range(2, 50):
        for entry_id in ids:
            set_delivery(group, group.pending[entry_id], now_ms, 1)
    assert len(ids) <= listed(group) <= 4 * len(ids) + SPARE_IDS
    assert claimable(group) == ids


def test_a_part_that_was_swept_goes_on_where_it_was(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is delivered next may have the time of entries that are all acknowledged."""
    monkeypatch.setattr(claim_order, "SPARE_IDS", 0)
    later(group)
    group.deliver(alice(group), EntryIDs.of([1]), 100)
    group.deliver(alice(group), EntryIDs.of([2, 3, 4, 5, 6]), 200)
    for _ in range(5):
        group.acknowledge_all(EntryIDs.of([2, 3, 4, 5, 6]))
        assert group.acknowledge_all(EntryIDs.of([99])) == 0
        group.deliver(alice(group), EntryIDs.of([2, 3, 4, 5, 6]), 200)
        assert listed(group) >= 6
        assert claimable(group, 1000, 800) == [1, 2, 3, 4, 5, 6]
        assert claimable(group, 1000, 801) == [1]


def test_the_last_part_may_be_divided(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where many deliveries are set back in time, it is; what comes next still comes last."""
    monkeypatch.setattr(claim_order, "PART_IDS", 8)
    group.deliver(alice(group), EntryIDs.of([1]), 100)
    group.deliver(alice(group), EntryIDs.of([2]), 500)
    for entry_id in range(3, 30):
        group.add(entry_id, alice(group), 100 + entry_id, 1)
    group.deliver(alice(group), EntryIDs.of([30]), 600)
    group.deliver(alice(group), EntryIDs.of([31]), 700)
    assert len(group._order._parts) > 1
    assert claimable(group) == [1, *range(3, 30), 2, 30, 31]


CLAIMS = st.tuples(st.integers(1, 40), st.integers(1, 6), st.integers(100, 104))


@given(st.lists(CLAIMS, min_size=8, max_size=30))
def test_whatever_claims_set_the_times_to_the_oldest_comes_first(
    claims: list[tuple[int, int, int]],
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claim_order, "PART_IDS", 4)
        group = Group(b"readers", 0)
        owner = group.create_consumer(b"alice", 0)
        group.deliver(owner, EntryIDs.of(range(1, 41)), 100)
        group.deliver(owner, EntryIDs.of([50]), 200)
        for start, count, delivery_ms in claims:
            rows = list(islice(group.pending.rows_from(start), count))
            group.claim_all(rows, owner, delivery_ms, deliveries=1)
        times = [delivery_ms for _, _, delivery_ms, _ in group.claimable(10**6, 0)]
        assert len(times) == 41
        assert times == sorted(times)


def test_nothing_is_left_in_an_order_without_pending_entries(group: Group) -> None:
    ids = list(range(1, 10_000))
    later(group)
    group.deliver(alice(group), EntryIDs.of(ids), 1)
    assert listed(group) == len(ids)
    assert group.acknowledge_all(EntryIDs.of([*ids, 10**9])) == len(ids) + 1
    assert listed(group) == 0
    later(group)
    group.deliver(alice(group), EntryIDs.of(ids), 1)
    group.delete_consumer(b"alice")
    assert listed(group) == 0


def test_a_walk_takes_what_no_longer_counts_off_the_head(group: Group) -> None:
    """Else each of many claims of one entry would look at all that were claimed before."""
    ids = list(range(1, 501))
    later(group)
    group.deliver(alice(group), EntryIDs.of(ids), 1)
    for entry_id in ids[:400]:
        set_delivery(group, group.pending[entry_id], 900, 2)
    assert listed(group) == 900
    assert next(group.claimable(1000, 0))[0] == 401
    assert listed(group) == 500


def test_a_walk_takes_what_is_no_longer_in_line_off_the_head(group: Group) -> None:
    ids = list(range(1, 2001))
    group.deliver(alice(group), EntryIDs.of(ids), 1)
    for entry_id in ids[:1500]:
        set_delivery(group, group.pending[entry_id], 900, 2)
    group.acknowledge(1501)
    assert next(group.claimable(1000, 0))[0] == 1502
    assert group._order._line_start == 1502
    assert claimable(group) == [*ids[1501:], *ids[:1500]]


def test_a_walk_does_not_look_for_a_line_that_has_ended(group: Group) -> None:
    """Else each claim would pass all entries that were ever in line and are claimed now."""
    ids = list(range(1, 2001))
    group.deliver(alice(group), EntryIDs.of(ids), 1)
    rows = list(group.claimable(1000, 0))
    group.claim_all(rows, alice(group), 900, deliveries=1)
    assert claimable(group) == ids
    assert group._order._line_start == 2001
    group.deliver(alice(group), EntryIDs.of([2001, 2002]), 901)
    assert claimable(group) == [*ids, 2001, 2002]
    assert listed(group) == 2000


def test_a_copy_has_the_same_order(group: Group) -> None:
    group.deliver(alice(group), EntryIDs.of([1, 2, 3, 4, 5, 6]), 100)
    set_delivery(group, group.pending[2], 300, 1)
    set_delivery(group, group.pending[6], 50, 1)
    for entry_id in (5, 4):
        group.release(group.pending[entry_id], 1)
    twin = group.copy()
    group.acknowledge_all(EntryIDs.of([1, 2, 3, 4, 5, 6]))
    assert claimable(twin) == [5, 4, 6, 1, 3, 2]
    assert twin.nacked_count == 2


@pytest.mark.parametrize("step", [0, 1, 7, -3])
def test_an_order_that_is_loaded_in_parts_goes_on_as_any_other(group: Group, step: int) -> None:
    count = 3 * PART_IDS
    ids = list(range(1, count + 1))
    times = [10**5 + step * entry_id // 2 for entry_id in ids]
    for start in range(0, count, LOADED_AT_ONCE):
        end = start + LOADED_AT_ONCE
        group.load_pending(ids[start:end], times[start:end], [1] * len(ids[start:end]))
    steps = [listed(group) for _ in group.order_pending()]
    assert all(later - earlier <= PART_IDS for earlier, later in pairwise([0, *steps]))
    assert group.load_owned(alice(group), ids) is None
    assert group.is_loaded
    expected = sorted(ids, key=lambda entry_id: (times[entry_id - 1], entry_id))
    assert claimable(group) == expected
    assert listed(group) == (count - 1 if step < 0 else 0)
    group.deliver(alice(group), EntryIDs.of([count + 1, count + 2]), 2 * 10**5)
    group.add(0, alice(group), times[0], 1)
    at_first_time = sum(time <= times[0] for time in times)
    expected.insert(at_first_time, 0)
    assert claimable(group) == [*expected, count + 1, count + 2]
    group.acknowledge_all(EntryIDs.of(ids))
    assert claimable(group) == [0, count + 1, count + 2]
    assert listed(group) <= 3 + SPARE_IDS
