"""The blocks of a PEL. What becomes of their entries: test_pending_list.py.

The columns of a PEL. What a group does with them: test_group.py and test_group_model.py.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.entries.entry_id import EntryIDs
from storage.groups import pending_list
from storage.groups.group import MAX_DELIVERIES, Consumer
from storage.groups.pending_block import (
    BLOCK_ENTRIES,
    LARGE_COUNT,
    ROW_BYTES,
    Block,
    Owner,
    PendingEntry,
)
from storage.groups.pending_list import PendingBlocks, PendingList
from tests.storage.groups.sample_blocks import make_blocks_small


@pytest.fixture
def alice() -> Consumer:
    return Consumer(b"alice", 0)


@pytest.fixture
def blocks(alice: Consumer) -> PendingBlocks:
    """Three blocks from 0, 100 and 200 on, each with the first four of its IDs."""
    blocks = PendingBlocks()
    fill(blocks.last, alice)
    fill(blocks.open(100), alice)
    fill(blocks.open(200), alice)
    return blocks


def fill(block: Block, owner: Consumer, count: int = 4) -> None:
    ids = EntryIDs.of(range(block.start, block.start + count))
    block.put(0, ids, 0, count, owner, 5, are_strays=False)


def ids_of(block: Block) -> list[int]:
    return block.ids(0, len(block))


def shares_of(block: Block) -> dict[Owner, int]:
    return {owner: share.count for owner, share in block.shares.items()}


def give(block: Block, place: int, former: Consumer, owner: Consumer) -> None:
    block.share(owner, 1)
    block.set_owner(place, owner)
    block.unshare(former, 1)


def starts(blocks: PendingBlocks) -> list[int]:
    return [block.start for block in blocks]


def test_a_list_begins_with_an_empty_block_for_all_ids() -> None:
    blocks = PendingBlocks()
    assert (len(blocks), blocks.of(0), blocks.of(2**128 - 1)) == (1, blocks.last, blocks.last)
    assert blocks.find(0) is None


def test_an_id_is_found_in_the_block_whose_range_it_is_in(blocks: PendingBlocks) -> None:
    assert [blocks.index(entry_id) for entry_id in (0, 99, 100, 199, 200, 999)] == [
        0, 0, 1, 1, 2, 2,
    ]  # fmt: skip
    assert blocks.find(102) == (blocks[1], 2)
    assert blocks.find(104) is None
    assert [block.start for block in blocks.between(99, 100)] == [0, 100]
    assert [block.start for block in blocks.between(150, 999)] == [100, 200]


def test_a_block_that_empties_is_dropped_unless_it_is_an_end(
    blocks: PendingBlocks, alice: Consumer
) -> None:
    for block in list(blocks):
        block.unshare(alice, 4)
        block.cut(0, 4)
        blocks.tidy(block)
    assert starts(blocks) == [0, 200]
    assert (blocks.of(150).start, alice.pending_count) == (0, 0)


def test_sparse_neighbours_become_one(blocks: PendingBlocks, alice: Consumer) -> None:
    blocks.tidy(blocks[1])
    assert starts(blocks) == [0, 100]
    assert blocks[1] is blocks.last
    assert blocks.last.is_last
    assert ids_of(blocks.last) == [100, 101, 102, 103, 200, 201, 202, 203]
    assert (alice.pending_count, list(alice.pending_blocks)) == (12, [0, 100])


def test_a_sparse_block_stays_beside_one_that_has_no_room(
    blocks: PendingBlocks, alice: Consumer
) -> None:
    for block in (blocks[0], blocks[2]):
        more = EntryIDs.of(range(block.start + 4, block.start + BLOCK_ENTRIES // 2))
        block.put(4, more, 0, len(more), alice, 5, are_strays=False)
    blocks.tidy(blocks[1])
    assert starts(blocks) == [0, 100, 200]


def test_the_last_block_may_be_split(blocks: PendingBlocks, alice: Consumer) -> None:
    bob = Consumer(b"bob", 0)
    give(blocks.last, 3, alice, bob)
    blocks.split(blocks.last)
    assert starts(blocks) == [0, 100, 200, 202]
    assert [block.is_last for block in blocks] == [False, False, False, True]
    assert (ids_of(blocks[2]), ids_of(blocks.last)) == ([200, 201], [202, 203])
    assert (shares_of(blocks[2]), shares_of(blocks.last)) == ({alice: 2}, {alice: 1, bob: 1})
    assert (alice.pending_count, bob.pending_count) == (11, 1)


def test_who_has_nothing_in_a_block_stays_only_while_it_is_the_last(
    blocks: PendingBlocks, alice: Consumer
) -> None:
    last = blocks.last
    last.unshare(alice, 4)
    last.cut(0, 4)
    assert shares_of(last) == {alice: 0}
    assert list(alice.pending_blocks) == [0, 100, 200]
    blocks.open(300)
    assert (last.shares, list(alice.pending_blocks)) == ({}, [0, 100])


def test_whoever_looks_into_a_block_finds_nobody_there_who_has_departed(
    blocks: PendingBlocks, alice: Consumer
) -> None:
    bob = Consumer(b"bob", 0)
    for block in blocks:
        give(block, 1, alice, bob)
    assert blocks.depart(alice) == []
    assert list(alice.pending_blocks) == [0, 100, 200]
    assert ids_of(blocks[1]) == [101]
    assert list(alice.pending_blocks) == [0, 200]
    assert blocks.find(2) is None
    assert ids_of(blocks.of(250)) == [201]
    assert (len(alice.pending_blocks), bob.pending_count) == (0, 3)


def test_a_copy_has_blocks_of_its_own(blocks: PendingBlocks, alice: Consumer) -> None:
    twin = Consumer(b"alice", 0)
    copied = PendingBlocks()
    copied.copy_from(blocks, {None: None, alice: twin})
    blocks[1].cut(0, 4)
    assert starts(copied) == [0, 100, 200]
    assert ids_of(copied[1]) == [100, 101, 102, 103]
    assert copied.last.is_last
    assert (twin.pending_count, list(twin.pending_blocks)) == (12, [0, 100, 200])
    assert copied.counter.total_bytes > 12 * ROW_BYTES


def delivered(*runs: tuple[Consumer, list[int]]) -> PendingList:
    """A list to which runs of entries were added, at the times 0, 10, 20 ..."""
    pending = PendingList()
    for number, (consumer, ids) in enumerate(runs):
        pending.extend(EntryIDs.of(ids), consumer, 10 * number, are_strays=False)
    return pending


@pytest.fixture
def bob() -> Consumer:
    return Consumer(b"bob", 0)


def test_an_empty_list_has_no_ends() -> None:
    pending = PendingList()
    assert (len(pending), list(pending)) == (0, [])
    assert pending.first_key() is pending.last_key() is None
    assert pending.get(1) is None
    assert 1 not in pending
    with pytest.raises(KeyError):
        pending[1]


def test_runs_are_kept_in_the_order_of_their_ids(alice: Consumer, bob: Consumer) -> None:
    pending = delivered((alice, [10, 11]), (bob, [20]), (alice, [5, 15, 25]))
    assert list(pending) == [5, 10, 11, 15, 20, 25]
    assert (pending.first_key(), pending.last_key()) == (5, 25)
    assert pending[15] == PendingEntry(15, alice, 20, 1)
    assert list(alice.pending) == [5, 10, 11, 15, 25]
    assert (len(alice.pending), len(bob.pending)) == (5, 1)
    assert 20 in bob.pending
    assert 25 not in bob.pending


@pytest.mark.interpreted
def test_consumers_that_keep_up_are_served_the_quick_way(
    alice: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All is acknowledged before more is delivered: the list is empty each time."""
    pending = delivered((alice, list(range(BLOCK_ENTRIES + 10))))
    pending.remove_all(EntryIDs.of(range(BLOCK_ENTRIES + 10)))
    monkeypatch.setattr(PendingList, "_room_for", None)
    for start in range(10_000, 10_500, 10):
        run = list(range(start, start + 10))
        pending.extend(EntryIDs.of(run), alice, 5, are_strays=False)
        assert list(pending) == list(alice.pending) == run
        assert pending.remove_all(EntryIDs.of(run)) == 10


