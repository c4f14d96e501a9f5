"""Fast random numbers.

The ordered map of SCAN's order and of deadlines.
"""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from unittest import mock

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from storage.keyspace import ordered_index
from storage.keyspace.ordered_index import BLOCK_ITEMS, Chance, OrderedIndex
from tests.support.examples import examples


def test_numbers_are_below_the_limit_and_equally_frequent() -> None:
    chance = Chance(1)
    counts = Counter(chance.below(10) for _ in range(10_000))
    assert set(counts) == set(range(10))
    assert all(800 < count < 1200 for count in counts.values())


def test_one_number_is_certain() -> None:
    assert {Chance(seed).below(1) for seed in range(20)} == {0}


def test_a_seed_determines_the_sequence() -> None:
    one, same, other = Chance(7), Chance(7), Chance(1 << 61)
    numbers = [one.below(1000) for _ in range(20)]
    assert numbers == [same.below(1000) for _ in range(20)]
    assert numbers != [other.below(1000) for _ in range(20)]


@pytest.fixture
def filled() -> OrderedIndex:
    """The even keys from 0 to 20."""
    index: OrderedIndex = OrderedIndex()
    for key in range(0, 22, 2):
        index[key] = f"item {key}"
    return index


def test_an_empty_index_has_nothing_to_show() -> None:
    index: OrderedIndex = OrderedIndex()
    assert len(index) == 0
    assert index.first_key() is None
    assert index.last_key() is None
    assert list(index.items()) == []
    assert list(index.items_down_from(2**128 - 1)) == []
    assert index.get(1) is None
    assert index.pop(1) is None


def test_an_item_is_found_by_its_key(filled: OrderedIndex) -> None:
    assert filled[4] == "item 4"
    assert filled.get(4) == "item 4"
    assert 4 in filled
    assert filled.get(5) is None
    assert 5 not in filled
    with pytest.raises(KeyError):
        filled[5]


def test_an_item_is_replaced_at_its_place(filled: OrderedIndex) -> None:
    filled[4] = "another"
    assert filled[4] == "another"
    assert list(filled)[:4] == [0, 2, 4, 6]
    assert len(filled) == 11


def test_a_key_out_of_order_is_walked_in_order(filled: OrderedIndex) -> None:
    filled[5] = "late"
    filled[1] = "later"
    assert list(filled)[:6] == [0, 1, 2, 4, 5, 6]
    assert filled.first_key() == 0
    assert filled.last_key() == 20


def test_a_walk_begins_at_the_key_or_the_next_one(filled: OrderedIndex) -> None:
    assert [key for key, _ in filled.items_from(15)] == [16, 18, 20]
    assert [key for key, _ in filled.items_from(16)] == [16, 18, 20]
    assert list(filled.items_from(21)) == []
    assert list(filled.items_from(2**128)) == []


def test_a_walk_down_begins_at_the_key_or_the_one_before(filled: OrderedIndex) -> None:
    assert [key for key, _ in filled.items_down_from(5)] == [4, 2, 0]
    assert [key for key, _ in filled.items_down_from(4)] == [4, 2, 0]
    assert next(filled.items_down_from(2**128 - 1)) == (20, "item 20")


def test_a_removed_item_is_returned(filled: OrderedIndex) -> None:
    assert filled.pop(0) == "item 0"
    assert filled.pop(20) == "item 20"
    assert filled.pop(20, "nothing") == "nothing"
    assert filled.first_key() == 2
    assert filled.last_key() == 18
    assert len(filled) == 9


def test_items_are_listed_in_the_order_of_their_keys(filled: OrderedIndex) -> None:
    assert list(filled.values())[:2] == ["item 0", "item 2"]
    assert list(filled.items())[-1] == (20, "item 20")


def test_clearing_removes_everything(filled: OrderedIndex) -> None:
    filled.clear()
    assert len(filled) == 0
    filled[3] = "new"
    assert list(filled) == [3]


def test_many_items_are_added_at_once(filled: OrderedIndex) -> None:
    keys = list(range(100, 100 + 3 * BLOCK_ITEMS))
    filled.extend(keys, [str(key) for key in keys])
    assert list(filled)[11:] == keys
    assert filled[200] == "200"
    filled.extend([1, 3, 10_000], ["one", "three", "far"])
    assert list(filled)[:4] == [0, 1, 2, 3]
    assert filled.last_key() == 10_000
    filled.extend([], [])
    assert len(filled) == 11 + len(keys) + 3


def test_keys_below_those_added_at_once_find_their_place() -> None:
    index: OrderedIndex = OrderedIndex()
    index.extend([1, 3, 5], ["one", "three", "five"])
    index[3] = "another"
    index[4] = "four"
    assert list(index.items()) == [(1, "one"), (3, "another"), (4, "four"), (5, "five")]
    assert len(index) == 4


def test_a_walk_survives_the_removal_of_what_it_yields() -> None:
    index: OrderedIndex = OrderedIndex()
    keys = list(range(5 * BLOCK_ITEMS))
    index.extend(keys, keys)
    assert [index.pop(key) for key, _ in index.items()] == keys
    assert len(index) == 0


def test_a_walk_down_survives_the_removal_of_what_it_yields() -> None:
    index: OrderedIndex = OrderedIndex()
    keys = list(range(5 * BLOCK_ITEMS))
    index.extend(keys, keys)
    walk = index.items_down_from(2**128 - 1)
    assert [index.pop(key) for key, _ in walk] == keys[::-1]
    assert len(index) == 0


