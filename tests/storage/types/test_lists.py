"""Lists: against a Python list, and what Redis would call their encoding."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from storage.redis_format.encoding_limits import EncodingLimits
from storage.redis_format.listpack import encode_listpack
from storage.types.list_nodes import (
    ListNode,
)
from storage.types.lists import ListValue

LIMITS = EncodingLimits()

items = st.one_of(
    st.sampled_from([b"a", b"b", b"", b"7", b"-12"]),
    st.integers(0, 300).map(lambda length: b"x" * length),
    st.sampled_from([2000, 5000, 9000]).map(lambda length: b"y" * length),
)
counts = st.integers(1, 4)


class AgainstAList(RuleBasedStateMachine):
    """The same changes on a ListValue and on a list; the nodes stay in order."""

    def __init__(self) -> None:
        super().__init__()
        self.limits = EncodingLimits()
        self.value = ListValue()
        self.model: list[bytes] = []

    @rule(fill=st.sampled_from([-2, -1, 1, 2, 3, 5]))
    def change_the_limit(self, fill: int) -> None:
        self.limits.list_max_listpack_size = fill

    @rule(new=st.lists(items, min_size=1, max_size=4))
    def push_left(self, new: list[bytes]) -> None:
        self.value.push_left(new, self.limits)
        self.model[:0] = new[::-1]

    @rule(new=st.lists(items, min_size=1, max_size=4))
    def push_right(self, new: list[bytes]) -> None:
        self.value.push_right(new, self.limits)
        self.model += new

    @rule(count=counts)
    def pop_left(self, count: int) -> None:
        assert self.value.pop_left(count) == self.model[:count]
        del self.model[:count]
        self._end_removal()

    @rule(count=counts)
    def pop_right(self, count: int) -> None:
        assert self.value.pop_right(count) == self.model[::-1][:count]
        del self.model[-count:]
        self._end_removal()

    @precondition(lambda self: self.model)
    @rule(data=st.data(), count=st.integers(-2, 2))
    def remove(self, data: st.DataObject, count: int) -> None:
        item = data.draw(st.sampled_from(self.model))
        places = [i for i, one in enumerate(self.model) if one == item]
        chosen = places[count:] if count < 0 else places[: count or None]
        assert self.value.remove(item, count) == len(chosen)
        self.model = [one for i, one in enumerate(self.model) if i not in chosen]
        self._end_removal()

    @precondition(lambda self: self.model)
    @rule(data=st.data(), item=items)
    def set(self, data: st.DataObject, item: bytes) -> None:
        index = data.draw(st.integers(0, len(self.model) - 1))
        self.value.set(index, item, self.limits)
        self.model[index] = item

    @precondition(lambda self: self.model)
    @rule(data=st.data(), item=items, after=st.booleans())
    def insert(self, data: st.DataObject, item: bytes, after: bool) -> None:
        index = data.draw(st.integers(0, len(self.model) - 1))
        self.value.insert(index, item, self.limits, after=after)
        self.model.insert(index + after, item)

    @precondition(lambda self: len(self.model) > 8)
    @rule(data=st.data())
    def trim(self, data: st.DataObject) -> None:
        start = data.draw(st.integers(0, 4))
        end = data.draw(st.integers(len(self.model) - 4, len(self.model)))
        self.value.trim(start, end)
        self.model = self.model[start:end]
        self._end_removal()

    def _end_removal(self) -> None:
        if self.model:
            self.value.shrink(self.limits)
        else:
            self.value = ListValue()

    @invariant()
    def it_holds_the_same(self) -> None:
        value, model = self.value, self.model
        assert list(value) == list(value.copy()) == model
        assert len(value) == value.size == len(model)
        assert [value[index] for index in range(len(model))] == model
        middle = len(model) // 3
        assert value.range(middle, len(model)) == model[middle:]
        bulks = [b"$%d\r\n%b\r\n" % (len(one), one) for one in model[middle:]]
        assert value.bulks(b"*\r\n", middle, len(model)) == b"*\r\n" + b"".join(bulks)
        for item in set(model):
            places = [i for i, one in enumerate(model) if one == item]
            assert list(value.find(item)) == places
            assert list(value.find(item, backwards=True)) == places[::-1]

    @invariant()
    def its_nodes_are_sound(self) -> None:
        for node in self.value.nodes:
            assert node.items or not self.model
            assert node.plain is not None or node.listpack() == encode_listpack(node.items)
        if self.value.encoding == b"listpack":
            assert len(self.value.nodes) <= 1


TestAgainstAList = AgainstAList.TestCase


def made(count: int, fill: int = -2, item: bytes = b"x") -> ListValue:
    value = ListValue()
    value.push_right([item] * count, EncodingLimits(list_max_listpack_size=fill))
    return value


def test_a_list_is_a_listpack_up_to_the_limit_of_a_node() -> None:
    assert made(3, fill=3).encoding == b"listpack"
    assert made(4, fill=3).encoding == b"quicklist"
    # Redis adds the bytes of the new elements to those of the listpack, without their framing.
    assert made(8185).encoding == b"listpack"
    assert made(8186).encoding == b"quicklist"
    assert made(1, item=b"x" * 8186).encoding == b"quicklist"


def test_a_quicklist_becomes_a_listpack_at_half_the_limit() -> None:
    limits = EncodingLimits(list_max_listpack_size=4)
    value = made(5, fill=4)
    assert [len(node) for node in value.nodes] == [4, 1]
    value.pop_right(2)
    value.shrink(limits)
    assert value.encoding == b"quicklist"
    value.pop_right(1)
    value.shrink(limits)
    assert value.encoding == b"listpack"


def test_a_stored_list_is_a_listpack_up_to_the_whole_limit() -> None:
    limits = EncodingLimits(list_max_listpack_size=4)
    assert ListValue.of([b"a"] * 4, limits).encoding == b"listpack"
    assert ListValue.of([b"a"] * 5, limits).encoding == b"quicklist"
    assert ListValue.of_nodes([ListNode([b"a"] * 4)], limits).encoding == b"listpack"
    assert ListValue.of_nodes([ListNode([b"a"] * 5)], limits).encoding == b"quicklist"
    plain = ListNode.of_plain(b"a")
    assert ListValue.of_nodes([plain], limits).encoding == b"quicklist"


@given(st.lists(items, max_size=60), st.sampled_from([-5, -2, -1, 1, 2, 5]))
def test_a_stored_list_has_the_nodes_of_one_that_grew(new: list[bytes], fill: int) -> None:
    limits = EncodingLimits(list_max_listpack_size=fill)
    stored, grown = ListValue.of(new, limits), ListValue()
    for item in new:
        grown.push_right([item], limits)
    assert stored.encoding == grown.encoding or not new
    form = [
        [(n.items, n.is_plain, n.size_bytes(), n.start) for n in v.nodes] for v in (stored, grown)
    ]
    assert form[0] == form[1]


@pytest.mark.parametrize("size", [6, 40])  # packed, and in nodes
@pytest.mark.parametrize("count", [-9, -2, -1, 0, 1, 2, 9])
def test_the_first_or_the_last_equal_elements_are_removed(size: int, count: int) -> None:
    items = [b"%d" % (number % 3) * 30 for number in range(size)]
    for item in (items[0], items[1], items[2], b"none"):
        value = ListValue()
        value.push_right(items, LIMITS)
        equal = [place for place in range(size) if items[place] == item]
        gone = equal[count:] if count < 0 else equal[:count] if count else equal
        assert value.remove(item, count) == len(gone)
        kept = [items[place] for place in range(size) if place not in gone]
        assert list(value) == kept


def test_elements_come_in_batches() -> None:
    value = ListValue.of([b"%d" % n for n in range(130)], LIMITS)
    assert [len(batch) for batch in value.batches(64)] == [64, 64, 2]


def test_memory_follows_from_the_elements() -> None:
    small, large = made(10), made(1000, item=b"x" * 100)
    assert small.memory_bytes() < 500
    assert 103_000 < large.memory_bytes() < 110_000


@pytest.mark.parametrize("fill", [1, 128, -1, -2])
@given(st.lists(st.binary(max_size=30), max_size=50))
def test_what_is_pushed_at_one_end_comes_off_at_the_other(fill: int, new: list[bytes]) -> None:
    value = ListValue()
    limits = EncodingLimits(list_max_listpack_size=fill)
    for item in new:
        value.push_left([item], limits)
    assert value.pop_right(len(new)) == new


def test_a_list_takes_its_small_form_again_at_half_of_what_that_has() -> None:
    value = ListValue()
    value.push_right([b"element %d" % n for n in range(10, 28)], LIMITS)
    few_bytes = value.memory_bytes()
    value.push_right([b"element 28"] * 3, LIMITS)
    many_bytes = value.memory_bytes()
    value.pop_left(3)
    value.shrink(LIMITS)
    assert value.memory_bytes() == many_bytes > few_bytes
    value.pop_left(9)
    value.shrink(LIMITS)
    assert value.memory_bytes() < few_bytes
    assert list(value) == [*(b"element %d" % n for n in range(22, 28)), *[b"element 28"] * 3]
