"""Pending entries as they were at one moment: blocks that are lent stay as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.entries.entry_id import EntryIDs
from storage.groups.group import Consumer, Group
from storage.groups.pending_block import BLOCK_ENTRIES, Columns, Row

COUNT = 3 * BLOCK_ENTRIES


def group_with_pending() -> Group:
    group = Group(b"g", 0)
    alice, bob = (group.create_consumer(name, 0) for name in (b"alice", b"bob"))
    for start in range(0, COUNT, 100):
        owner = alice if start % 200 else bob
        group.deliver(owner, EntryIDs.of(range(start + 1, min(start + 101, COUNT + 1))), start)
    return group


def rows(blocks: Iterator[Columns]) -> list[Row]:
    return [row for columns in blocks for row in zip(*columns, strict=True)]


def test_lent_blocks_hold_the_entries_of_a_range() -> None:
    group = group_with_pending()
    start, end = BLOCK_ENTRIES + 5, BLOCK_ENTRIES + 9
    lent = rows(group.pending.lend(start, end))
    assert len(lent) <= BLOCK_ENTRIES
    wanted = [row for row in lent if start <= row[0] <= end]
    assert [row[0] for row in wanted] == list(range(start, end + 1))
    assert wanted == [row for row in group.pending.rows_from(start) if row[0] <= end]


def test_those_of_one_consumer_are_in_the_blocks_that_it_lends() -> None:
    group = group_with_pending()
    alice = group.consumers[b"alice"]
    for start, end in [(0, COUNT), (150, 160), (COUNT - 10, 2 * COUNT), (COUNT + 1, 2 * COUNT)]:
        lent = [
            row
            for row in rows(alice.pending.lend(start, end))
            if row[1] is alice and start <= row[0] <= end
        ]
        assert lent == [row for row in alice.pending.rows_from(start) if row[0] <= end]


def acknowledge(group: Group, entry_id: int) -> None:
    group.acknowledge_all(EntryIDs.of(range(entry_id, entry_id + 300)))


def claim(group: Group, entry_id: int) -> None:
    entry = group.pending.get(entry_id)
    if entry is not None:
        group.claim(entry, group.consumers[b"alice"], 5, 1000)


def claim_many(group: Group, entry_id: int) -> None:
    wanted = [*range(entry_id + 300, entry_id + 400), *range(entry_id, entry_id + 200, 2)]
    rows = [row for row in group.pending.rows_from(0) if row[0] in wanted]
    group.claim_all(rows, group.consumers[b"alice"], 5, deliveries=200)


def deliver_one(group: Group, entry_id: int) -> None:
    deliver(group, 1)


def acknowledge_one(group: Group, entry_id: int) -> None:
    group.acknowledge_all(EntryIDs.of([entry_id]))


def release(group: Group, entry_id: int) -> None:
    entry = group.pending.get(entry_id)
    if entry is not None:
        group.release(entry, 7)


def deliver(group: Group, entry_id: int) -> None:
    last_id = group.pending.last_key() or 0
    group.deliver(
        group.consumers[b"bob"], EntryIDs.of(range(last_id + 1, last_id + 1 + entry_id)), 9
    )


def deliver_again(group: Group, entry_id: int) -> None:
    group.deliver(group.consumers[b"bob"], EntryIDs.of([entry_id, entry_id + 1]), 9)


def add(group: Group, entry_id: int) -> None:
    if entry_id not in group.pending:
        group.add(entry_id, group.consumers[b"alice"], 3, 1)


def delete_consumer(group: Group, entry_id: int) -> None:
    group.delete_consumer(b"alice")
    group.create_consumer(b"alice", 0)


def disband(group: Group, entry_id: int) -> None:
    for _ in group.disband().free():
        pass
    group.consumers |= {name: Consumer(name, 0) for name in (b"alice", b"bob")}


CHANGES: list[Callable[[Group, int], None]] = [
    acknowledge, acknowledge_one, claim, claim_many, release, deliver, deliver_one, deliver_again,
    add, delete_consumer, disband,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_change_leaves_them_as_they_are(change: Callable[[Group, int], None]) -> None:
    group = group_with_pending()
    before = list(group.pending.rows_from(0))
    lent = group.pending.lend(0, COUNT)
    change(group, 130)
    assert rows(lent) == before


@given(st.lists(st.tuples(st.sampled_from(CHANGES), st.integers(1, COUNT)), max_size=12))
def test_many_changes_leave_them_as_they_are(
    changes: list[tuple[Callable[[Group, int], None], int]],
) -> None:
    group = group_with_pending()
    moments: list[tuple[Iterator[Columns], list[Row]]] = []
    for change, entry_id in changes:
        moments.append((group.pending.lend(0, 10 * COUNT), list(group.pending.rows_from(0))))
        change(group, entry_id)
    for lent, before in moments:
        assert rows(lent) == before
