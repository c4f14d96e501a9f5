"""The ordered list of a stream's nodes."""

from __future__ import annotations

from storage.entry import Shape
from storage.node_list import NodeList
from storage.open_node import OpenNode


def listed(*keys: int) -> NodeList:
    nodes = NodeList()
    for key in keys:
        nodes.append(OpenNode(key, Shape([b"f"])))
    return nodes


def keys_of(nodes: NodeList) -> list[int]:
    return [node.key for node in nodes]


def test_an_empty_list_has_no_ends() -> None:
    nodes = NodeList()
    assert not nodes
    assert nodes.first() is None
    assert nodes.last() is None
    assert nodes.find(5) is None
    assert list(nodes.from_id(0)) == []
    assert list(nodes.down_from_id(2**128 - 1)) == []


def test_a_node_holds_the_ids_from_its_key_to_the_next() -> None:
    nodes = listed(10, 20, 30)
    found = [nodes.find(entry_id) for entry_id in (9, 10, 19, 20, 1000)]
    assert [node and node.key for node in found] == [None, 10, 10, 20, 30]


def test_walks_begin_with_the_node_that_can_hold_the_id() -> None:
    nodes = listed(10, 20, 30)
    assert [node.key for node in nodes.from_id(25)] == [20, 30]
    assert [node.key for node in nodes.from_id(5)] == [10, 20, 30]
    assert [node.key for node in nodes.down_from_id(25)] == [20, 10]
    assert [node.key for node in nodes.down_from_id(5)] == []


def test_dropped_nodes_are_never_seen_again() -> None:
    nodes = listed(*range(0, 1000, 10))
    for dropped in range(1, 100):
        nodes.drop_first()
        rest = list(range(10 * dropped, 1000, 10))
        assert len(nodes) == len(rest)
        assert keys_of(nodes) == nodes.keys() == rest
        assert nodes.find(10 * dropped - 1) is None
        assert [node.key for node in nodes.from_id(0)] == rest
        assert [node.key for node in nodes.down_from_id(2000)] == rest[::-1]
    nodes.drop_first()
    assert not nodes
    assert nodes.last() is None


def test_dropped_nodes_are_let_go_of() -> None:
    nodes = listed(*range(1000))
    for _ in range(900):
        nodes.drop_first()
    assert len(nodes._nodes) < 110


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
