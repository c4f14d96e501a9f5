"""A node of a list: elements in a listpack, and when Redis would fill it further."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from storage.redis_format.listpack import encode_listpack
from storage.types.list_nodes import (
    ListNode,
    exceeds,
    is_large,
    max_bytes,
    max_count,
    nodes_of,
)

node_items = st.one_of(
    st.sampled_from([b"", b"a", b"0", b"127", b"-1", b"007", b"-0", b"9223372036854775807"]),
    st.integers(-(2**63), 2**64).map(b"%d".__mod__),
    st.sampled_from([62, 63, 64, 65, 120, 126, 127, 4094, 4095, 4096, 5000]).map(
        lambda length: b"y" * length
    ),
)


class NodeAgainstAList(RuleBasedStateMachine):
    """The same changes on a node and on a list, and on a node whose buffer it shares."""

    def __init__(self) -> None:
        super().__init__()
        self.node, self.model = ListNode(), list[bytes]()
        self.other, self.other_model = self.node.copy(), list[bytes]()

    @rule()
    def copy(self) -> None:
        self.other, self.other_model = self.node.copy(), self.model.copy()

    @rule()
    def change_places(self) -> None:
        self.node, self.other = self.other, self.node
        self.model, self.other_model = self.other_model, self.model

    @rule(item=node_items)
    def append(self, item: bytes) -> None:
        self.node.append(item)
        self.model.append(item)

    @rule(item=node_items)
    def prepend(self, item: bytes) -> None:
        self.node.prepend(item)
        self.model.insert(0, item)

    @rule(new=st.lists(node_items, max_size=5))
    def extend(self, new: list[bytes]) -> None:
        self.node.extend(new)
        self.model += new

    @rule(new=st.lists(node_items, max_size=5))
    def extend_left(self, new: list[bytes]) -> None:
        self.node.extend_left(new)
        self.model[:0] = new[::-1]

    @rule(place=st.floats(0, 1), item=node_items)
    def insert(self, place: float, item: bytes) -> None:
        offset = int(place * len(self.model))
        self.node.insert(offset, item)
        self.model.insert(offset, item)

    @rule(place=st.floats(0, 0.999), item=node_items)
    def replace(self, place: float, item: bytes) -> None:
        if self.model:
            offset = int(place * len(self.model))
            self.node.replace(offset, item)
            self.model[offset] = item

    @rule(places=st.sets(st.integers(0, 20), min_size=1))
    def drop(self, places: set[int]) -> None:
        offsets = sorted(place for place in places if place < len(self.model))
        if offsets:
            self.node.drop(offsets)
            self.model = [one for i, one in enumerate(self.model) if i not in offsets]

    @rule(count=st.integers(0, 3))
    def take_first(self, count: int) -> None:
        count = min(count, len(self.model))
        assert self.node.take(0, count) == self.model[:count]
        del self.model[:count]

    @rule(count=st.integers(1, 3))
    def take_last(self, count: int) -> None:
        start = max(len(self.model) - count, 0)
        assert self.node.take(start, len(self.model)) == self.model[start:]
        del self.model[start:]

    @rule(place=st.floats(0, 1))
    def split_and_join(self, place: float) -> None:
        offset = int(place * len(self.model))
        rest = self.node.split(offset)
        assert rest.items == self.model[offset:] and self.node.items == self.model[:offset]
        self.node.join(rest)

    @rule()
    def fit(self) -> None:
        self.node.fit()

    @invariant()
    def both_hold_the_same(self) -> None:
        for node, model in ((self.node, self.model), (self.other, self.other_model)):
            assert node.items == model and len(node) == len(model)
            assert node.listpack() == encode_listpack(model)
            assert node.size_bytes() == len(node.listpack())

    @invariant()
    def elements_are_found(self) -> None:
        node, model = self.node, self.model
        assert [node.at(offset) for offset in range(len(model))] == model
        for item in {*model, b"z", b"1"}:
            assert node.offsets(item) == [i for i, one in enumerate(model) if one == item]
        start = len(model) // 3
        for end in (start, len(model) // 2, len(model)):
            bulks = [b"$%d\r\n%b\r\n" % (len(one), one) for one in model[start:end]]
            assert node.bulks(b"*1\r\n", start, max(start, end)) == b"*1\r\n" + b"".join(bulks)


TestNodeAgainstAList = NodeAgainstAList.TestCase


def test_a_fill_below_zero_limits_bytes_and_another_one_elements() -> None:
    below_zero = [-1, -2, -5, -6, -100]
    assert list(map(max_bytes, below_zero)) == [4096, 8192, 65536, 65536, 65536]
    assert min(map(max_count, below_zero)) > 65536
    assert list(map(max_bytes, [0, 1, 128])) == [8192, 8192, 8192]
    assert list(map(max_count, [0, 1, 128])) == [1, 1, 128]


@pytest.mark.parametrize(
    ("fill", "size_bytes", "count", "expected"),
    [
        (-2, 8192, 10_000, False),
        (-2, 8193, 1, True),
        (3, 8192, 3, False),
        (3, 100, 4, True),
        (3, 8193, 1, True),
    ],
)
def test_a_node_exceeds_its_limit(fill: int, size_bytes: int, count: int, expected: bool) -> None:
    assert exceeds(fill, size_bytes, count) is expected


def test_what_does_not_fit_into_a_node_is_large() -> None:
    assert not is_large(b"x" * 8192, -2) and is_large(b"x" * 8193, -2)
    assert not is_large(b"x" * 4096, -1) and is_large(b"x" * 4097, -1)
    assert not is_large(b"x" * 8192, 5) and is_large(b"x" * 8193, 5)
    assert ListNode.of(b"x" * 8193, -2).is_plain and not ListNode.of(b"x", -2).is_plain


def test_the_size_of_a_plain_node_is_that_of_its_element() -> None:
    node = ListNode.of_plain(b"x" * 9000)
    assert node.size_bytes() == 9000
    node.replace(0, b"y" * 10_000)
    assert node.size_bytes() == node.copy().size_bytes() == 10_000
    assert node.at(0) == b"y" * 10_000 and node.offsets(b"y" * 10_000) == [0]
    assert node.bulks(b"", 0, 1) == b"$10000\r\n%b\r\n" % node.at(0)
    assert node.take(0, 1) == [b"y" * 10_000] and not len(node)


def test_a_node_admits_what_fits_with_some_margin() -> None:
    node = ListNode([b"x" * 80])
    assert node.admits(b"y" * (8192 - node.size_bytes() - 8), -2)
    assert not node.admits(b"y" * (8192 - node.size_bytes() - 7), -2)
    assert node.admits(b"y", 2) and not node.admits(b"y", 1)
    assert not ListNode.of_plain(b"x").admits(b"y", -2)


def test_two_nodes_are_one_if_that_is_not_too_large() -> None:
    half = ListNode([b"x" * 4088])  # 4096 of a listpack that ends at 8192
    whole = half.size_bytes() * 2 - 7
    assert whole < 8192 and half.admits_all_of(half, -2)
    assert not half.admits_all_of(ListNode([b"x" * 4090]), -1)
    assert half.admits_all_of(half, 2) and not half.admits_all_of(half, 1)
    assert not half.admits_all_of(ListNode.of_plain(b"x"), -2)


@given(st.lists(node_items, max_size=30))
def test_a_listpack_becomes_a_node_unread(new: list[bytes]) -> None:
    blob = encode_listpack(new)
    node = ListNode.of_listpack(blob)
    assert node is not None and node.items == new and node.listpack() == blob


@given(st.lists(node_items, max_size=6), st.data())
def test_a_damaged_listpack_is_none_or_sound(new: list[bytes], data: st.DataObject) -> None:
    blob = bytearray(encode_listpack(new))
    blob[data.draw(st.integers(0, len(blob) - 1))] = data.draw(st.integers(0, 255))
    node = ListNode.of_listpack(bytes(blob[: data.draw(st.integers(0, len(blob)))]))
    assert node is None or node.listpack() == encode_listpack(node.items)


def test_a_text_that_could_be_a_number_is_no_element_of_a_node() -> None:
    assert ListNode.of_listpack(b"\x0a\0\0\0\x01\0\x817\x02\xff") is None
    assert ListNode.of_listpack(b"\x0a\0\0\0\x01\0\x81x\x02\xff") is not None
    assert ListNode.of_listpack(b"\x0a\0\0\0\x01\0\xc0\x07\x02\xff") is None


def test_the_room_of_a_node_follows_its_elements() -> None:
    node = ListNode([b"element:%d" % number for number in range(500)])
    assert node.memory_bytes() < 1.3 * node.size_bytes() + 200
    node.fit()
    assert node.memory_bytes() < node.size_bytes() + 200
    node.take(0, 490)
    assert node.memory_bytes() < 600


def test_nodes_end_where_a_list_that_grows_has_them() -> None:
    large = b"x" * 9000
    nodes = nodes_of([b"a", b"b", b"c", large, b"d"], 2)
    assert [node.items for node in nodes] == [[b"a", b"b"], [b"c"], [large], [b"d"]]
    assert [node.is_plain for node in nodes] == [False, False, True, False]
