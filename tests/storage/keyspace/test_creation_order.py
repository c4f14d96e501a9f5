"""Keys by serial: beside a dict, while keys come and go."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from storage.keyspace.creation_order import SLOTS, CreationOrder
from storage.keyspace.key_table import KeyTable
from storage.keyspace.ordered_index import Chance
from storage.types.value import StringValue


def name(serial: int) -> bytes:
    return b"key %d" % serial


def walked(order: CreationOrder, start: int, count: int) -> list[bytes]:
    """All keys from a serial downwards, read in steps of `count`."""
    found: list[bytes] = []
    while start:
        start, keys = order.keys_down_from(start, count)
        assert len(keys) <= count
        found += keys
    return found


def keys(most: int) -> KeyTable:
    """A table of the keys with serials up to `most`."""
    table = KeyTable()
    for serial in range(1, most + 1):
        value = StringValue(b"")
        value.serial = serial
        table.put(name(serial), value)
    return table


def filled(serials: range) -> CreationOrder:
    order = CreationOrder(keys(2000))
    for serial in serials:
        order.append(serial, name(serial))
    return order


@pytest.mark.parametrize("kept", [0, 0.02, 0.1, 0.5, 0.95])
@pytest.mark.parametrize("seed", range(3))
def test_it_holds_what_a_dict_holds(kept: float, seed: int) -> None:
    chance = Random(seed)
    order, model = CreationOrder(keys(5000)), dict[int, bytes]()
    for serial in range(1, 5000):
        order.append(serial, name(serial))
        model[serial] = name(serial)
        while model and chance.random() > kept and len(model) > kept * serial:
            gone = chance.choice([*model][-700:])
            order.remove(gone)
            del model[gone]
    assert len(order) == len(model)
    assert all(order.get(serial) == model.get(serial) for serial in range(5002))
    expected = [model[serial] for serial in sorted(model, reverse=True)]
    assert walked(order, 5000, 10) == expected
    assert walked(order, 5000, 100_000) == expected
    assert list(order.ascending()) == expected[::-1]
    middle = 2500
    assert walked(order, middle, 7) == [
        model[serial] for serial in sorted(model, reverse=True) if serial <= middle
    ]
    for serial in list(model):
        order.remove(serial)
    assert len(order) == 0
    assert walked(order, 5000, 10) == []
    assert order.random_key(Chance(1)) is None


def test_many_keys_are_added_at_once() -> None:
    order = filled(range(1, 4))
    keys = [name(serial) for serial in range(4, 2000)]
    order.extend(4, keys)
    assert walked(order, 2000, 100) == [name(serial) for serial in range(1999, 0, -1)]


def test_each_key_is_picked_equally_often() -> None:
    order = filled(range(1, 2 * SLOTS + 21))
    for serial in range(11, 2 * SLOTS + 1):
        order.remove(serial)
    chance = Chance(7)
    counts = Counter(order.random_key(chance) for _ in range(15_000))
    assert len(counts) == 30
    assert all(300 < count < 700 for count in counts.values())


def test_few_keys_that_stay_of_many_take_little() -> None:
    order = CreationOrder(KeyTable())
    for serial in range(1, 100_000):
        order.append(serial, name(serial))
        if serial % 1000:
            order.remove(serial)
    assert len(order) == 99
    assert order.memory_bytes() < 30_000


def test_what_is_taken_apart_is_empty() -> None:
    order = filled(range(1, 2000))
    for serial in range(2, 500):
        order.remove(serial)
    parts = order.take_blocks()
    assert len(parts) > 3
    assert len(order) == 0
    order.append(2000, name(2000))
    assert walked(order, 3000, 10) == [name(2000)]
