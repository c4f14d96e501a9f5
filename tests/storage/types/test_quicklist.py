"""The nodes of a list: how they are divided, joined and freed."""

from __future__ import annotations

from storage.keyspace.deferred_free import NO_WASTE
from storage.redis_format.encoding_limits import EncodingLimits
from storage.types.list_nodes import (
    ListNode,
)
from storage.types.lists import ListValue

LIMITS = EncodingLimits()


def made(count: int, fill: int = -2, item: bytes = b"x") -> ListValue:
    value = ListValue()
    value.push_right([item] * count, EncodingLimits(list_max_listpack_size=fill))
    return value


def test_empty_nodes_are_dropped_when_a_list_is_read() -> None:
    nodes = [ListNode([]), ListNode([b"a"]), ListNode([]), ListNode([b"b"])]
    value = ListValue.of_nodes(nodes, LIMITS)
    assert list(value) == [b"a", b"b"] and len(value.nodes) == 2
    assert ListValue.of_nodes([ListNode([])], LIMITS).size == 0


def test_a_large_element_has_a_node_to_itself() -> None:
    value = made(3)
    value.push_right([b"x" * 9000, b"y"], LIMITS)
    assert [node.is_plain for node in value.nodes] == [False, True, False]
    value.insert(1, b"z" * 9000, LIMITS, after=True)
    assert [len(node) for node in value.nodes] == [2, 1, 1, 1, 1]


def test_an_insertion_divides_a_full_node_and_joins_what_it_can() -> None:
    value = made(12, fill=4)
    limits = EncodingLimits(list_max_listpack_size=4)
    value.insert(5, b"new", limits, after=True)
    assert [len(node) for node in value.nodes] == [4, 2, 3, 4]
    assert value[6] == b"new"
    value.insert(3, b"end", limits, after=True)
    assert [len(node) for node in value.nodes] == [4, 3, 3, 4]


def test_two_nodes_are_no_listpack_however_few_elements_they_have() -> None:
    limits = EncodingLimits(list_max_listpack_size=4)
    value = made(5, fill=4)
    value.trim(3, 5)
    value.shrink(limits)
    assert value.encoding == b"quicklist" and len(value) == 2


def test_what_is_large_is_freed_in_steps() -> None:
    assert made(10).release() is NO_WASTE
    limits = EncodingLimits(list_max_listpack_size=2)
    value = ListValue.of([b"element %d" % n for n in range(50_000)], limits)
    assert value.copy().release().is_large
    removed_data = value.trim(49_990, 50_000)
    assert removed_data.is_large and len(value) == 10
    steps = sum(1 for _ in removed_data.free())
    assert 10 <= steps <= 40
    assert value.effort == 1
