"""Deadlines by slot, and a heap that has the earliest on top."""

import random

from hypothesis import given
from hypothesis import strategies as st

from storage.keyspace.deadlines import NO_DEADLINE, Deadlines
from storage.keyspace.ordered_index import Chance


def test_a_slot_has_its_time_and_slot_0_none() -> None:
    deadlines = Deadlines()
    slot = deadlines.add(100, 7)
    assert (slot, deadlines.at(slot), deadlines.at(0)) == (1, 100, NO_DEADLINE)
    assert (len(deadlines), deadlines.first()) == (1, 7)


def test_the_earliest_come_first_and_those_of_one_time_by_serial() -> None:
    deadlines = Deadlines()
    for serial, when_ms in ((3, 200), (2, 100), (1, 200), (4, 50)):
        deadlines.add(when_ms, serial)
    assert deadlines.before(201, 9) == [4, 2, 1, 3]
    assert deadlines.before(200, 9) == [4, 2]
    assert deadlines.before(201, 1) == [4]
    assert deadlines.before(201, 0) == []


def test_an_empty_one_gives_nothing() -> None:
    deadlines = Deadlines()
    assert (deadlines.first(), deadlines.random(Chance(1)), deadlines.sample(3)) == (None, None, [])
    assert (deadlines.before(1000, 9), list(deadlines.items())) == ([], [])


def test_a_sample_is_of_all_times() -> None:
    deadlines = Deadlines()
    for serial in range(1, 1001):
        deadlines.add(serial, serial)
    assert deadlines.sample(2000) == list(range(1, 1001))
    assert 400 < sum(deadlines.sample(10)) / 10 < 600


def test_each_key_has_about_the_same_chance() -> None:
    deadlines = Deadlines()
    for serial in range(10):
        deadlines.add(serial, serial)
    chance = Chance(1)
    found = [deadlines.random(chance) for _ in range(5000)]
    assert all(400 < found.count(serial) < 600 for serial in range(10))


def test_free_slots_are_used_again() -> None:
    deadlines = Deadlines()
    slots = [deadlines.add(when_ms, when_ms) for when_ms in range(1, 2001)]
    full = deadlines.memory_bytes()
    for slot in slots[:1990]:
        deadlines.drop(slot)
    assert deadlines.is_sparse
    for when_ms in range(1990):
        deadlines.add(when_ms, when_ms)
    assert (deadlines.memory_bytes(), deadlines.is_sparse) == (full, False)


@given(st.integers(0, 1 << 30), st.integers(2, 400))
def test_it_holds_what_a_dict_holds(seed: int, steps: int) -> None:
    rng = random.Random(seed)
    deadlines = Deadlines()
    model: dict[int, tuple[int, int]] = {}  # by serial: time, slot
    for serial in range(1, steps):
        kind = rng.random()
        if kind < 0.5 or not model:
            when_ms = rng.randrange(30)
            model[serial] = when_ms, deadlines.add(when_ms, serial)
        elif kind < 0.75:
            moved = rng.choice(list(model))
            model[moved] = rng.randrange(30), model[moved][1]
            deadlines.move(model[moved][1], model[moved][0])
        else:
            deadlines.drop(model.pop(rng.choice(list(model)))[1])
        ordered = sorted((when_ms, key) for key, (when_ms, _) in model.items())
        assert (len(deadlines), deadlines.first()) == (
            len(model),
            ordered[0][1] if ordered else None,
        )
    assert deadlines.before(15, 20) == [key for when_ms, key in ordered if when_ms < 15][:20]
    assert dict(deadlines.items()) == {key: when_ms for key, (when_ms, _) in model.items()}
    assert all(deadlines.at(slot) == when_ms for when_ms, slot in model.values())
