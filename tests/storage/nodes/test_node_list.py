"""The size of the radix tree that Redis would keep the nodes in.

The ordered list of a stream's nodes.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.entries.entry_id import MAX_ID, make_id
from storage.entries.packed_form import Packing, Shape
from storage.nodes.frozen_node import FrozenNode
from storage.nodes.listpack_node import ListpackNode
from storage.nodes.node_list import NodeList, radix_node_count
from storage.nodes.open_node import OpenNode
from storage.snapshot.stream_encoder import encode_node
from tests.storage.nodes.sample_nodes import encoded, frozen_node, open_node, wire


def ids(*pairs: tuple[int, int]) -> list[int]:
    return [make_id(ms, seq) for ms, seq in pairs]


# The numbers are radix-tree-nodes of redis-server 7.0.15 with stream-node-max-entries 1.
@pytest.mark.parametrize(
    ("keys", "nodes"),
    [
        ([], 1),
        (ids((1, 1)), 2),
        (ids((1, 1), (1, 2)), 4),
        (ids((1, 1), (2, 1)), 6),
        (ids((1, 1), (1, 256)), 6),
        (ids((0, 1), (2**63, 0)), 5),
        (ids((1, 1), (1, 2), (1, 3)), 5),
        (ids((1, 1), (1, 2), (2, 1)), 8),
        (ids((1, 1), (1, 256), (1, 65536)), 9),
        (ids((1, 1), (256, 1), (65536, 1), (2**24, 1)), 12),
        ([make_id(1700000000000 + n, 0) for n in range(1000)], 2006),
        ([make_id(1700000000000, n) for n in range(1000)], 1006),
        ([make_id(n * n, n) for n in range(1, 200)], 432),
        ([make_id(n << 40, 0) for n in range(1, 100)], 200),
    ],
)
def test_the_number_of_nodes_is_that_of_redis(keys: list[int], nodes: int) -> None:
    assert radix_node_count(keys) == nodes


def listed(*keys: int) -> NodeList:
    nodes = NodeList(Packing())
    for key in keys:
        nodes.append(OpenNode(key, Shape([b"f"])))
    return nodes


@pytest.mark.parametrize("is_reverse", [False, True])
def test_the_size_of_a_range_is_estimated_from_its_nodes(is_reverse: bool) -> None:
    """Unpacked: these values are compressed to a few bytes."""
    nodes, value = NodeList(Packing()), b"v" * 1000
    for first in range(100, 180, 10):
        nodes.append(frozen_node([make_id(1, first + seq) for seq in range(9)], value))
    first_id, last_id = make_id(1, 100), make_id(1, 178)
    size = len(encoded(first_id, [b"f", value]))
    for count in (1, 5, 9, 10, 30, 72):
        for start, end in ((0, MAX_ID), (first_id, last_id)):
            assert nodes.exceeds_bytes(start, end, count, count * size - 1, is_reverse)
            assert not nodes.exceeds_bytes(start, end, count, count * size, is_reverse)
    assert not nodes.exceeds_bytes(make_id(1, 170), MAX_ID, 100, 9 * size, is_reverse)


def keys_of(nodes: NodeList) -> list[int]:
    return [node.key for node in nodes]


def test_an_empty_list_has_no_ends() -> None:
    nodes = NodeList(Packing())
    assert not nodes
    assert nodes.peek_first() is None
    assert nodes.peek_last() is None
    assert nodes.find(5) is None
    assert list(nodes.between(0, MAX_ID)) == []
    assert list(nodes.down_between(MAX_ID, 0)) == []


def test_a_node_holds_the_ids_from_its_key_to_the_next() -> None:
    nodes = listed(10, 20, 30)
    found = [nodes.find(entry_id) for entry_id in (9, 10, 19, 20, 1000)]
    assert [node and node.key for node in found] == [None, 10, 10, 20, 30]


def test_walks_begin_and_end_with_the_nodes_that_can_hold_the_ids() -> None:
    nodes = listed(10, 20, 30)
    for start, end, keys in (
        (25, MAX_ID, [20, 30]),
        (5, MAX_ID, [10, 20, 30]),
        (25, 29, [20]),
        (25, 30, [20, 30]),
        (0, 9, []),
        (12, 10, [10]),
    ):
        assert [node.key for node in nodes.between(start, end)] == keys
        down = [node.key for node in nodes.down_between(end, start)]
        assert down == (keys[::-1] if start <= end else [10])


def test_dropped_nodes_are_never_seen_again() -> None:
    nodes = listed(*range(0, 1000, 10))
    for dropped in range(1, 100):
        nodes.drop_first()
        rest = list(range(10 * dropped, 1000, 10))
        assert len(nodes) == len(rest)
        assert keys_of(nodes) == nodes.keys() == rest
        assert nodes.find(10 * dropped - 1) is None
        assert [node.key for node in nodes.between(0, MAX_ID)] == rest
        assert [node.key for node in nodes.down_between(2000, 0)] == rest[::-1]
    nodes.drop_first()
    assert not nodes
    assert nodes.peek_last() is None


def test_dropped_nodes_are_let_go_of() -> None:
    nodes = listed(*range(1000))
    for _ in range(900):
        nodes.drop_first()
    assert len(nodes._nodes) < 110


@given(st.lists(st.integers(0, 4), min_size=1, max_size=12), st.data())
def test_nodes_that_may_be_dropped_are_the_same_counted_from_either_end(
    sizes: list[int], data: st.DataObject
) -> None:
    nodes = NodeList(Packing())
    for place, size in enumerate(sizes):
        ids = range(10 * place, 10 * place + size)
        nodes.append(open_node(list(ids)) if size else OpenNode(10 * place, Shape([b"f"])))
    entries = data.draw(st.integers(0, sum(sizes)))
    expected = nodes.count_whole(len(nodes), entries)
    assert nodes.count_droppable(entries, sum(sizes)) == expected


@given(st.lists(st.integers(1, 40), max_size=6))
def test_dropped_nodes_are_returned_as_data_to_free(counts: list[int]) -> None:
    nodes = listed(*range(100))
    for count in counts:
        dropped = list(nodes)[:count]
        rest = keys_of(nodes)[count:]
        removed_data = nodes.drop_first(len(dropped))
        assert keys_of(nodes) == nodes.keys() == rest
        given_up = [item for items, _ in removed_data._lists for item in items]
        assert all(node in given_up for node in dropped)
        assert not any(node in nodes._nodes for node in dropped)


def test_a_node_is_removed_from_anywhere() -> None:
    nodes = listed(10, 20, 30, 40)
    for key, rest in ((20, [10, 30, 40]), (10, [30, 40]), (40, [30]), (30, [])):
        node = nodes.find(key)
        assert node is not None
        nodes.remove(node)
        assert keys_of(nodes) == rest


def test_a_node_is_replaced_by_one_with_the_same_key() -> None:
    nodes = listed(10, 20, 30)
    other = OpenNode(20, Shape([b"g"]))
    nodes.replace(other)
    assert nodes.find(25) is other
    assert keys_of(nodes) == [10, 20, 30]


def packed(*all_ids: list[int]) -> NodeList:
    nodes = NodeList(Packing())
    for ids in all_ids:
        nodes.append(ListpackNode(ids[0], ids[-1], encode_node(frozen_node(ids))))
    return nodes


def packed_keys(nodes: NodeList) -> list[int]:
    return [node.key for node in nodes if isinstance(node, ListpackNode)]


def test_only_nodes_that_have_a_part_in_a_walk_are_unpacked() -> None:
    nodes = packed([10, 15], [20, 25], [30, 35], [40, 45])
    assert [node.key for node in nodes.between(22, 29)] == [20]
    assert packed_keys(nodes) == [10, 30, 40]
    assert [node.key for node in nodes.down_between(34, 31)] == [30]
    assert packed_keys(nodes) == [10, 40]
    assert nodes.find(5) is nodes.find(16) is nodes.find(46) is None
    assert list(nodes.between(46, MAX_ID)) == list(nodes.down_between(MAX_ID, 46)) == []
    assert nodes.peek_first() is not None
    assert packed_keys(nodes) == [10, 40]
    nodes.drop_first()
    assert nodes.keys() == [20, 30, 40]


def test_an_unpacked_node_stays_and_is_frozen_unless_it_is_the_last() -> None:
    nodes = packed([10, 15], [20, 25])
    first, last = nodes.find(10), nodes.find(20)
    assert isinstance(first, FrozenNode)
    assert isinstance(last, OpenNode)
    assert nodes.find(15) is first
    assert nodes.peek_last() is last
    assert wire(first) == wire(frozen_node([10, 15]))