def test_a_run_that_comes_again_is_added_as_a_whole(alice: Consumer, bob: Consumer) -> None:
    """A group that was set back: what is delivered lies below what is, or was, pending."""
    count = 5 * BLOCK_ENTRIES
    pending = delivered((alice, list(range(count))), (bob, [3 * count]))
    assert pending.remove_all(EntryIDs.of(range(count))) == count
    for start in range(0, count, 100):
        pending.extend(EntryIDs.of(range(start, start + 100)), alice, 7, are_strays=True)
    pending.extend(EntryIDs.of(range(2 * count, 4 * count, 1000)), bob, 7, are_strays=True)
    assert list(alice.pending) == list(range(-(-count // 100) * 100))
    assert list(bob.pending) == sorted({3 * count, *range(2 * count, 4 * count, 1000)})
    assert max(len(block) for block in pending._blocks) <= 2 * BLOCK_ENTRIES


def test_a_run_is_removed_across_blocks(alice: Consumer, bob: Consumer) -> None:
    count = 3 * BLOCK_ENTRIES
    pending = delivered((alice, list(range(count))), (bob, [count]))
    assert pending.remove_all(EntryIDs.of(range(10, count - 10))) == count - 20
    assert list(pending) == [*range(10), *range(count - 10, count + 1)]
    assert len(alice.pending) == 20
    assert pending.remove_all(EntryIDs.of(range(count + 5))) == 21
    assert len(pending) == len(alice.pending) == len(bob.pending) == 0


def test_entries_are_removed_in_any_order_and_once(alice: Consumer, bob: Consumer) -> None:
    pending = delivered((alice, [1, 2, 3]), (bob, [4, 5]), (alice, [6]))
    assert pending.remove_all(EntryIDs.of([6, 2, 2, 9, 4, 0, 5, 6])) == 4
    assert list(pending) == [1, 3]
    assert pending.remove_all(EntryIDs.of([1, 2, 3])) == 2


def test_a_consumer_is_met_only_where_it_has_something(alice: Consumer, bob: Consumer) -> None:
    """Else who has little would look through all that others have."""
    size = BLOCK_ENTRIES
    pending = delivered((alice, [0]), (bob, list(range(1, 10 * size))), (alice, [10 * size]))
    assert len(alice.pending_blocks) == 2
    pending.remove(0)
    assert len(alice.pending_blocks) == 1
    assert list(alice.pending) == [10 * size]


def test_the_last_block_remembers_who_was_there(alice: Consumer, bob: Consumer) -> None:
    """Consumers that read and acknowledge in turn leave nothing to be tidied up."""
    pending = PendingList()
    for entry_id in range(3 * BLOCK_ENTRIES):
        consumer = (alice, bob)[entry_id % 2]
        pending.extend(EntryIDs.of([entry_id]), consumer, 0, are_strays=False)
        assert list(consumer.pending) == [entry_id]
        assert pending.remove(entry_id)
    assert len(pending._blocks) == 1
    assert len(alice.pending_blocks) == len(bob.pending_blocks) == 1


def test_a_count_that_is_too_great_for_a_row_stays_as_long_as_its_entry(alice: Consumer) -> None:
    pending = delivered((alice, list(range(3 * BLOCK_ENTRIES))))
    for entry_id, count in ((5, MAX_DELIVERIES), (6, LARGE_COUNT), (7, LARGE_COUNT - 1)):
        pending.update(PendingEntry(entry_id, alice, 7, count), becomes_stray=False)
    counts = [pending[entry_id].delivery_count for entry_id in range(4, 9)]
    assert counts == [1, MAX_DELIVERIES, LARGE_COUNT, LARGE_COUNT - 1, 1]
    assert list(pending._blocks[0].large_counts) == [5, 6]
    pending.update(PendingEntry(6, alice, 7, 2), becomes_stray=False)
    assert pending[6].delivery_count == 2
    assert pending.remove_all(EntryIDs.of(range(5, 3 * BLOCK_ENTRIES))) == 3 * BLOCK_ENTRIES - 5
    assert not pending._blocks[0].large_counts


def test_a_slot_that_is_free_goes_to_the_next_owner(alice: Consumer, bob: Consumer) -> None:
    pending = delivered((alice, list(range(2 * BLOCK_ENTRIES))))
    owners = [Consumer(b"%d" % number, 0) for number in range(100)]
    for owner in owners:
        pending.update(PendingEntry(3, owner, 7, 1), becomes_stray=False)
    assert len(pending._blocks[0].owners) <= 4
    assert (pending[3].consumer, pending[2].consumer) == (owners[-1], alice)
    assert [owner.pending_count for owner in owners] == [0] * 99 + [1]


def test_a_block_that_grows_in_the_middle_is_divided(alice: Consumer) -> None:
    ids = list(range(0, 20 * BLOCK_ENTRIES, 10))
    pending = delivered((alice, ids))
    more = [entry_id for entry_id in range(10 * BLOCK_ENTRIES) if entry_id % 10]
    random.Random(1).shuffle(more)
    for entry_id in more:
        pending.add(PendingEntry(entry_id, alice, 5, 2), is_stray=True)
    assert list(pending) == list(alice.pending) == sorted([*ids, *more])
    assert max(len(block) for block in pending._blocks) <= 2 * BLOCK_ENTRIES


def test_sparse_blocks_are_merged(alice: Consumer, bob: Consumer) -> None:
    count = 100 * BLOCK_ENTRIES
    pending = delivered((alice, list(range(count))))
    pending.update(PendingEntry(0, bob, 0, MAX_DELIVERIES), becomes_stray=True)
    gone = [entry_id for entry_id in range(count) if entry_id % 100]
    random.Random(1).shuffle(gone)
    assert pending.remove_all(EntryIDs.of(gone)) == len(gone)
    assert len(pending._blocks) < 20
    assert list(pending) == list(range(0, count, 100))
    assert pending[0] == PendingEntry(0, bob, 0, MAX_DELIVERIES)
    assert len(alice.pending) == count // 100 - 1


def test_a_consumer_departs_with_all_that_it_has(alice: Consumer, bob: Consumer) -> None:
    size = BLOCK_ENTRIES
    runs = [(bob if number % 7 == 0 else alice, number) for number in range(3 * size)]
    pending = delivered(*((consumer, [number]) for consumer, number in runs))
    assert pending.depart(alice) == []
    assert (len(pending), pending.first_key(), pending.last_key()) == (220, 0, 1533)
    assert pending.get(1) is None
    assert pending.remove_all(EntryIDs.of([1, 7, 8])) == 1
    assert list(pending) == list(bob.pending) == [0, *range(14, 3 * size, 7)]


def test_what_nobody_looks_into_is_cleared_in_steps(alice: Consumer, bob: Consumer) -> None:
    count = 100 * BLOCK_ENTRIES
    pending = delivered((alice, list(range(count))))
    for entry_id in range(0, count, BLOCK_ENTRIES // 2):
        pending.update(PendingEntry(entry_id, bob, 0, 1), becomes_stray=True)
    before = pending.counter.total_bytes
    assert pending.depart(alice) == []
    assert pending.counter.total_bytes == before
    assert 10 < sum(1 for _ in pending.clear_up()) < 50
    assert len(pending._blocks) < 10
    assert pending.counter.total_bytes < before / 50
    assert list(pending) == list(range(0, count, BLOCK_ENTRIES // 2))
    assert (len(alice.pending_blocks), len(bob.pending)) == (0, 200)


def test_blocks_that_became_empty_while_somebody_looked_are_dropped_later(
    alice: Consumer, bob: Consumer
) -> None:
    carol, count = Consumer(b"carol", 0), 4 * BLOCK_ENTRIES
    runs = [((alice, carol)[number % 2], [number]) for number in range(count)]
    pending = delivered(*runs, (bob, [count]))
    assert pending.depart(alice) == pending.depart(carol) == []
    assert (pending.first_key(), pending.last_key()) == (count, count)
    assert list(pending.rows_in_line(0)) == [(count, bob, 10 * count, 1)]
    for _ in pending.clear_up():
        pass
    assert len(pending._blocks) == 2
    assert list(pending) == [count]


def test_who_departs_may_be_followed_by_another_of_the_same_name(alice: Consumer) -> None:
    pending = delivered((alice, [1, 2, 3]))
    pending.depart(alice)
    other = Consumer(b"alice", 0)
    pending.extend(EntryIDs.of([2, 5]), other, 7, are_strays=False)
    assert list(pending) == list(other.pending) == [2, 5]
    for entry_id in range(6, 3 * BLOCK_ENTRIES):  # the last block becomes another one
        pending.extend(EntryIDs.of([entry_id]), other, 7, are_strays=False)
    for _ in pending.clear_up():
        pass
    assert (len(alice.pending_blocks), alice.pending_count) == (0, 0)


def test_blocks_go_as_a_whole_with_the_one_who_has_all_of_them(
    alice: Consumer, bob: Consumer
) -> None:
    size = BLOCK_ENTRIES
    pending = delivered((alice, list(range(5 * size))), (bob, [5 * size]))
    pending.update(PendingEntry(2 * size, None, 0, 1), becomes_stray=True)
    blocks = pending.depart(alice)
    assert [block.start for block in blocks] == [size, 3 * size, 4 * size]
    assert all(len(block) == size for block in blocks)
    assert list(pending) == [2 * size, 5 * size]
    assert list(bob.pending) == [5 * size]
    pending.extend(EntryIDs.of([0, size, 2 * size + 1, 5 * size - 1]), bob, 7, are_strays=True)
    assert list(bob.pending) == [0, size, 2 * size + 1, 5 * size - 1, 5 * size]


def test_a_walk_goes_on_behind_what_it_has_given(
    alice: Consumer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks may be dropped, merged and opened meanwhile."""
    make_blocks_small(monkeypatch, 4)
    monkeypatch.setattr(pending_list, "ROWS_AT_ONCE", 1)
    pending = delivered((alice, list(range(30))))
    met = []
    for entry_id in pending:
        met.append(entry_id)
        pending.remove(entry_id)
        pending.remove(entry_id + 2)
        if entry_id == 12:
            pending.extend(EntryIDs.of([40, 41]), alice, 5, are_strays=False)
    assert met == [0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21, 24, 25, 28, 29, 40, 41]
    assert len(pending) == 0


def test_strays_are_not_in_line(alice: Consumer) -> None:
    pending = delivered((alice, [1, 2]), (alice, [3]))
    pending.extend(EntryIDs.of([4, 5]), alice, 15, are_strays=True)
    pending.update(PendingEntry(2, alice, 30, 2), becomes_stray=True)
    assert list(pending.rows_in_line(0)) == [(1, alice, 0, 1), (3, alice, 10, 1)]
    assert list(pending.rows_in_line(2)) == [(3, alice, 10, 1)]
    pending.update(PendingEntry(4, None, 0, 1), becomes_stray=True)
    ids = [5, 9, 1, 2, 3, 4]
    assert pending.strays_of(ids, 30) == [(2, alice, 30, 2)]
    assert pending.strays_of(ids, 15) == [(5, alice, 15, 1)]
    assert pending.strays_of(ids, 0) == []


def test_what_is_loaded_is_owned_by_who_it_is_given_to(alice: Consumer, bob: Consumer) -> None:
    count = 3 * BLOCK_ENTRIES
    pending = PendingList()
    pending.load(
        list(range(count)), [5] * count, [1] * (count - 1) + [MAX_DELIVERIES], [False] * count
    )
    assert pending.give(alice, list(range(0, count, 2))) is None
    assert pending.give(bob, [1, 2, 3]) == 2
    assert pending.give(bob, [count + 1]) == count + 1
    assert list(alice.pending) == list(range(0, count, 2))
    assert pending[count - 1] == PendingEntry(count - 1, None, 5, MAX_DELIVERIES)


@given(
    st.lists(
        st.tuples(st.sets(st.integers(0, 60), max_size=30), st.lists(st.integers(0, 60))),
        max_size=12,
    ),
    st.sampled_from([2, 4, 8, 512]),
)
def test_runs_come_and_go_as_in_a_dict(
    steps: list[tuple[set[int], list[int]]], block_entries: int
) -> None:
    consumers = [Consumer(b"alice", 0), Consumer(b"bob", 0)]
    pending = PendingList()
    known: dict[int, Consumer] = {}
    with pytest.MonkeyPatch.context() as patch:
        make_blocks_small(patch, block_entries)
        for number, (some_ids, acknowledged) in enumerate(steps):
            consumer = consumers[number % 2]
            ids = sorted(some_ids - known.keys())
            if ids:
                pending.extend(EntryIDs.of(ids), consumer, number, are_strays=False)
            known.update(dict.fromkeys(ids, consumer))
            found = sum(known.pop(entry_id, None) is not None for entry_id in acknowledged)
            assert pending.remove_all(EntryIDs.of(acknowledged)) == found
            assert [(i, e.consumer) for i, e in pending.items()] == sorted(known.items())
            assert pending.has_any(sorted(some_ids)) == bool(some_ids & known.keys())
            assert pending.among(sorted(some_ids)) == some_ids & known.keys()
            for one in consumers:
                mine = sorted(i for i, owner in known.items() if owner is one)
                assert (list(one.pending), len(one.pending)) == (mine, len(mine))
