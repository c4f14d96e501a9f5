"""Sums of bytes, of parts and of the whole.

What one consumer has of its group's pending entries.
"""

from __future__ import annotations

import pytest

from storage.entries.entry_id import EntryIDs
from storage.groups import pending_block
from storage.groups.group import Consumer, Group
from storage.groups.pending_block import BLOCK_ENTRIES, MemoryCounter, PendingEntry


def test_what_a_part_adds_counts_in_the_whole_while_it_belongs_to_it() -> None:
    whole, part, other = MemoryCounter(), MemoryCounter(), MemoryCounter()
    part.add(5)
    part.join(whole)
    part.add(10)
    other.join(whole)
    other.add(100)
    assert (part.total_bytes, whole.total_bytes) == (15, 115)
    part.leave()
    part.leave()
    part.add(1)
    assert (part.total_bytes, whole.total_bytes) == (16, 100)


@pytest.fixture
def group() -> Group:
    """Of each hundred IDs, bob has the first two and alice the others."""
    group = Group(b"readers", 0)
    alice, bob = (group.create_consumer(name, 0) for name in (b"alice", b"bob"))
    for start in range(0, 4 * BLOCK_ENTRIES, 100):
        group.deliver(bob, EntryIDs.of([start, start + 1]), start)
        group.deliver(alice, EntryIDs.of(range(start + 2, start + 100)), start)
    return group


def bob(group: Group) -> Consumer:
    return group.consumers[b"bob"]


def of_bob() -> list[int]:
    starts = range(0, 4 * BLOCK_ENTRIES, 100)
    return [entry_id for start in starts for entry_id in (start, start + 1)]


@pytest.mark.parametrize("rows_at_once", [1, 3, 100])
def test_a_walk_meets_ones_own_entries_alone(
    group: Group, rows_at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pending_block, "ROWS_AT_ONCE", rows_at_once)
    mine = bob(group).pending
    assert list(mine) == of_bob()
    assert (len(mine), 101 in mine, 102 in mine) == (len(of_bob()), True, False)
    assert list(mine.rows_from(101))[:2] == [(101, bob(group), 100, 1), (200, bob(group), 200, 1)]
    assert list(mine.items())[2] == (100, PendingEntry(100, bob(group), 100, 1))
    assert [entry.entry_id for entry in mine.values()] == of_bob()
    assert list(mine.rows_from(10**6)) == []


def test_who_has_nothing_yet_has_an_empty_list(group: Group) -> None:
    carol = group.create_consumer(b"carol", 0)
    assert (len(carol.pending), list(carol.pending), 5 in carol.pending) == (0, [], False)
    assert list(carol.pending.lend(0, 10**6)) == []


def test_blocks_without_an_entry_of_ones_own_are_not_lent(group: Group) -> None:
    last = 4 * BLOCK_ENTRIES - 1
    group.acknowledge_all(EntryIDs.of([entry_id for entry_id in of_bob() if entry_id > 1]))
    lent = list(bob(group).pending.lend(0, last))
    assert [ids[0] for ids, owners, *_ in lent if bob(group) in owners] == [0]
    assert len(lent) <= 2
