"""The nodes of a stream in order, found by ID.

Nodes that came from a snapshot are packed (storage/packed_node.py) until somebody looks at what is
in them: whatever hands out a `Node` unpacks it, and keeps it unpacked. What only has to know a key
or a count takes an `AnyNode` instead, from iterating over the list, or from `peek_first` and
`peek_last`.

Guarantees: appending and dropping from the front cost the same however many nodes there are, and
finding one is a binary search. Removing one in the middle moves the pointers of those behind it.
To read a range unpacks those nodes only that can have a part in it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import TypeAlias

from storage.entry_id import EntryID
from storage.node import Node, freeze
from storage.packed_node import PackedNode

AnyNode: TypeAlias = Node | PackedNode

# Nodes dropped from the front stay in the lists until they are more than this share of them.
WASTE_SHARE = 1 / 32


class NodeList:
    """Nodes in ascending order of their keys."""

    __slots__ = ("_head", "_keys", "_nodes")

    def __init__(self) -> None:
        self._keys: list[EntryID] = []
        self._nodes: list[AnyNode] = []
        self._head = 0  # the index of the first node that counts

    def __len__(self) -> int:
        return len(self._nodes) - self._head

    def __iter__(self) -> Iterator[AnyNode]:
        """All nodes as they are, packed ones packed."""
        nodes = self._nodes
        for index in range(self._head, len(nodes)):
            yield nodes[index]

    def keys(self) -> list[EntryID]:
        """The keys of all nodes, ascending."""
        return self._keys[self._head :]

    def peek_first(self) -> AnyNode | None:
        """The node with the smallest key, as it is."""
        return self._nodes[self._head] if self else None

    def peek_last(self) -> AnyNode | None:
        """The node with the greatest key, as it is."""
        return self._nodes[-1] if self else None

    # -- nodes to look into ----------------------------------------------------------------------
    # All of these raise DamagedNode if a node cannot be unpacked; it then stays as it is.

    def find(self, entry_id: EntryID) -> Node | None:
        """The only node that can hold `entry_id`."""
        index = self._index(entry_id)
        if index < self._head or self._ends_before(index, entry_id):
            return None
        return self._opened(index)

    def between(self, start: EntryID, end: EntryID) -> Iterator[Node]:
        """The nodes that can hold IDs from `start` to `end`, ascending."""
        keys = self._keys
        for index in range(self._lowest(start), len(keys)):
            if keys[index] > end:
                break
            yield self._opened(index)

    def down_between(self, end: EntryID, start: EntryID) -> Iterator[Node]:
        """The nodes that can hold IDs from `end` down to `start`, descending."""
        for index in range(self._index(end), self._lowest(start) - 1, -1):
            yield self._opened(index)

    def open(self, node: AnyNode) -> Node:
        """The node that is in the list at the key of this one, unpacked."""
        return self._opened(self._index(node.key)) if isinstance(node, PackedNode) else node

    def _opened(self, index: int) -> Node:
        node = self._nodes[index]
        if isinstance(node, PackedNode):
            unpacked = node.unpack()
            # The last node may be appended to.
            is_last = index == len(self._nodes) - 1
            node = self._nodes[index] = unpacked if is_last else freeze(unpacked)
        return node

    def _lowest(self, entry_id: EntryID) -> int:
        """The index of the first node that can hold `entry_id` or greater ones."""
        index = max(self._index(entry_id), self._head)
        return index + 1 if self and self._ends_before(index, entry_id) else index

    def _ends_before(self, index: int, entry_id: EntryID) -> bool:
        """Whether it is known without unpacking that a node ends before `entry_id`."""
        node = self._nodes[index]
        return isinstance(node, PackedNode) and node.end < entry_id

    # -- changing --------------------------------------------------------------------------------

    def append(self, node: AnyNode) -> None:
        """Add a node with a key above all others."""
        self._keys.append(node.key)
        self._nodes.append(node)

    def replace(self, node: Node) -> None:
        """Put `node` in the place of the one with the same key."""
        self._nodes[self._index(node.key)] = node

    def drop_first(self) -> None:
        """Remove the first node."""
        self._head += 1
        if self._head > len(self._nodes) * WASTE_SHARE:
            del self._keys[: self._head]
            del self._nodes[: self._head]
            self._head = 0

    def remove(self, node: Node) -> None:
        """Remove a node from anywhere."""
        if node is self.peek_first():
            self.drop_first()
            return
        index = self._index(node.key)
        del self._keys[index]
        del self._nodes[index]

    def _index(self, entry_id: EntryID) -> int:
        """The index of the last node whose key is not above `entry_id`; below the head if none."""
        return bisect_right(self._keys, entry_id, self._head) - 1
