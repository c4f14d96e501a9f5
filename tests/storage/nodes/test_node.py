"""When a node is frozen."""

from __future__ import annotations

from storage.nodes.frozen_node import FrozenNode
from storage.nodes.node import FREEZE_MAX_BYTES, freeze
from tests.storage.nodes.sample_nodes import open_node


def test_a_node_with_entries_is_frozen() -> None:
    assert isinstance(freeze(open_node([1, 2, 3])), FrozenNode)


def test_a_very_large_node_is_not_frozen() -> None:
    value = b"x" * (FREEZE_MAX_BYTES // 2)
    node = open_node([1, 2, 3], value)
    assert freeze(node) is node
    assert node.listpack_bytes() > 2 * len(value)


def test_a_node_without_entries_has_nothing_to_freeze() -> None:
    node = open_node([1, 2, 3])
    node.drop_first(3)
    assert freeze(node) is node
