"""The lock of a key: its IDs ascend, in whatever order entries come and go."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from storage.entries.entry_id import MIN_ID
from storage.groups.group import Consumer, Group
from storage.policies.key_lock import KeyLock

IDS = st.lists(st.integers(1, 40), unique=True)


def consumers() -> tuple[Consumer, Consumer]:
    group = Group(b"g", 0)
    return group.create_consumer(b"alice", 5), group.create_consumer(b"bob", 5)


@given(IDS, IDS, st.data())
def test_ids_ascend_and_the_oldest_is_the_lowest(
    sent: list[int], held: list[int], data: st.DataObject
) -> None:
    lock = KeyLock(b"k")
    held = [each for each in held if each not in sent]
    for each in sent:
        lock.send(each)
        lock.send(each)  # again: nothing changes
    for each in held:
        lock.hold(each)
    for each in data.draw(st.lists(st.sampled_from(sent), unique=True)) if sent else []:
        assert lock.unsend(each) == (each == min(sent))
        sent.remove(each)
    for each in data.draw(st.lists(st.sampled_from(held), unique=True)) if held else []:
        lock.unhold(each)
        held.remove(each)
    assert lock.sent == sorted(sent)
    assert list(lock.held) == sorted(held)
    if sent or held:
        assert lock.oldest == min([*sent, *held])
    assert [each for each in range(42) if lock.has_sent(each)] == sorted(sent)
    assert [each for each in range(42) if lock.has_held(each)] == sorted(held)


def test_a_lock_without_sent_entries_gives_its_first_to_anyone() -> None:
    alice, _ = consumers()
    lock = KeyLock(b"k")
    lock.hold(7)
    lock.hold(9)
    assert lock.is_next(7, None)
    assert not lock.is_next(9, None)
    assert not lock.is_next(7, alice)
    lock.released = 1
    assert not lock.is_next(7, None)


def test_a_lock_with_sent_entries_gives_its_next_to_the_owner_unless_one_goes_alone() -> None:
    alice, bob = consumers()
    lock = KeyLock(b"k")
    lock.owner = alice
    lock.send(5)
    lock.hold(7)
    assert lock.is_next(7, alice)
    assert not lock.is_next(7, bob)
    assert not lock.is_next(7, None)
    lock.alone = 5
    assert not lock.is_next(7, alice)


def test_a_lock_whose_last_sent_entry_leaves_has_no_candidate_in_a_heap() -> None:
    lock = KeyLock(b"k")
    lock.send(5)
    lock.send(6)
    lock.listed = 7
    assert lock.unsend(6) is False
    assert lock.listed == 7
    assert lock.unsend(5) is True
    assert lock.listed == MIN_ID
