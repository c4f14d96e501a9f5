"""The bytes of fields and values in the live entries of a stream, for RETAIN-BYTES.

This is not the stream's memory: what is removed must depend neither on compression nor on the
version of the server. `count` counts a node when it is new, and again when its number of entries
has changed. An append costs nothing.

`count` continues where it stopped, in steps; the first count of a large stream takes many. It
notices nodes that were dropped from the head, and appended entries. Entries that were deleted
elsewhere show in the sum of live entries; then it compares all nodes again, at most once a second.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

from storage.entries.entry import decode_payload
from storage.entries.entry_id import MIN_ID, EntryID
from storage.memory import allocated_bytes, instance_bytes
from storage.nodes.listpack_node import ListpackNode
from storage.nodes.node_list import AnyNode
from storage.stream import Stream

RECOUNT_MS = 1000


def bytes_of(node: AnyNode) -> int:
    """The bytes of a node's fields and values. Raises DamagedNode."""
    opened = node.unpack() if isinstance(node, ListpackNode) else node
    entries = decode_payload(opened.payload(), opened.live)
    return sum(map(len, chain.from_iterable(entries)))


class ContentBytes:
    """The bytes of one stream."""

    __slots__ = ("_former", "_last_key", "_nodes", "_recounted_ms", "is_whole", "live", "total")

    def __init__(self) -> None:
        self.total = 0  # of the nodes that were counted
        self.live = 0  # entries of these
        self.is_whole = False  # `count` has reached the end
        # By the keys of nodes, ascending: their entries, their state and their bytes.
        self._nodes: dict[EntryID, tuple[int, EntryID, int]] = {}
        self._last_key = MIN_ID  # of the last one of them
        self._former: dict[EntryID, tuple[int, EntryID, int]] = {}  # what is to be compared
        self._recounted_ms = 0

    def count(self, stream: Stream, now_ms: int, is_over: Callable[[], bool]) -> bool:
        """Count what has changed. Returns False if time ran out before the end.

        Raises DamagedNode.
        """
        nodes, head = stream.node_items()
        self.is_whole = False
        self._drop_before(nodes[head].key if head < len(nodes) else None)
        place = head + len(self._nodes)
        if self._nodes and (place > len(nodes) or nodes[place - 1].key != self._last_key):
            self._begin_again(now_ms)
            place = head
        for known in {head, place - 1} if self._nodes else ():
            self._count_node(stream, nodes[known], is_last=known == len(nodes) - 1)
        while place < len(nodes):
            if is_over():
                return False
            self._count_node(stream, nodes[place], is_last=place == len(nodes) - 1)
            place += 1
        if self.live != stream.length and now_ms - self._recounted_ms >= RECOUNT_MS:
            self._begin_again(now_ms)
            return False
        self._former = {}
        self.is_whole = True
        return True

    def of(self, node: AnyNode) -> int:
        """The bytes of a node of the stream."""
        known = self._nodes.get(node.key)
        return 0 if known is None else known[2]

    def _count_node(self, stream: Stream, node: AnyNode, *, is_last: bool) -> None:
        # The last node may have lost as many entries as it gained.
        state = node.live, stream.last_id if is_last else MIN_ID
        known = self._nodes.get(node.key)
        if known is not None:
            if known[:2] == state:
                return
            self.total -= known[2]
            self.live -= known[0]
        former = self._former.get(node.key)
        if former is None or former[:2] != state:
            former = (*state, bytes_of(node))
        self._nodes[node.key] = former
        self.live += former[0]
        self.total += former[2]
        self._last_key = max(self._last_key, node.key)

    def _drop_before(self, key: EntryID | None) -> None:
        """Forget the nodes that are no longer at the head."""
        dropped = []
        for known in self._nodes:
            if key is not None and known >= key:
                break
            dropped.append(known)
        for known in dropped:
            live, _, size = self._nodes.pop(known)
            self.live -= live
            self.total -= size

    def _begin_again(self, now_ms: int) -> None:
        """Compare all nodes with what is known of them."""
        self._former = self._former | self._nodes
        self._nodes = {}
        self.total = self.live = 0
        self._last_key = MIN_ID
        self._recounted_ms = now_ms

    def memory_bytes(self) -> int:
        """The memory in bytes."""
        return _OWN_BYTES + allocated_bytes(self._nodes) + len(self._nodes) * _NODE_BYTES


_OWN_BYTES = instance_bytes(ContentBytes)
_NODE_BYTES = allocated_bytes((0, 0, 0)) + allocated_bytes(1 << 70) + allocated_bytes(1 << 20)
