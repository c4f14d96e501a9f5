"""The table of keys beside a dict, while values come, change, move, are referred to and go."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from storage.keyspace.database import Database
from storage.keyspace.key_table import KeyTable
from storage.redis_format.encoding_limits import EncodingLimits
from storage.stream import Stream
from storage.types.hashes import HashValue
from storage.types.lists import ListValue
from storage.types.sets import SetValue, SortedSetValue
from storage.types.value import StringValue, Value

KEYS = 3000
LIMITS = EncodingLimits()


def content(value: Value) -> Any:
    """What a value has, its encoding included."""
    what: Any
    if isinstance(value, StringValue):
        what = value.to_bytes()
    elif isinstance(value, ListValue):
        what = list(value)
    elif isinstance(value, SetValue):
        what = set(value.members())
    elif isinstance(value, HashValue):
        what = value.pairs(), value.expires
    elif isinstance(value, SortedSetValue):
        what = list(value.pairs(0, len(value)))
    else:
        assert isinstance(value, Stream)
        what = value.last_id
    return value.type_name, value.encoding, value.size, what


def word(chance: Random) -> bytes:
    """Mostly short, some too long to be packed."""
    return b"%x" % chance.getrandbits(40) * chance.choice((1, 1, 1, 3, 40))


def change(value: Value, chance: Random, limits: EncodingLimits) -> None:
    """Add something, or remove it, so that values grow over all bounds, and shrink again."""
    text = word(chance)
    if isinstance(value, StringValue):
        if chance.random() < 0.5:
            value.replace(text)
        else:
            value.append(text)
    elif isinstance(value, ListValue):
        if len(value) > 1 and chance.random() < 0.4:
            value.pop_left(chance.randrange(1, len(value)))
        else:
            value.push_right([text] * chance.choice((1, 2, 60)), limits)
    elif isinstance(value, SetValue):
        for number in range(chance.choice((1, 2, 200))):
            value.add(b"%d" % number if chance.random() < 0.5 else text + b"%d" % number, limits)
    elif isinstance(value, HashValue):
        value.set(text, word(chance), limits)
        if chance.random() < 0.1:
            value.expire_at(text, 10**13)
        elif value.expires and chance.random() < 0.5:
            value.persist(list(value.expires))
    elif isinstance(value, SortedSetValue):
        for number in range(chance.choice((1, 2, 60))):
            value.set(text + b"%d" % number, chance.random(), limits)


MAKERS: tuple[Callable[[], Value], ...] = (
    lambda: StringValue(b"text"),
    lambda: StringValue(b"12"),
    ListValue,
    SetValue,
    HashValue,
    SortedSetValue,
    Stream,
)


class Beside:
    """A database, and what it should have in a dict."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.db = Database(0)
        self.model: dict[bytes, tuple[Any, int, int, int | None]] = {}
        self.referred: list[tuple[bytes, Value]] = []

    def key(self) -> bytes:
        return b"key:%d" % self.chance.randrange(KEYS)

    def note(self, key: bytes, value: Value) -> None:
        self.db.memory.note(value)
        value.access_ms = self.chance.randrange(10**13)
        value.frequency = self.chance.randrange(256)
        self.keep(key, value)

    def keep(self, key: bytes, value: Value) -> None:
        deadline = self.db.deadline(key)
        self.model[key] = content(value), value.access_ms, value.frequency, deadline

    def step(self) -> None:
        key, kind = self.key(), self.chance.random()
        value = self.db.get(key)
        assert (value is not None) is (key in self.model)
        if value is None or kind < 0.1:
            value = self.chance.choice(MAKERS)()
            change(value, self.chance, LIMITS)
            self.db.set(key, value)
            self.note(key, value)
        elif kind < 0.5:
            self.check(key, value)
            change(value, self.chance, LIMITS)
            self.note(key, value)
        elif kind < 0.6:
            self.db.expire_at(key, self.chance.randrange(1000))
            self.keep(key, value)
        elif kind < 0.75:
            taken = self.db.take(key)
            assert taken is value
            del self.model[key]
            if kind < 0.7:
                other = self.key()
                self.db.set(other, taken)
                self.note(other, taken)
        elif kind < 0.8:
            self.referred.append((key, value))
            del self.referred[: -self.chance.randrange(1, 30)]
        elif kind < 0.81:
            self.db.memory.settle()
            assert (
                self.db.memory.bytes + self.db.values.record_bytes == self.db.values.counted_bytes()
            )
        else:
            self.check(key, value)
            value.access_ms += 1  # a read
            self.keep(key, value)

    def check(self, key: bytes, value: Value) -> None:
        now = content(value), value.access_ms, value.frequency, self.db.deadline(key)
        assert now == self.model[key]
        assert self.db.get(key) is value
        assert self.db._order.get(value.serial) == key

    def check_all(self) -> None:
        db = self.db
        assert len(db) == len(self.model)
        assert sorted(db.values) == sorted(db.keys()) == sorted(self.model)
        for key, value in db.items():
            self.check(key, value)
        db.memory.settle()
        del value
        assert db.memory.bytes + db.values.record_bytes == db.values.counted_bytes()


