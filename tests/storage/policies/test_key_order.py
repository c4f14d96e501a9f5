"""The keys of a group's pending entries: changes one by one lead to what a new look finds."""

from __future__ import annotations

from random import Random

import pytest

from storage.entries.entry import encode_entry, encode_fields, encode_id
from storage.entries.entry_id import MIN_ID, EntryIDs
from storage.groups.group import Consumer, Group
from storage.groups.pending_block import Row
from storage.policies.due_entries import DeliveryOptions
from storage.policies.key_order import KeyOrder
from tests.support.examples import examples

NAMES = [b"alice", b"bob"]


def entry(*words: bytes) -> bytes:
    return encode_entry(encode_id(5), encode_fields(words), len(words))


class Keyed:
    """A group whose entries are 1, 2, ...: their keys are the last digits; 0 has none."""

    def __init__(self, lookahead: int = 0) -> None:
        self.group = Group(b"g", 0)
        policy = self.group.make_policy()
        options = DeliveryOptions(ack_wait_ms=10, key_field=b"k", key_lookahead=lookahead)
        policy.configure(options)
        assert policy.keys is not None
        self.keys = policy.keys
        self.deleted: set[int] = set()
        self.last = 0
        self.open()

    def open(self) -> None:
        self.keys.open(self.entries_of, 0)

    def entries_of(self, ids: list[int]) -> list[bytes | None]:
        return [None if each in self.deleted else self.entry(each) for each in ids]

    def entry(self, number: int) -> bytes:
        return entry(b"k", b"%d" % (number % 4)) if number % 4 else entry(b"n", b"k")

    def consumer(self, name: bytes) -> Consumer:
        known = self.group.consumers.get(name)
        return known if known is not None else self.group.create_consumer(name, 5)

    def row(self, number: int) -> Row:
        row = self.group.pending.rows_of([number])[0]
        assert row is not None
        return row

    def send(self, name: bytes) -> None:
        """A new entry is sent, whatever its key."""
        self.last += 1
        consumer = self.consumer(name)
        key = self.keys.key_of(self.entry(self.last))
        self.group.deliver(consumer, EntryIDs.of([self.last]), 5)
        if key is not None:
            self.keys.send_new(self.last, key, consumer)

    def reserve(self, name: bytes) -> None:
        self.last += 1
        key = self.keys.key_of(self.entry(self.last))
        if key is None:
            return
        lock = self.keys.locks.get(key)
        consumer = self.consumer(name)
        owner = consumer if lock is None or lock.owner is None else lock.owner
        assert isinstance(owner, Consumer)
        self.group.reserve(owner, [self.last])
        self.keys.reserve_new(self.last, key, owner)


@pytest.mark.parametrize(
    ("words", "key"),
    [
        ((b"k", b"a"), b"a"),
        ((b"k", b""), b""),
        ((b"n", b"k", b"k", b"b"), b"b"),
        ((b"k", b"first", b"k", b"second"), b"first"),
        ((b"n", b"$1\r\nk\r\n$1\r\nx"), None),
        ((b"n", b"$1\r\nk\r\n", b"k", b"c"), b"c"),
        ((b"kk", b"a"), None),
        ((b"k", b"\r\n"), b"\r\n"),
        ((b"k", b"x" * 64), b"x" * 64),
    ],
)
def test_the_key_is_the_value_of_the_first_field_of_that_name(
    words: tuple[bytes, ...], key: bytes | None
) -> None:
    assert Keyed().keys.key_of(entry(*words)) == key


def test_long_keys_are_shortened_and_differ() -> None:
    keys = Keyed().keys
    first, second = (keys.key_of(entry(b"k", b"x" * 5000 + end)) for end in (b"1", b"2"))
    assert first is not None and second is not None
    assert first != second
    assert len(first) == 60


def state_of(keys: KeyOrder) -> dict[bytes, tuple[list[int], list[int], int, int, bytes | None]]:
    return {
        key: (
            lock.sent, list(lock.held), lock.released, lock.alone,
            lock.owner.name if lock.owner is not None and lock.sent else None,
        )
        for key, lock in keys.locks.items()
    }  # fmt: skip


def test_changes_lead_to_what_a_new_look_finds() -> None:
    for seed in range(examples(60)):
        chance = Random(seed)
        keyed = Keyed()
        for _ in range(60):
            change(keyed, chance)
            keyed.open()
            again = KeyOrder(keyed.group.pending, keyed.group.make_policy().due)
            again.configure(b"k", 0, 0)
            again.reserved = set(keyed.keys.reserved)
            again.open(keyed.entries_of, 0)
            assert state_of(keyed.keys) == state_of(again), seed
            again.leave()


