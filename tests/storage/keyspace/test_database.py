"""The memory of a database's keys and values.

The keys of each slot.

A consistent snapshot of a database's keys, read incrementally.

storage/keyspace/database.py: a database.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from storage.entries.entry_id import EntryIDs
from storage.groups.group import Group
from storage.keyspace.creation_order import SLOTS
from storage.keyspace.database import MOST_NOTED, RECENT, Database, KeyWalk, SlotIndex
from storage.keyspace.ordered_index import Chance
from storage.stream import Stream
from storage.types.value import StringValue


def test_a_key_counts_with_its_value_until_it_is_removed() -> None:
    db = Database(0)
    value = StringValue(b"x" * 100)
    db.set(b"k", value)
    db.memory.settle()
    assert db.memory.bytes == value.memory_bytes()
    db.remove(b"k")
    assert db.memory.bytes == 0


def test_a_change_counts_once_it_is_settled() -> None:
    db = Database(0)
    value = StringValue(b"x")
    db.set(b"k", value)
    db.memory.settle()
    before = db.memory.bytes
    db.memory.note(value)
    value.data = b"x" * 1000
    assert db.memory.bytes == before
    db.memory.settle()
    assert db.memory.bytes > before + 900


def test_a_replaced_value_counts_no_more() -> None:
    db = Database(0)
    db.set(b"k", StringValue(b"x" * 10_000))
    db.set(b"k", StringValue(b"x"))
    db.memory.settle()
    assert db.memory.bytes == db.values[b"k"].memory_bytes()


def test_a_value_that_moves_counts_where_it_is() -> None:
    one, other = Database(0), Database(1)
    one.set(b"k", StringValue(b"x"))
    value = one.take(b"k")
    assert value is not None
    other.set(b"kk", value)
    other.memory.settle()
    assert one.memory.bytes == 0
    assert other.memory.bytes == value.memory_bytes()


def test_many_noted_values_are_settled_but_for_the_last() -> None:
    db = Database(0)
    for number in range(MOST_NOTED):
        db.set(b"%d" % number, StringValue(b"x"))
    settled = [value for value in db.values.values() if not value.has_changed]
    assert len(settled) == MOST_NOTED // 2


def test_a_removed_value_is_not_kept_alive() -> None:
    db = Database(0)
    for number in range(3 * RECENT):
        db.set(b"%d" % number, StringValue(b"x"))
    db.remove(b"0")  # noted long ago
    db.remove(b"190")  # noted just now
    assert len(db.memory._noted) <= RECENT
    db.memory.settle()
    assert db.memory.bytes == sum(value.memory_bytes() for value in db.values.values())


@pytest.mark.interpreted
def test_a_table_that_lost_most_keys_is_made_again() -> None:
    db = Database(0)
    for number in range(50_000):
        db.set(b"%d" % number, StringValue(b"x"))
        db.expire_at(b"%d" % number, 10**13 + number)
        db.expire_at(b"%d" % number, 2 * 10**13)
    full = db.memory_bytes()
    for number in range(49_000):
        db.remove(b"%d" % number)
    assert db.memory_bytes() < full / 20
    assert len(db.values) == len(db.expires) == 1000
    assert next(db.keys()) == b"49000"
    assert db.deadlines() == {b"%d" % number: 2 * 10**13 for number in range(49_000, 50_000)}
    db.expire_at(b"49999", 5)
    assert db.first_deadline() == (5, b"49999")


def test_what_was_cleared_counts_no_more() -> None:
    db = Database(0)
    db.set(b"k", StringValue(b"x"))
    db.clear()
    assert db.memory.bytes == 0 and db.memory_bytes() < 3000
    db.set(b"k", StringValue(b"x"))
    db.memory.settle()
    assert db.memory.bytes > 0


def test_values_that_changed_unnoticed_are_counted_again_in_turn() -> None:
    db = Database(0)
    for number in range(10):
        db.set(b"%d" % number, StringValue(b"x"))
    db.memory.settle()
    before = db.memory.bytes
    for value in db.values.values():
        assert isinstance(value, StringValue)
        value.data = b"x" * 1000
    for _ in range(4):
        db.recount(3)
    db.memory.settle()
    assert db.memory.bytes > before + 9000


@given(
    steps=st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 2000)), max_size=60
    )
)
def test_random_changes_leave_the_sum_of_what_is_there(steps: list[tuple[int, int, int]]) -> None:
    db = Database(0)
    for kind, number, size in steps:
        key = b"%d" % number
        value = db.get(key)
        if kind < 2:
            db.set(key, StringValue(bytes(size)))
        elif kind == 2:
            db.remove(key)
        elif kind == 3:
            db.memory.settle()
        elif isinstance(value, StringValue):
            db.memory.note(value)
            value.data = bytes(size)
            if kind == 5:
                db.set(key, value)
    db.memory.settle()
    assert db.memory.bytes + db.values.record_bytes == db.values.counted_bytes()


SLOT = 12182  # of foo


def test_keys_are_kept_by_slot() -> None:
    index = SlotIndex([b"foo", b"{foo}b", b"bar"])
    assert index.count(SLOT) == 2
    assert index.first(SLOT, 10) == [b"foo", b"{foo}b"]
    assert index.first(SLOT, 1) == [b"foo"]
    index.discard(b"foo")
    index.discard(b"foo")
    assert index.first(SLOT, 10) == [b"{foo}b"]
    index.discard(b"{foo}b")
    assert index.slots() == [5061]
    index.clear()
    assert index.slots() == []


def test_a_database_keeps_its_index() -> None:
    db = Database(0)
    db.slots = SlotIndex()
    db.set(b"foo", StringValue(b"1"))
    db.set(b"foo", StringValue(b"2"))
    assert db.add_all([b"{foo}b", b"bar"], [StringValue(b"3"), StringValue(b"4")])
    assert db.slots.count(SLOT) == 2
    other = Database(1)
    db.swap_content(other)
    assert db.slots is None
    assert other.slots is not None
    other.remove(b"foo")
    assert other.slots.first(SLOT, 10) == [b"{foo}b"]
    other.clear()
    assert other.slots.slots() == []


NOW_MS = 1000
MANY = 3 * SLOTS


def database(count: int) -> Database:
    db = Database(0)
    for number in range(count):
        db.set(b"%d" % number, StringValue(b"v"))
    return db


def rest(walk: KeyWalk) -> list[bytes]:
    return sorted(key for keys in walk.read() for key in walk.unexpired(keys))


def test_all_keys_are_read_once() -> None:
    db = database(MANY)
    assert rest(db.start_walk(NOW_MS)) == sorted(db.values)


def test_a_key_that_comes_meanwhile_is_not_read() -> None:
    db = database(3)
    walk = db.start_walk(NOW_MS)
    db.set(b"new", StringValue(b"v"))
    assert rest(walk) == [b"0", b"1", b"2"]


def test_a_key_that_goes_before_it_was_read_is_read_nevertheless() -> None:
    db = database(MANY)
    walk = db.start_walk(NOW_MS)
    before = sorted(db.values)
    steps = walk.read()
    keys = next(steps)
    for key in before:
        db.remove(key)  # those that were read, and those that were not
    assert sorted([*keys, *(key for more in steps for key in more)]) == before


def test_a_walk_over_what_is_left_of_many_keys_reads_each_once() -> None:
    db = database(20 * SLOTS)
    for number in range(20 * SLOTS):
        if number % 20:
            db.remove(b"%d" % number)
    for number in range(SLOTS):
        db.set(b"new %d" % number, StringValue(b"v"))
    before = sorted(db.values)
    walk = db.start_walk(NOW_MS)
    steps = walk.read()
    keys = next(steps)
    for key in before[::2]:
        db.remove(key)
    assert sorted([*keys, *(key for more in steps for key in more)]) == before


@pytest.mark.parametrize("read", [0, 1, 4])
def test_keys_that_are_left_of_a_block_meanwhile_are_read_once(read: int) -> None:
    db = database(4 * SLOTS)
    before = sorted(db.values)
    steps = db.start_walk(NOW_MS).read()
    found = [key for _ in range(read) for key in next(steps)]
    for number in range(SLOTS - 50):
        db.remove(b"%d" % number)
    assert sorted([*found, *(key for more in steps for key in more)]) == before


def test_a_key_that_is_renamed_is_read_under_its_old_name_only() -> None:
    db = database(MANY)
    walk = db.start_walk(NOW_MS)
    before = sorted(db.values)
    value = db.take(before[-1])
    assert value is not None
    db.set(b"another", value)
    assert rest(walk) == before


@pytest.mark.parametrize("swaps", [False, True])
def test_flushing_the_database_changes_nothing(swaps: bool) -> None:
    db, other = database(MANY), Database(1)
    before = sorted(db.values)
    walk = db.start_walk(NOW_MS)
    steps = walk.read()
    keys = next(steps)
    if swaps:
        db.swap_content(other)
        other.remove(before[0])
    db.clear()
    other.clear()
    assert sorted([*keys, *(key for more in steps for key in more)]) == before


def test_what_had_expired_is_not_read() -> None:
    db = database(4)
    db.expire_at(b"0", NOW_MS - 1)
    db.expire_at(b"1", NOW_MS)
    db.expire_at(b"2", NOW_MS - 1)
    walk = db.start_walk(NOW_MS)
    db.remove(b"2")
    assert rest(walk) == [b"1", b"3"]


def test_what_had_expired_is_not_read_after_a_flush() -> None:
    db = database(4)
    db.expire_at(b"0", NOW_MS - 1)
    db.expire_at(b"1", NOW_MS)
    walk = db.start_walk(NOW_MS)
    db.clear()
    db.set(b"2", StringValue(b"new"))
    db.expire_at(b"2", NOW_MS - 1)
    assert rest(walk) == [b"1", b"2", b"3"]


def test_what_expires_meanwhile_is_read() -> None:
    db = database(2)
    db.expire_at(b"0", NOW_MS + 5)
    walk = db.start_walk(NOW_MS)
    db.remove(b"0")
    assert rest(walk) == [b"0", b"1"]


def test_a_walk_that_has_ended_is_not_notified() -> None:
    db = database(2)
    walk = db.start_walk(NOW_MS)
    walk.end()
    db.remove(b"0")
    assert rest(walk) == []
    assert db._walks == []


def test_keys_that_move_while_they_are_walked_are_read_once() -> None:
    db = database(2 * SLOTS)
    for number in range(SLOTS):  # the rest has a block, which takes what moves
        if number % 9:
            db.remove(b"%d" % number)
    walk = db.start_walk(NOW_MS)
    before = sorted(db.values)
    for number in range(SLOTS, 2 * SLOTS):
        if number % 9:
            db.remove(b"%d" % number)
    db.set(b"new", StringValue(b"v"))
    assert sorted(rest(walk)) == before


ACTIONS = st.lists(
    st.tuples(st.sampled_from(["set", "remove", "read"]), st.integers(0, 2 * MANY)), max_size=60
)


@given(ACTIONS, st.integers(0, MANY))
def test_the_result_is_that_of_the_moment_whatever_happens(
    actions: list[tuple[str, int]], removed: int
) -> None:
    db = database(MANY)
    for number in range(removed):
        db.remove(b"%d" % number)
    before = sorted(db.values)
    walk = db.start_walk(NOW_MS)
    steps = walk.read()
    found: list[bytes] = []
    for action, number in actions:
        key = b"%d" % number
        if action == "set":
            db.set(key, StringValue(b"v"))
        elif action == "remove":
            # A run of keys, so that blocks are merged.
            for offset in range(SLOTS // 2):
                db.remove(b"%d" % (number + offset))
        else:
            found += next(steps, [])
    found += (key for keys in steps for key in keys)
    assert sorted(found) == before


def filled(*keys: bytes) -> Database:
    db = Database(0)
    for key in keys:
        db.set(key, StringValue(key))
    return db


def scan_all(db: Database, count: int) -> list[bytes]:
    cursor, keys = db.scan(0, count)
    while cursor:
        cursor, more = db.scan(cursor, count)
        keys += more
    return keys


def value_at(db: Database, key: bytes) -> bytes:
    value = db.get(key)
    assert isinstance(value, StringValue)
    return value.to_bytes()


# -- keys ----------------------------------------------------------------------------------------


def test_a_value_is_found_until_it_is_removed() -> None:
    db = filled(b"a", b"b")
    assert (b"a" in db, len(db), value_at(db, b"a")) == (True, 2, b"a")
    removed = db.remove(b"a")
    assert isinstance(removed, StringValue)
    assert removed.to_bytes() == b"a"
    assert (b"a" in db, len(db), db.get(b"a")) == (False, 1, None)
    assert db.remove(b"a") is None


def test_a_new_value_takes_the_place_of_the_old_one_and_keeps_its_deadline() -> None:
    db = filled(b"a")
    db.expire_at(b"a", 100)
    db.set(b"a", StringValue(b"new"))
    assert value_at(db, b"a") == b"new"
    assert db.due(101, 10) == [b"a"]


def test_many_new_keys_can_be_put_in_at_once() -> None:
    db = filled(b"a")
    keys = [b"%d" % number for number in range(1000)]
    assert db.add_all(keys, [StringValue(key) for key in keys])
    assert len(db) == 1001 and value_at(db, b"999") == b"999"
    db.set(b"later", StringValue(b""))
    assert scan_all(db, 10) == [b"later", *reversed(keys), b"a"]
    assert db.remove(b"500") is not None
    assert b"500" not in scan_all(db, 100)
    assert db.add_all([], [])


def test_of_keys_that_are_not_all_new_none_is_put_in() -> None:
    for keys in ([b"b", b"a"], [b"b", b"c", b"b"]):
        db = filled(b"a")
        assert not db.add_all(keys, [StringValue(b"new") for _ in keys])
        assert (list(db.keys()), value_at(db, b"a"), scan_all(db, 9)) == ([b"a"], b"a", [b"a"])


def test_swapped_databases_keep_their_index_only() -> None:
    first, second = filled(b"a"), Database(1)
    first.expire_at(b"a", 100)
    first.swap_content(second)
    assert (len(first), list(second.keys()), second.due(101, 1)) == (0, [b"a"], [b"a"])
    assert (first.index, second.index) == (0, 1)
    second.set(b"b", StringValue(b"b"))
    assert scan_all(second, 1) == [b"b", b"a"]


def test_clearing_leaves_nothing_to_find_walk_or_expire() -> None:
    db = filled(b"a", b"b")
    db.expire_at(b"a", 100)
    assert db.clear() == 2
    assert (len(db), scan_all(db, 10), db.due(1000, 10), db.deadlines()) == (0, [], [], {})


# -- expiry --------------------------------------------------------------------------------------


def test_a_key_expires_after_its_millisecond_and_not_within_it() -> None:
    db = filled(b"a")
    db.expire_at(b"a", 100)
    assert (db.is_expired(b"a", 100), db.is_expired(b"a", 101)) == (False, True)
    assert (db.due(100, 10), db.due(101, 10)) == ([], [b"a"])


def test_keys_are_due_in_the_order_of_their_deadlines() -> None:
    db = filled(b"a", b"b", b"c")
    for key, when_ms in ((b"a", 300), (b"b", 100), (b"c", 200)):
        db.expire_at(key, when_ms)
    assert db.due(250, 10) == [b"b", b"c"]
    assert db.due(1000, 2) == [b"b", b"c"]


def test_deadlines_that_move_later_are_found_when_they_are_due() -> None:
    db = Database(0)
    for number in range(20):
        key = b"%d" % number
        db.set(key, StringValue(b"v"))
        db.expire_at(key, 100 + number)
    for number in range(0, 20, 2):  # every second one lives for longer, in the opposite order
        db.expire_at(b"%d" % number, 300)
        db.expire_at(b"%d" % number, 1000 - number)
    assert db.due(110, 100) == [b"%d" % number for number in (1, 3, 5, 7, 9)]
    assert db.first_deadline() == (101, b"1")
    db.expire_at(b"0", 50)  # earlier again
    assert db.first_deadline() == (50, b"0")
    db.expire_at(b"4", 2000)
    assert db.persist(b"2")
    assert not db.persist(b"2")
    assert db.remove(b"6") is not None
    late = [b"%d" % number for number in (18, 16, 14, 12, 10, 8, 4)]
    odd = [b"%d" % number for number in range(1, 20, 2)]
    assert db.due(5000, 100) == [b"0", *odd, *late]
    for key in (b"0", *odd):
        db.remove(key)
    assert db.first_deadline() == (982, b"18")
    assert [db.due(983, 1), db.due(5000, 2)] == [[b"18"], [b"18", b"16"]]


def test_deadlines_take_little_memory_and_none_once_they_are_cleared() -> None:
    db = Database(0, free=lambda steps, _: freed.append([*steps]))
    freed: list[list[None]] = []
    for number in range(MANY):
        db.set(b"%d" % number, StringValue(b"v"))
    before_bytes = db.memory_bytes()
    for number in range(MANY):
        db.expire_at(b"%d" % number, 100 + number)
    assert MANY * 24 < db.memory_bytes() - before_bytes < MANY * 30
    db.clear()
    assert (len(freed), db.first_deadline()) == (1, None)
    assert db.memory_bytes() < 3000


def test_only_the_last_deadline_counts() -> None:
    db = filled(b"a", b"b")
    db.expire_at(b"a", 100)
    db.expire_at(b"a", 500)
    db.expire_at(b"b", 100)
    assert db.persist(b"b")
    assert not db.persist(b"b")
    assert db.due(400, 10) == []
    assert db.due(501, 10) == [b"a"]


def test_a_removed_key_is_never_due() -> None:
    db = filled(b"a")
    db.expire_at(b"a", 100)
    db.remove(b"a")
    db.set(b"a", StringValue(b"again"))
    assert db.due(101, 10) == []
    assert not db.is_expired(b"a", 101)


# -- SCAN ----------------------------------------------------------------------------------------


@given(st.integers(0, 60), st.integers(1, 70))
def test_a_walk_returns_every_key_once_in_steps_of_at_most_count(size: int, count: int) -> None:
    db = filled(*(b"%d" % i for i in range(size)))
    assert sorted(scan_all(db, count)) == sorted(db.keys())
    assert all(len(db.scan(cursor, count)[1]) <= count for cursor in range(size + 2))


def test_keys_that_come_and_go_during_a_walk_do_not_disturb_it() -> None:
    lasting = [b"lasting%d" % i for i in range(50)]
    db = filled(*lasting)
    seen: list[bytes] = []
    cursor, step = 0, 0
    while cursor or not step:
        cursor, keys = db.scan(cursor, 7)
        seen += keys
        for i in range(20):  # as many new keys as a step returns would never end otherwise
            db.set(b"new%d-%d" % (step, i), StringValue(b""))
        if step:
            db.remove(b"new%d-0" % (step - 1))
        db.set(lasting[step % 50], StringValue(b"overwritten"))
        step += 1
    assert step == 8
    assert sorted(key for key in seen if key.startswith(b"lasting")) == sorted(lasting)


def test_an_invented_cursor_continues_with_older_keys() -> None:
    db = filled(b"a", b"b", b"c")
    assert db.scan(2, 10) == (0, [b"b", b"a"])
    assert db.scan(1 << 64, 10) == (0, [b"c", b"b", b"a"])


# -- RANDOMKEY -----------------------------------------------------------------------------------


def test_an_empty_database_has_no_random_key() -> None:
    db = filled(b"a")
    db.remove(b"a")
    assert db.random_key(Chance(1)) is None


def test_every_key_has_about_the_same_chance() -> None:
    db = filled(*(b"%d" % i for i in range(30)))
    for i in range(0, 30, 3):
        db.remove(b"%d" % i)
    chance = Chance(1)
    counts = Counter(db.random_key(chance) for _ in range(20_000))
    assert set(counts) == set(db.keys())
    assert max(counts.values()) < 1.25 * min(counts.values())


def test_few_keys_left_of_many_all_have_a_chance() -> None:
    db = filled(*(b"%d" % i for i in range(20_000)))
    for i in range(1, 19_998):
        db.remove(b"%d" % i)
    chance = Chance(1)
    counts = Counter(db.random_key(chance) for _ in range(900))
    assert set(counts) == {b"0", b"19998", b"19999"}
    assert min(counts.values()) > 200


# -- all together --------------------------------------------------------------------------------

KEYS = st.sampled_from([b"a", b"b", b"c", b"d"])


class DatabaseAgainstDicts(RuleBasedStateMachine):
    """The same operations on a database and on two dicts."""

    def __init__(self) -> None:
        super().__init__()
        self.db = Database(0)
        self.values: dict[bytes, bytes] = {}
        self.expires: dict[bytes, int] = {}

    @rule(key=KEYS, content=st.binary(max_size=2))
    def set(self, key: bytes, content: bytes) -> None:
        self.db.set(key, StringValue(content))
        self.values[key] = content

    @rule(key=KEYS)
    def remove(self, key: bytes) -> None:
        assert (self.db.remove(key) is not None) is (key in self.values)
        self.values.pop(key, None)
        self.expires.pop(key, None)

    @rule(key=KEYS, when_ms=st.integers(0, 20))
    def expire_at(self, key: bytes, when_ms: int) -> None:
        if key in self.values:
            self.db.expire_at(key, when_ms)
            self.expires[key] = when_ms

    @rule(key=KEYS)
    def persist(self, key: bytes) -> None:
        assert self.db.persist(key) is (self.expires.pop(key, None) is not None)

    @rule(key=KEYS, new_key=KEYS)
    def rename(self, key: bytes, new_key: bytes) -> None:
        if key in self.values and key != new_key:
            self.remove(new_key)
            value = self.db.remove(key)
            assert value is not None
            self.db.set(new_key, value)
            self.values[new_key] = self.values.pop(key)
            self.expires.pop(key, None)

    @invariant()
    def they_agree(self) -> None:
        assert {key: value_at(self.db, key) for key in self.db.values} == self.values
        assert sorted(self.db.keys()) == sorted(self.values)
        assert self.db.deadlines() == self.expires
        assert sorted(scan_all(self.db, 2)) == sorted(self.values)
        for now_ms in (0, 10, 21):
            due = [key for key, when_ms in self.expires.items() if when_ms < now_ms]
            assert sorted(self.db.due(now_ms, 10)) == sorted(due)
        for key in self.values:
            assert self.db.deadline(key) == self.expires.get(key)
        first_ms = min(self.expires.values(), default=None)
        first = self.db.first_deadline()
        assert (None if first is None else first[0]) == first_ms


TestDatabaseAgainstDicts = DatabaseAgainstDicts.TestCase


# -- streams that go ---------------------------------------------------------------------------


def stream_with_pending() -> tuple[Stream, Group]:
    stream = Stream()
    stream.append(1 << 64, [b"f", b"v"], 100, 4096)
    group = stream.groups[b"g"] = Group(b"g", 0)
    group.deliver(group.create_consumer(b"c", 0), EntryIDs.of([1 << 64]), 0)
    return stream, group


@pytest.mark.parametrize(
    "go",
    [
        lambda db: db.remove(b"k"),
        lambda db: db.set(b"k", StringValue(b"v")),
        lambda db: db.clear(),
    ],
    ids=["removed", "replaced", "cleared"],
)
def test_a_stream_that_goes_for_good_needs_no_garbage_collector(
    go: Callable[[Database], object],
) -> None:
    db = Database(0)
    stream, group = stream_with_pending()
    db.set(b"k", stream)
    go(db)
    assert not group.pending and not group.consumers


def test_a_stream_that_only_moves_keeps_what_is_pending() -> None:
    db = Database(0)
    stream, group = stream_with_pending()
    db.set(b"k", stream)
    db.set(b"k", stream)
    assert db.take(b"k") is stream
    db.set(b"other", stream)
    assert len(group.pending) == 1


# -- streams -------------------------------------------------------------------------------------


def stream_keys(db: Database) -> list[bytes]:
    return [key for _, key in db.streams.items_from(0)]


def test_the_keys_of_streams_are_known_in_the_order_of_their_creation() -> None:
    db = filled(b"text")
    for key in (b"b", b"a", b"c"):
        db.set(key, Stream())
    assert stream_keys(db) == [b"b", b"a", b"c"]
    db.remove(b"a")
    db.set(b"b", StringValue(b"no stream any more"))
    db.set(b"text", Stream())
    assert stream_keys(db) == [b"text", b"c"]
    taken = db.take(b"c")
    assert taken is not None
    db.set(b"d", taken)
    db.set(b"d", Stream())
    assert stream_keys(db) == [b"text", b"d"]


def test_the_keys_of_streams_are_known_after_a_load_an_exchange_and_a_flush() -> None:
    db, other = Database(0), Database(1)
    db.add_all([b"x", b"s", b"t"], [StringValue(b""), Stream(), Stream()])
    db.swap_content(other)
    assert (stream_keys(db), stream_keys(other)) == ([], [b"s", b"t"])
    other.clear()
    assert stream_keys(other) == []
