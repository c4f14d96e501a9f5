"""The nodes of a stream in order, found by ID.

Guarantees: appending and dropping from the front cost the same however many nodes there are, and
finding one is a binary search. Removing one in the middle moves the pointers of those behind it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from storage.entry_id import EntryID
from storage.node import Node

# Nodes dropped from the front stay in the lists until they are more than this share of them.
WASTE_SHARE = 1 / 32


class NodeList:
    """Nodes in ascending order of their keys."""

    __slots__ = ("_head", "_keys", "_nodes")

    def __init__(self) -> None:
        self._keys: list[EntryID] = []
        self._nodes: list[Node] = []
        self._head = 0  # the index of the first node that counts

    def __len__(self) -> int:
        return len(self._nodes) - self._head

    def __iter__(self) -> Iterator[Node]:
        return self._ascending(self._head)

    def keys(self) -> list[EntryID]:
        """The keys of all nodes, ascending."""
        return self._keys[self._head :]

    def first(self) -> Node | None:
        """The node with the smallest key."""
        return self._nodes[self._head] if self else None

    def last(self) -> Node | None:
        """The node with the greatest key."""
        return self._nodes[-1] if self else None

    def find(self, entry_id: EntryID) -> Node | None:
        """The only node that can hold `entry_id`."""
        index = self._index(entry_id)
        return self._nodes[index] if index >= self._head else None

    def from_id(self, entry_id: EntryID) -> Iterator[Node]:
        """The nodes that can hold `entry_id` or greater ones, ascending."""
        return self._ascending(max(self._index(entry_id), self._head))

    def down_from_id(self, entry_id: EntryID) -> Iterator[Node]:
        """The nodes that can hold `entry_id` or smaller ones, descending."""
        for index in range(self._index(entry_id), self._head - 1, -1):
            yield self._nodes[index]

    def append(self, node: Node) -> None:
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
        if node is self.first():
            self.drop_first()
            return
        index = self._index(node.key)
        del self._keys[index]
        del self._nodes[index]

    def _index(self, entry_id: EntryID) -> int:
        """The index of the last node whose key is not above `entry_id`; below the head if none."""
        return bisect_right(self._keys, entry_id, self._head) - 1

    def _ascending(self, index: int) -> Iterator[Node]:
        nodes = self._nodes
        for position in range(index, len(nodes)):
            yield nodes[position]