def test_no_block_grows_large_whatever_the_order_of_arrival() -> None:
    index: OrderedIndex = OrderedIndex()
    keys = random.Random(1).sample(range(10**6), 20 * BLOCK_ITEMS)
    for key in keys:
        index[key] = key
    assert max(map(len, index._blocks)) <= 2 * BLOCK_ITEMS
    assert list(index) == sorted(keys)


def test_blocks_that_lose_most_of_their_items_are_merged() -> None:
    index: OrderedIndex = OrderedIndex()
    keys = list(range(100 * BLOCK_ITEMS))
    index.extend(keys, keys)
    full = index.memory_bytes()
    for key in random.Random(1).sample(keys, len(keys) * 99 // 100):
        index.pop(key)
    assert len(index) == BLOCK_ITEMS
    assert index.memory_bytes() < full / 10
    for key in list(index):
        index.pop(key)
    assert len(index._blocks) == 1


def test_items_that_leave_in_order_free_their_blocks() -> None:
    index: OrderedIndex = OrderedIndex()
    for key in range(50 * BLOCK_ITEMS):
        index[key] = key
        if key >= 100:
            index.pop(key - 100)
    assert len(index) == 100
    assert len(index._blocks) <= 3


def test_a_block_that_waits_to_be_sorted_is_sorted_when_it_is_merged() -> None:
    with mock.patch.multiple(ordered_index, BLOCK_ITEMS=4, MERGE_AT=frozenset({0, 1})):
        index: OrderedIndex = OrderedIndex()
        for key in (0, 10, 20, 30, 40, 50, 60, 70, 45, 80):
            index[key] = key
        assert len(index._blocks) == 3
        for key in (40, 50, 60, 0, 10, 20, 30):
            index.pop(key)
        assert len(index._blocks) == 2
        assert list(index) == [45, 70, 80]


KEYS = st.integers(0, 60) | st.sampled_from([2**64, 2**128 - 1])


class IndexMachine(RuleBasedStateMachine):
    """An OrderedIndex does what a sorted dict would."""

    def __init__(self) -> None:
        super().__init__()
        self.index: OrderedIndex = OrderedIndex()
        self.model: dict[int, str] = {}

    @rule(keys=st.lists(KEYS, min_size=1, max_size=12), item=st.text(max_size=2))
    def put(self, keys: list[int], item: str) -> None:
        for key in keys:
            self.index[key] = item
            self.model[key] = item

    @rule(gap=st.integers(1, 3), count=st.integers(1, 12))
    def extend(self, gap: int, count: int) -> None:
        start = max(self.model, default=0) + gap
        keys = [key for key in range(start, start + count) if key < 2**128]
        self.index.extend(keys, [str(key) for key in keys])
        self.model |= {key: str(key) for key in keys}

    @rule(key=KEYS)
    def pop(self, key: int) -> None:
        assert self.index.pop(key) == self.model.pop(key, None)

    @precondition(lambda self: self.model)
    @rule(data=st.data(), count=st.integers(1, 10))
    def pop_present(self, data: st.DataObject, count: int) -> None:
        keys = data.draw(st.lists(st.sampled_from(sorted(self.model)), max_size=count, unique=True))
        for key in keys:
            assert self.index.pop(key) == self.model.pop(key)

    @rule(key=KEYS)
    def walk(self, key: int) -> None:
        ascending = sorted(self.model.items())
        assert list(self.index.items_from(key)) == [pair for pair in ascending if pair[0] >= key]
        below = [pair for pair in ascending if pair[0] <= key]
        assert self.index.floor_key(key) == (below[-1][0] if below else None)
        assert list(self.index.items_down_from(key)) == below[::-1]

    @rule(keys=st.lists(KEYS, max_size=5))
    def look_up(self, keys: list[int]) -> None:
        for key in [*keys, *list(self.model)[-3:]]:
            assert self.index.get(key) == self.model.get(key)
            assert (key in self.index) == (key in self.model)

    @precondition(lambda self: len(self.model) > 10)
    @rule()
    def clear(self) -> None:
        self.index.clear()
        self.model.clear()

    @rule()
    def look_at_the_ends(self) -> None:
        assert self.index.first_key() == min(self.model, default=None)
        assert self.index.last_key() == max(self.model, default=None)

    @invariant()
    def the_length_agrees(self) -> None:
        # Nothing here may walk the index: a walk sorts the blocks that wait for it.
        assert len(self.index) == len(self.model)

    @invariant()
    def blocks_are_in_order(self) -> None:
        bounds = [*self.index._bounds, 2**128]
        assert bounds == sorted(set(bounds))
        for (low, high), block in zip(pairwise(bounds), self.index._blocks, strict=True):
            assert all(low <= key < high for key in block)
        assert all(self.index._blocks[:-1])

    def teardown(self) -> None:
        assert list(self.index.items()) == sorted(self.model.items())


def test_an_index_is_a_sorted_dict() -> None:
    # Blocks of four, so that short runs open, split, merge and drop them.
    with mock.patch.multiple(ordered_index, BLOCK_ITEMS=4, MERGE_AT=frozenset({0, 1})):
        run_state_machine_as_test(
            IndexMachine, settings=settings(max_examples=examples(80), stateful_step_count=40)
        )
