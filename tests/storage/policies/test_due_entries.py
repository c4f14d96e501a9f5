"""Due entries against a model that computes each of them from scratch."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from storage.entries.entry_id import EntryIDs
from storage.groups.group import Consumer, Group
from storage.groups.pending_block import Row
from storage.policies import due_entries
from storage.policies.due_entries import DeliveryOptions
from tests.support.examples import examples

IDS = st.integers(1, 30)
SOME_IDS = st.lists(IDS, min_size=1, max_size=12, unique=True).map(sorted)
CONSUMERS = st.sampled_from([b"alice", b"bob"])
WAITS = st.sampled_from([1, 3, 10])
PAUSES = st.lists(st.sampled_from([0, 1, 5]), max_size=3).map(tuple)
COUNTS = st.sampled_from([1, 2, 3, 9])


class DueMachine(RuleBasedStateMachine):
    """Changes a group with a policy; after each step, what is due is what the model says."""

    def __init__(self) -> None:
        super().__init__()
        self.now_ms = 100
        self.group = Group(b"readers", 0)
        self.policy = self.group.make_policy()
        self.policy.configure(DeliveryOptions(ack_wait_ms=5))
        self.delays: dict[int, int] = {}

    def consumer(self, name: bytes) -> Consumer:
        known = self.group.consumers.get(name)
        return known if known is not None else self.group.create_consumer(name, self.now_ms)

    def rows(self, ids: list[int]) -> list[Row]:
        return [row for row in self.group.pending.rows_of(ids) if row is not None]

    @rule(consumer=CONSUMERS, ids=SOME_IDS)
    def deliver(self, consumer: bytes, ids: list[int]) -> None:
        self.group.deliver(self.consumer(consumer), EntryIDs.of(ids), self.now_ms)
        self.forget(ids)

    @rule(consumer=CONSUMERS, ids=SOME_IDS, age_ms=st.sampled_from([0, 0, 1, 20]), count=COUNTS)
    def claim(self, consumer: bytes, ids: list[int], age_ms: int, count: int) -> None:
        rows = self.rows(ids)
        if rows:
            delivery_ms = self.now_ms - age_ms
            self.group.claim_all(
                rows, self.consumer(consumer), delivery_ms, deliveries=1, count=count
            )
            self.forget(ids)

    @rule(consumer=CONSUMERS, entry_id=IDS, count=COUNTS)
    def claim_in_place(self, consumer: bytes, entry_id: int, count: int) -> None:
        """XCLAIM with the time of the last delivery."""
        entry = self.group.pending.get(entry_id)
        if entry is not None and entry.consumer is not None:
            self.group.claim(entry, self.consumer(consumer), entry.delivery_ms, count)

    @rule(consumer=CONSUMERS, entry_id=IDS, age_ms=st.sampled_from([0, 20]))
    def force(self, consumer: bytes, entry_id: int, age_ms: int) -> None:
        if entry_id not in self.group.pending:
            self.group.add(entry_id, self.consumer(consumer), self.now_ms - age_ms, 1)

    @rule(ids=SOME_IDS, delay_ms=st.sampled_from([None, 0, 2, 30]), count=COUNTS)
    def release(self, ids: list[int], delay_ms: int | None, count: int) -> None:
        rows = self.rows(ids)
        due_ms = 0 if delay_ms is None else self.now_ms + delay_ms
        self.group.release_all(rows, [count] * len(rows), [due_ms] * len(rows))
        self.delays.update({row[0]: due_ms for row in rows})

    @rule(ids=SOME_IDS)
    def acknowledge(self, ids: list[int]) -> None:
        self.group.acknowledge_all(EntryIDs.of(ids))
        self.forget(ids)

    @rule(consumer=CONSUMERS)
    def leave(self, consumer: bytes) -> None:
        self.group.delete_consumer(consumer)

    @rule(wait_ms=WAITS, pauses=PAUSES, most=st.sampled_from([0, 0, 2, 3]))
    def configure(self, wait_ms: int, pauses: tuple[int, ...], most: int) -> None:
        self.policy.configure(DeliveryOptions(wait_ms, pauses, most, b"dead" if most else b""))

    @rule(ms=st.sampled_from([1, 2, 7, 40]))
    def pass_time(self, ms: int) -> None:
        self.now_ms += ms

    @rule(grace_ms=st.sampled_from([3, 10]))
    def start_again(self, grace_ms: int) -> None:
        self.policy.due.not_before_ms = self.now_ms + grace_ms
        self.policy.configure(self.policy.options)

    @precondition(lambda self: bool(len(self.group.pending)))
    @rule()
    def copy(self) -> None:
        not_before_ms = self.policy.due.not_before_ms
        self.group = self.group.copy()
        assert self.group.policy is not None
        self.policy = self.group.policy
        self.policy.due.not_before_ms = not_before_ms

    def forget(self, ids: list[int]) -> None:
        for entry_id in ids:
            self.delays.pop(entry_id, None)

    # -- the model -----------------------------------------------------------------------------

    def due_ms(self, row: Row) -> int:
        entry_id, owner, delivery_ms, count = row
        if owner is None:
            return self.delays.get(entry_id, 0)
        options = self.policy.options
        pause_ms = 0 if self.is_exhausted(row) else options.pause_ms(count)
        due_ms = delivery_ms + options.ack_wait_ms + pause_ms
        return due_ms if self.policy.due.not_before_ms <= self.now_ms else due_ms + 10**6

    def is_exhausted(self, row: Row) -> bool:
        return 0 < self.policy.options.max_deliveries <= row[3]

    def may_be_early(self, row: Row) -> bool:
        """Return True if an entry does not wait for the first deadline after a start."""
        return row[1] is None and not self.is_exhausted(row)

    def expected(self, *, has_room: bool) -> list[int]:
        rows = [row for row in self.group.pending.rows_from(0) if not self.is_exhausted(row)]
        due = sorted((self.due_ms(row), row[0], row) for row in rows)
        return [
            entry_id
            for due_ms, entry_id, row in due
            if due_ms <= self.now_ms and (has_room or row[1] is not None)
        ]

    # -- what must hold ------------------------------------------------------------------------

    def look(self) -> None:
        if self.now_ms >= self.policy.due.quiet_until_ms:
            for _ in range(15):  # each moves a few
                self.policy.due.look(self.now_ms)

    @invariant()
    def gives_what_is_due_the_earliest_first(self) -> None:
        self.look()
        due = self.policy.due
        for has_room in (False, True):
            taken: list[Row] = []
            given: list[int] = []
            while (row := due.take(self.now_ms, has_room=has_room)) is not None:
                taken.append(row)
                if row[0] not in given:
                    given.append(row[0])
            for row in taken:
                due.put_back(row)
            assert given == self.expected(has_room=has_room)
            assert due.has_due(self.now_ms, has_room=has_room) == bool(given)
        rows = [row for row in self.group.pending.rows_from(0) if not self.is_exhausted(row)]
        later = [row for row in rows if self.due_ms(row) > self.now_ms]
        census = due.census(self.now_ms)
        assert census.due == len(self.expected(has_room=True))
        assert census.in_pause >= sum(row[1] is None for row in later)
        assert census.in_pause <= len(later)

    @invariant()
    def gives_the_dead(self) -> None:
        self.look()
        due = self.policy.due
        dead: list[Row] = []
        while (row := due.take_dying(self.now_ms)) is not None:
            dead.append(row)
        for row in dead:
            due.retry_dying(row, max(due.due_ms(row), 0))
        may_die = self.now_ms >= due.not_before_ms
        rows = self.group.pending.rows_from(0)
        assert {row[0] for row in dead} == {
            row[0]
            for row in rows
            if may_die and self.is_exhausted(row) and self.due_ms(row) <= self.now_ms
        }

    @invariant()
    def is_quiet_until_an_entry_is_due(self) -> None:
        not_before_ms = self.policy.due.not_before_ms
        later = [
            max(self.policy.due.due_ms(row), 0 if self.may_be_early(row) else not_before_ms)
            for row in self.group.pending.rows_from(0)
        ]
        if later:
            assert self.policy.due.quiet_until_ms <= min(later)

    @invariant()
    def keeps_when_released_entries_fall_due(self) -> None:
        released = {row[0] for row in self.group.pending.rows_from(0) if row[1] is None}
        delays = {i: at for i, at in self.delays.items() if at and i in released}
        assert dict(self.policy.due.delays()) == delays


@pytest.mark.interpreted  # moves few entries at once
def test_what_falls_due(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(due_entries, "MOVED_AT_ONCE", 3)
    monkeypatch.setattr(due_entries, "SPARE_ITEMS", 5)
    run_state_machine_as_test(
        DueMachine, settings=settings(max_examples=examples(300), stateful_step_count=25)
    )


def test_an_entry_that_is_acknowledged_in_time_leaves_nothing() -> None:
    group = Group(b"readers", 0)
    policy = group.make_policy()
    policy.configure(DeliveryOptions(ack_wait_ms=1000))
    consumer = group.create_consumer(b"alice", 0)
    sizes: set[int] = set()
    for now_ms in range(0, 5000, 10):
        ids = EntryIDs.of([now_ms + 1])
        group.deliver(consumer, ids, now_ms)
        if now_ms >= policy.due.quiet_until_ms:
            policy.due.look(now_ms)
        group.acknowledge_all(ids)
        sizes.add(group.memory_bytes())
    assert len(sizes) == 1
    assert policy.due.take(10**6) is None


def test_a_back_off_begins_when_the_deadline_is_over() -> None:
    group = Group(b"readers", 0)
    policy = group.make_policy()
    policy.configure(DeliveryOptions(ack_wait_ms=100, backoff_ms=(50, 200)))
    alice = group.create_consumer(b"alice", 0)

    def taken(now_ms: int) -> list[int]:
        policy.due.look(now_ms)
        row = policy.due.take(now_ms)
        return [] if row is None else [row[0]]

    group.deliver(alice, EntryIDs.of([1]), 0)
    assert (taken(149), taken(150)) == ([], [1])
    for now_ms, deliveries, due_ms in ((1000, 2, 1300), (2000, 3, 2300), (3000, 9, 3300)):
        rows = [row for row in group.pending.rows_of([1]) if row is not None]
        group.claim_all(rows, alice, now_ms, deliveries=1, count=deliveries)
        assert (taken(due_ms - 1), taken(due_ms)) == ([], [1])


def test_of_very_many_entries_a_sample_is_counted() -> None:
    group = Group(b"readers", 0)
    policy = group.make_policy()
    policy.configure(DeliveryOptions(ack_wait_ms=100, backoff_ms=(100, 10_000)))
    alice = group.create_consumer(b"alice", 0)
    group.deliver(alice, EntryIDs.of(list(range(1, 9001))), 0)
    rows = [row for row in group.pending.rows_of(list(range(1, 3001))) if row is not None]
    group.claim_all(rows, alice, 0, deliveries=1)
    for _ in range(20):
        policy.due.look(300)
    census = policy.due.census(300)
    assert abs(census.due - 6000) < 600 and abs(census.in_pause - 3000) < 600
    assert abs(census.overtime - 9000) < 600
    group.acknowledge_all(EntryIDs.of(list(range(1, 9001, 2))))
    assert abs(policy.due.census(300).due - 3000) < 600
