"""The memory of a database's keys and values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.keyspace.database import Database
from storage.keyspace.memory_count import MOST_NOTED, RECENT
from storage.memory import bytes_object_bytes
from storage.types.value import StringValue

ONE_KEY = bytes_object_bytes(1)


def test_a_key_counts_with_its_value_until_it_is_removed() -> None:
    db = Database(0)
    value = StringValue(b"x" * 100)
    db.set(b"k", value)
    db.memory.settle()
    assert db.memory.bytes == ONE_KEY + value.memory_bytes()
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
    assert db.memory.bytes == ONE_KEY + db.values[b"k"].memory_bytes()


def test_a_value_that_moves_counts_where_it_is() -> None:
    one, other = Database(0), Database(1)
    one.set(b"k", StringValue(b"x"))
    value = one.take(b"k")
    assert value is not None
    other.set(b"kk", value)
    other.memory.settle()
    assert one.memory.bytes == 0
    assert other.memory.bytes == bytes_object_bytes(2) + value.memory_bytes()


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
    assert db.memory.bytes == sum(
        bytes_object_bytes(len(key)) + value.memory_bytes() for key, value in db.values.items()
    )


@pytest.mark.interpreted
def test_a_table_that_lost_most_keys_is_made_again() -> None:
    db = Database(0)
    for number in range(50_000):
        db.set(b"%d" % number, StringValue(b"x"))
        db.expire_at(b"%d" % number, 10**13 + number)
    full = db.memory_bytes()
    for number in range(49_000):
        db.remove(b"%d" % number)
    assert db.memory_bytes() < full / 20
    assert len(db.values) == len(db.expires) == 1000
    assert next(db.keys()) == b"49000"


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
    sizes = (
        bytes_object_bytes(len(key)) + value.memory_bytes() for key, value in db.values.items()
    )
    assert db.memory.bytes == sum(sizes)
