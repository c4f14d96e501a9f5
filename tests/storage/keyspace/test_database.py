"""storage/keyspace/database.py: a database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from storage.chance import Chance
from storage.entries.entry_id import EntryIDs
from storage.groups.group import Group
from storage.keyspace.database import Database
from storage.stream import Stream
from storage.types.value import StringValue


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
    assert (len(db), scan_all(db, 10), db.due(1000, 10), db.expires) == (0, [], [], {})


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
        assert self.db.expires == self.expires
        assert sorted(scan_all(self.db, 2)) == sorted(self.values)
        for now_ms in (0, 10, 21):
            due = [key for key, when_ms in self.expires.items() if when_ms < now_ms]
            assert sorted(self.db.due(now_ms, 10)) == sorted(due)


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
