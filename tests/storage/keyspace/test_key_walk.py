"""A consistent snapshot of a database's keys, read incrementally."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.keyspace.database import Database
from storage.keyspace.key_walk import KeyWalk
from storage.keyspace.ordered_index import BLOCK_ITEMS
from storage.types.value import StringValue

NOW_MS = 1000
MANY = 3 * BLOCK_ITEMS


def database(count: int) -> Database:
    db = Database(0)
    for number in range(count):
        db.set(b"%d" % number, StringValue(b"v"))
    return db


def rest(walk: KeyWalk) -> list[bytes]:
    return sorted(key for keys in walk.read() for key in keys)


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
            for offset in range(BLOCK_ITEMS // 2):
                db.remove(b"%d" % (number + offset))
        else:
            found += next(steps, [])
    found += (key for keys in steps for key in keys)
    assert sorted(found) == before
