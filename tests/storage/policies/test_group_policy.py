"""The policy of a group: options, reasons, copies, memory."""

from __future__ import annotations

import pytest

from storage.entries.entry_id import EntryIDs
from storage.groups.group import Group
from storage.policies.due_entries import DeliveryOptions


def group_of(*ids: int) -> Group:
    """A group of which a consumer was delivered these entries at 100."""
    group = Group(b"readers", 0)
    group.deliver(group.create_consumer(b"alice", 100), EntryIDs.of(list(ids)), 100)
    return group


def test_the_last_pause_repeats() -> None:
    options = DeliveryOptions(backoff_ms=(5, 50))
    assert [options.pause_ms(deliveries) for deliveries in range(5)] == [5, 5, 50, 50, 50]
    assert DeliveryOptions().pause_ms(3) == 0


@pytest.mark.parametrize(
    "options",
    [
        DeliveryOptions(),
        DeliveryOptions(1, (2, 0, 3), 4, b"dead", b"bob", 5, 6),
        DeliveryOptions(1, (), 4, b"", b"", 0, 6),
    ],
)
def test_options_can_be_written_as_words(options: DeliveryOptions) -> None:
    assert DeliveryOptions.from_words(options.dead_letter_user, options.words()) == options


def test_words_of_another_version_are_refused() -> None:
    with pytest.raises(ValueError, match="FILTER"):
        DeliveryOptions.from_words(b"", [b"FILTER", *DeliveryOptions().words()[1:]])


def test_a_policy_is_there_once_it_was_asked_for() -> None:
    group = group_of(1)
    assert group.policy is None
    policy = group.make_policy()
    assert group.make_policy() is policy
    policy.configure(DeliveryOptions(max_pending=3))
    group.end_policy()
    assert group.policy is policy
    policy.configure(DeliveryOptions())
    group.end_policy()
    assert group.policy is None


def test_a_policy_adds_to_the_memory_of_its_group_while_it_is_there() -> None:
    group = group_of(*range(1, 100))
    before_bytes = group.memory_bytes()
    policy = group.make_policy()
    rows = list(group.pending.rows_from(0))[:50]
    group.release_all(rows, [1] * 50, [500] * 50)
    released_bytes = group.memory_bytes()
    policy.set_reason([row[0] for row in rows], b"x" * 100)
    assert group.memory_bytes() > released_bytes + 50 * 130 > before_bytes
    policy.set_reason([row[0] for row in rows], None)
    assert group.memory_bytes() - released_bytes < 5000
    group.acknowledge_all(EntryIDs.of(list(range(1, 100))))
    with_policy_bytes = group.memory_bytes()
    group.end_policy()
    assert group.policy is None
    assert group.memory_bytes() < with_policy_bytes


def test_a_reason_goes_with_its_entry() -> None:
    group = group_of(1, 2, 3, 4)
    bob = group.create_consumer(b"bob", 100)
    policy = group.make_policy()
    policy.set_reason([1, 2, 3, 4], b"no route")
    policy.set_reason([2], b"no money")
    group.claim(group.pending[2], bob, 200, 2)
    assert policy.reasons == {1: b"no route", 2: b"no money", 3: b"no route", 4: b"no route"}
    assert group.acknowledge(1)
    group.release(group.pending[4], 1)
    group.delete_consumer(b"alice")
    assert policy.reasons == {2: b"no money", 4: b"no route"}
    group.acknowledge_all(EntryIDs.of([2, 4]))
    assert not policy.reasons


def test_a_copy_of_a_group_has_its_options_delays_and_reasons() -> None:
    group = group_of(1, 2)
    policy = group.make_policy()
    policy.configure(DeliveryOptions(ack_wait_ms=10, max_pending=7))
    policy.redelivered = 5
    group.release(group.pending[1], 1, 900)
    policy.set_reason([1], b"later")
    twin = group.copy().policy
    assert twin is not None
    assert twin.options == policy.options
    assert dict(twin.due.delays()) == {1: 900}
    assert twin.reasons == {1: b"later"}
    assert twin.redelivered == 0
    group.acknowledge(1)
    assert twin.reasons == {1: b"later"}


def test_what_a_snapshot_says_about_entries_that_are_not_pending_is_ignored() -> None:
    group = group_of(1)
    policy = group.make_policy()
    for entry_id in (1, 2):
        policy.set_delay(entry_id, 5)
        policy.set_reason([entry_id], b"a")
    assert dict(policy.due.delays()) == {}  # the first has an owner
    assert policy.reasons == {1: b"a"}
