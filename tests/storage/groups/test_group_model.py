"""A group against the model: who owns what, and in which order it can be claimed."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)

from storage.entries.entry_id import MAX_ID, EntryIDs
from storage.groups import claim_order, pending_block, pending_list
from storage.groups.group import MAX_DELIVERIES, Consumer, Group
from storage.groups.pending_block import PendingEntry, Row
from storage.keyspace.deferred_free import RemovedData
from tests.storage.groups.changes import assign, set_delivery
from tests.storage.groups.sample_blocks import make_blocks_small
from tests.storage.stream_model import ModelGroup
from tests.support.examples import examples

IDS = st.integers(1, 30)
SOME_IDS = st.lists(IDS, min_size=1, max_size=12, unique=True).map(sorted)
CONSUMERS = st.sampled_from([b"alice", b"bob", b"carol"])
IDLE_TIMES = st.sampled_from([0, 0, 1, 2, 3, 5])
PASSING_MS = st.sampled_from([0, 0, 1, 1, 2])
COUNTS = st.sampled_from([0, 1, 7, MAX_DELIVERIES, MAX_DELIVERIES + 1])


class GroupMachine(RuleBasedStateMachine):
    """Does the same to a Group and to a ModelGroup."""

    def __init__(self) -> None:
        super().__init__()
        self.group = Group(b"readers", 0)
        self.model = ModelGroup(0, -1)
        self.now_ms = 10

    def consumer(self, name: bytes) -> Consumer:
        """The consumer, made where it is missing."""
        self.model.consumers.add(name)
        known = self.group.consumers.get(name)
        return known if known is not None else self.group.create_consumer(name, self.now_ms)

    @rule(consumer=CONSUMERS, ids=SOME_IDS, passing_ms=PASSING_MS)
    def deliver(self, consumer: bytes, ids: list[int], passing_ms: int) -> None:
        self.now_ms += passing_ms
        self.group.deliver(self.consumer(consumer), EntryIDs.of(ids), self.now_ms)
        for entry_id in ids:
            self.model.claim(entry_id, consumer, self.now_ms, 1)

    @rule(ids=SOME_IDS)
    def acknowledge_all(self, ids: list[int]) -> None:
        assert self.group.acknowledge_all(EntryIDs.of(ids)) == sum(map(self.model.drop, ids))

    @rule(entry_id=IDS)
    def acknowledge(self, entry_id: int) -> None:
        assert self.group.acknowledge(entry_id) == self.model.drop(entry_id)

    @rule(
        consumer=CONSUMERS,
        ids=SOME_IDS,
        age_ms=st.sampled_from([-1, 0, 1, 3, 10]),
        count=COUNTS,
    )
    def claim(self, consumer: bytes, ids: list[int], age_ms: int, count: int) -> None:
        """XCLAIM with TIME, RETRYCOUNT and FORCE."""
        delivery_ms = max(0, self.now_ms - age_ms)
        for entry_id in ids:
            entry = self.group.pending.get(entry_id)
            if entry is not None:
                self.group.claim(entry, self.consumer(consumer), delivery_ms, count)
            else:
                self.group.add(entry_id, self.consumer(consumer), delivery_ms, count)
            self.model.claim(entry_id, consumer, delivery_ms, min(count, MAX_DELIVERIES))

    @rule(consumer=CONSUMERS, ids=SOME_IDS)
    def assign(self, consumer: bytes, ids: list[int]) -> None:
        for entry_id in filter(self.group.pending.get, ids):
            assign(self.group, self.group.pending[entry_id], self.consumer(consumer))
            known = self.model.pending[entry_id]
            self.model.claim(entry_id, consumer, known.delivery_ms, known.delivery_count)

    @rule(consumer=CONSUMERS, count=COUNTS)
    def read_history(self, consumer: bytes, count: int) -> None:
        for entry in list(self.consumer(consumer).pending.values()):
            set_delivery(self.group, entry, self.now_ms, count)
            known = min(count, MAX_DELIVERIES)
            self.model.claim(entry.entry_id, consumer, self.now_ms, known)

    @rule(ids=SOME_IDS, count=COUNTS)
    def release(self, ids: list[int], count: int) -> None:
        """XNACK with FORCE."""
        for entry_id in reversed(ids):
            entry = self.group.pending.get(entry_id)
            if entry is not None:
                self.group.release(entry, count)
            else:
                self.group.add(entry_id, None, self.now_ms, count)
            self.model.release(entry_id, min(count, MAX_DELIVERIES))

    @rule(
        consumer=CONSUMERS,
        count=st.sampled_from([1, 3, 100]),
        idle=IDLE_TIMES,
        passing_ms=PASSING_MS,
        skips=st.booleans(),
    )
    def claim_idle(
        self, consumer: bytes, count: int, idle: int, passing_ms: int, skips: bool
    ) -> None:
        """XREADGROUP with CLAIM: entries are claimed, or passed over, while the walk goes on."""
        self.now_ms += passing_ms
        claimer = self.consumer(consumer)
        expected = self.model.claimable(self.now_ms, idle)[:count]
        times = [self.model.pending[entry_id].delivery_ms for entry_id in expected]
        found = list(islice(self.group.claimable(self.now_ms, idle), count))
        assert [delivery_ms for _, _, delivery_ms, _ in found] == times
        assert len({entry_id for entry_id, *_ in found}) == len(found)
        taken = [row for row in found if not (skips and row[0] % 2)]
        self.claim_rows(taken, claimer, self.now_ms, 1)

    def claim_rows(
        self, rows: list[Row], claimer: Consumer, delivery_ms: int, deliveries: int
    ) -> None:
        counts = self.group.claim_all(rows, claimer, delivery_ms, deliveries=deliveries)
        for (entry_id, *_), count in zip(rows, counts, strict=True):
            known = self.model.pending[entry_id].delivery_count + deliveries
            assert count == min(known, MAX_DELIVERIES)
            self.model.claim(entry_id, claimer.name, delivery_ms, count)

    @rule(
        consumer=CONSUMERS,
        ids=st.lists(IDS, min_size=1, max_size=12, unique=True),
        age_ms=st.sampled_from([-1, 0, 1, 3]),
        deliveries=st.sampled_from([0, 1, 300, MAX_DELIVERIES]),
    )
    def claim_all(self, consumer: bytes, ids: list[int], age_ms: int, deliveries: int) -> None:
        """XAUTOCLAIM and a consumer's history, but for entries in any order."""
        pending = filter(None, map(self.group.pending.get, ids))
        rows = [(e.entry_id, e.consumer, e.delivery_ms, e.delivery_count) for e in pending]
        delivery_ms = max(0, self.now_ms - age_ms)
        self.claim_rows(rows, self.consumer(consumer), delivery_ms, deliveries)

    @rule(consumer=CONSUMERS, steps=st.sampled_from([0, 1, 1000]))
    def delete_consumer(self, consumer: bytes, steps: int) -> None:
        mine = [i for i, entry in self.model.pending.items() if entry.consumer == consumer]
        assert self.group.delete_consumer(consumer, discard) == len(mine)
        for _ in islice(self.group.tidy_up(), steps):
            pass
        for entry_id in mine:
            self.model.drop(entry_id)
        self.model.consumers.discard(consumer)

    @rule(ids=SOME_IDS)
    def go_on_with_a_copy(self, ids: list[int]) -> None:
        original, self.group = self.group, self.group.copy()
        # Whatever becomes of the original must not show in the copy.
        for entry in list(filter(None, map(original.pending.get, ids))):
            original.release(entry, 100)
        original.acknowledge_all(EntryIDs.of(ids[::2]))
        original.disband()

    # A walk tidies up, so these are no invariants, which would look after each step.

    @rule(idle=IDLE_TIMES)
    def look_at_the_order(self, idle: int) -> None:
        expected = self.model.claimable(self.now_ms, idle)
        found = list(self.group.claimable(self.now_ms, idle))
        assert sorted(entry_id for entry_id, *_ in found) == sorted(expected)
        released = len(self.model.released)
        assert [entry_id for entry_id, *_ in found[:released]] == self.model.released
        times = [delivery_ms for _, _, delivery_ms, _ in found]
        assert times == sorted(times)
        assert all(self.group.pending[row[0]] == PendingEntry(*row) for row in found)

    @rule()
    def look_at_what_is_listed(self) -> None:
        order = self.group._order
        listed = [item for part in order._parts.values() for item in part if item >= 0]
        assert order._listed == len(listed)
        owned = {entry_id for _, entry_id in self.model.owned()}
        in_line = [entry_id for entry_id, *_ in self.group.pending.rows_in_line(0)]
        assert owned - set(in_line) <= set(listed)
        assert in_line == [entry_id for entry_id, *_ in order._in_line()]
        assert owned.issuperset(in_line)

    @rule()
    def look_at_the_oldest_delivery(self) -> None:
        owned = self.model.owned()
        expected = 0 if self.model.released else owned[0][0] if owned else None
        assert self.group.oldest_delivery_ms() == expected

    # -- what must always hold -----------------------------------------------------------------

    @invariant()
    def pending_entries_agree(self) -> None:
        assert self.group.consumers.keys() == self.model.consumers
        pending = {
            entry_id: (
                entry.consumer and entry.consumer.name,
                entry.delivery_ms,
                entry.delivery_count,
            )
            for entry_id, entry in self.group.pending.items()
        }
        assert list(pending) == sorted(self.model.pending)
        assert pending == {
            entry_id: (entry.consumer, entry.delivery_ms, entry.delivery_count)
            for entry_id, entry in self.model.pending.items()
        }

    @invariant()
    def released_entries_agree(self) -> None:
        assert [entry.entry_id for entry in self.group.nacked()] == self.model.released

    @invariant()
    def a_pel_is_the_union_of_what_consumers_own_and_what_nobody_does(self) -> None:
        group = self.group
        union = {e.entry_id: e for c in group.consumers.values() for e in c.pending.values()}
        released = {entry.entry_id: entry for entry in group.nacked()}
        owned = sum(len(consumer.pending) for consumer in group.consumers.values())
        assert owned + group.nacked_count == len(group.pending)
        assert dict(group.pending.items()) == union | released
        for consumer in group.consumers.values():
            assert all(entry.consumer is consumer for entry in consumer.pending.values())

    @rule()
    def look_at_the_blocks(self) -> None:
        """When all is cleared up: they are in order, and known to consumers."""
        for _ in self.group.tidy_up():
            pass
        pending_blocks = self.group.pending._blocks
        blocks = list(pending_blocks)
        starts = [block.start for block in blocks]
        assert starts == sorted(set(starts))
        assert [block.is_last for block in blocks] == [*[False] * (len(blocks) - 1), True]
        assert pending_blocks.last is blocks[-1]
        assert starts[0] == 0
        assert all(len(block) for block in blocks[1:-1])
        for block, end in zip(blocks, [*starts[1:], MAX_ID], strict=True):
            assert all(block.start <= entry_id < end for entry_id in block.ids(0, len(block)))
            owners = [block.owner_at(place) for place in range(len(block))]
            counts = {owner: share.count for owner, share in block.shares.items()}
            assert Counter(filter(None, owners)) == {o: n for o, n in counts.items() if n}
            assert block is blocks[-1] or all(counts.values())
        for consumer in self.group.consumers.values():
            own = [block for block in blocks if consumer in block.shares]
            assert list(consumer.pending_blocks.values()) == own


def discard(removed_data: RemovedData) -> None:
    for _ in removed_data.free():
        pass


@pytest.mark.parametrize(
    ("part_ids", "spare_ids", "block_entries"),
    [(1024, 1024, 512), (1024, 4, 8), (3, 4, 4), (3, 1024, 8)],
)
def test_a_group_does_what_its_model_does(
    part_ids: int, spare_ids: int, block_entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the parts of the order and the blocks as they are, and so small that many are needed."""
    monkeypatch.setattr(claim_order, "PART_IDS", part_ids)
    monkeypatch.setattr(claim_order, "SPARE_IDS", spare_ids)
    make_blocks_small(monkeypatch, block_entries)
    monkeypatch.setattr(pending_block, "ROWS_AT_ONCE", 3)
    monkeypatch.setattr(pending_list, "ROWS_AT_ONCE", 3)
    monkeypatch.setattr(claim_order, "ROWS_AT_ONCE", 3)
    run_state_machine_as_test(
        GroupMachine, settings=settings(max_examples=examples(100), stateful_step_count=40)
    )