@pytest.mark.parametrize("seed", range(3))
def test_it_holds_what_a_dict_holds(seed: int) -> None:
    beside = Beside(seed)
    for _ in range(12_000):
        beside.step()
    beside.check_all()
    for key in list(beside.model)[:-20]:
        assert beside.db.remove(key) is not None
        del beside.model[key]
    beside.check_all()
    for _ in range(2000):
        beside.step()
    beside.check_all()
    beside.referred.clear()
    beside.db.clear()
    assert len(beside.db) == beside.db.memory.bytes == beside.db.values.record_bytes == 0


def test_many_keys_come_and_go() -> None:
    table, values = KeyTable(), {}
    for number in range(40_000):
        values[b"%d" % number] = value = StringValue(b"v%d" % number)
        value.serial = number + 1
        table.put(b"%d" % number, value)
    full_bytes = table.memory_bytes()
    assert len(table) == 40_000
    assert all(table.get(key) is value for key, value in values.items())
    assert dict(table.items()) == values
    for number in range(39_990):
        assert table.pop(b"%d" % number) is values[b"%d" % number]
        assert table.pop(b"%d" % number) is None
    assert sorted(table) == [b"%d" % number for number in range(39_990, 40_000)]
    assert (b"39990" in table, b"5" in table) == (True, False)
    assert table.memory_bytes() < full_bytes / 50


def test_an_empty_key_has_a_place_in_the_order() -> None:
    db = Database(0)
    db.set(b"", StringValue(b"v"))
    assert (db.scan(0, 10), list(db.keys())) == ((0, [b""]), [b""])


def test_a_value_of_another_table_is_another_one() -> None:
    one, two = Database(0), Database(1)
    one.set(b"k", StringValue(b"one"))
    one.memory.settle()
    value = one.get(b"k")
    assert value is not None
    one.clear()
    two.set(b"k", value)
    two.memory.settle()
    del value
    found = two.get(b"k")
    assert isinstance(found, StringValue) and found.to_bytes() == b"one"
    assert one.get(b"k") is None


def traced_bytes(work: Callable[[], object]) -> int:
    """What stays allocated after some work."""
    gc.collect()
    tracemalloc.start()
    try:
        kept = work()
        gc.collect()
        del kept
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("settles", [True, False])
@pytest.mark.parametrize("end", ["remove", "clear", "set"])
def test_a_small_value_that_has_grown_takes_nothing_once_it_is_removed(
    end: str, *, settles: bool
) -> None:
    db = Database(0)
    keys = [b"key %d" % number for number in range(50)]
    for key in keys:
        db.set(key, StringValue(b"v"))
    db.memory.settle()

    def grow_and_remove() -> None:
        for key in keys:
            value = db.get(key)
            assert isinstance(value, StringValue)
            value.append(bytes(100_000))
            db.memory.note(value)
        del value
        if settles:
            db.memory.settle()
        if end == "clear":
            db.clear()
        for key in keys:
            if end == "set":
                db.set(key, StringValue(b"v"))
            else:
                db.remove(key)
        db.memory.settle()

    assert traced_bytes(grow_and_remove) < 1_000_000


def test_a_table_is_freed_when_a_walk_over_its_keys_ends() -> None:
    db = Database(0)

    def read_and_clear() -> None:
        for number in range(20_000):
            db.set(b"key %d" % number, StringValue(bytes(100)))
        db.memory.settle()
        walk = db.start_walk(0)
        assert db.get(b"key 5") is not None
        db.clear()
        assert sum(map(len, walk.read())) == 20_000
        walk.end()

    assert traced_bytes(read_and_clear) < 1_000_000


def test_a_missing_key_raises() -> None:
    with pytest.raises(KeyError):
        KeyTable()[b"k"]