def change(keyed: Keyed, chance: Random) -> None:
    """A random change of the group, of those that keep the entries of a key with one owner."""
    group, keys, name = keyed.group, keyed.keys, chance.choice(NAMES)
    pending = list(group.pending)
    number = chance.choice(pending) if pending else 0
    lock = keys.lock_of(number)
    kind = chance.randrange(8)
    if kind == 0:
        key = keys.key_of(keyed.entry(keyed.last + 1))
        known = None if key is None else keys.locks.get(key)
        keyed.send(name) if known is None or not known.sent else keyed.reserve(name)
    elif kind == 1:
        keyed.reserve(name)
    elif not number:
        return
    elif kind == 2:
        group.acknowledge_all(EntryIDs.of([number]))
    elif kind == 3:
        group.release_all([keyed.row(number)], [keyed.row(number)[3]], [chance.choice([0, 50])])
    elif kind == 4 and lock is not None:
        consumer = keyed.consumer(name)
        oldest = lock.oldest
        others = [each for each in lock.sent if each != oldest]
        group.claim_all([keyed.row(oldest)], consumer, 20, deliveries=1)
        if others:
            group.withhold([keyed.row(each) for each in others], consumer)
    elif kind == 5 and name in group.consumers:
        consumer = keyed.consumer(name)
        held = keys.next_held(consumer)
        if held is not None:
            group.claim_all([keyed.row(held)], consumer, 20, deliveries=1)
    elif kind == 6:
        keyed.deleted.add(number)
        keys.lose([number])
    elif kind == 7:
        rows = list(group.pending.rows_from(MIN_ID))
        group.transfer([row for row in rows if row[1] is not None], keyed.consumer(name))


def test_a_free_key_goes_to_anyone_and_a_locked_one_to_its_owner() -> None:
    keyed = Keyed()
    keys, alice, bob = keyed.keys, keyed.consumer(b"alice"), keyed.consumer(b"bob")
    keyed.send(b"alice")  # 1
    keyed.last = 4
    keyed.reserve(b"bob")  # 5 has the key of 1
    assert keys.next_held(bob) is None
    assert keys.next_held(alice) == 5
    keys.put_back(5)
    keyed.group.acknowledge_all(EntryIDs.of([1]))
    assert keys.wakes
    assert keys.next_held(bob) == 5


def test_a_released_entry_holds_its_key_until_it_is_due() -> None:
    keyed = Keyed()
    keys, due = keyed.keys, keyed.group.make_policy().due
    keyed.send(b"alice")  # 1
    keyed.last = 4
    keyed.reserve(b"alice")  # 5
    keyed.group.release_all([keyed.row(1)], [1], [100])
    assert keys.next_held(keyed.consumer(b"alice")) is None
    due.look(99)
    assert due.take(99) is None
    due.look(100)
    assert due.take(100) == keyed.row(1)


def test_only_the_first_sent_entry_of_a_key_falls_due() -> None:
    keyed = Keyed()
    due = keyed.group.make_policy().due
    for number in (1, 5):
        keyed.last = number - 1
        keyed.send(b"alice")
    due.look(50)
    assert due.take(50) == keyed.row(1)
    assert due.take(50) is None
    keyed.group.acknowledge_all(EntryIDs.of([1]))
    assert due.take(50) == keyed.row(5)


def test_memory_is_counted_and_given_back() -> None:
    keyed = Keyed()
    before = keyed.group.memory_bytes()
    for _ in range(400):
        keyed.reserve(b"alice")
    keyed.open()
    assert keyed.group.memory_bytes() > before + 300 * 60
    keyed.group.acknowledge_all(EntryIDs.of(list(keyed.group.pending)))
    assert not keyed.keys.locks
    assert not keyed.keys.reserved
    keyed.group.make_policy().configure(DeliveryOptions())
    keyed.group.end_policy()
    assert keyed.group.policy is None


def test_the_look_ahead_is_full_until_a_quarter_is_free() -> None:
    keyed = Keyed(lookahead=4)
    for number in (1, 2, 3, 5):
        keyed.last = number - 1
        keyed.reserve(b"alice")
    assert not keyed.keys.has_room
    keyed.keys.wakes = False
    keyed.group.acknowledge_all(EntryIDs.of([1]))
    assert keyed.keys.has_room
    assert keyed.keys.wakes
