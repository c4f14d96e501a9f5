"""The blocks of a PEL. What becomes of their entries: test_pending_list.py."""

from __future__ import annotations

import pytest

from storage.entries.entry_ids import EntryIDs
from storage.groups.consumer import Consumer
from storage.groups.pending_block import BLOCK_ENTRIES, ROW_BYTES, Block, Owner
from storage.groups.pending_blocks import PendingBlocks
from storage.groups.tally import Tally


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
    copied = blocks.copy({None: None, alice: twin}, Tally())
    blocks[1].cut(0, 4)
    assert starts(copied) == [0, 100, 200]
    assert ids_of(copied[1]) == [100, 101, 102, 103]
    assert copied.last.is_last
    assert (twin.pending_count, list(twin.pending_blocks)) == (12, [0, 100, 200])
    assert copied.tally.total_bytes > 12 * ROW_BYTES
