"""A range of a stream: partitioned into runs of equal size, or read incrementally.

`partition` is for XSPLIT. A node in the interior of a run is counted by its number of live entries
and not unpacked. So the work grows with the number of nodes and runs.

`RangeSnapshot` is a consistent snapshot of a range (copy on write). It holds references to the
stream's nodes, one for about a hundred entries. The stream may change meanwhile, or be deleted: new
entries go into other nodes or into the last one, which is copied at the beginning, and a node is
copied before entries are deleted from it (NodeList.lend).

The number of entries must be known before the first is sent. So a first pass visits all nodes
(`count`) and unpacks those that still are as loaded, so that a damaged one is found before anything
is sent. The second pass yields the entries (`chunks`).

`PickedEntries` is such a snapshot of entries with given IDs, in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, pairwise

from protocol.records import frozen_record
from storage.entries.entry_id import MAX_ID, EntryID
from storage.nodes.frozen_node import Node
from storage.nodes.listpack_node import ListpackNode
from storage.nodes.node_list import AnyNode, NodeList


@frozen_record
class Run:
    """`length` entries, the first and the last of which have these IDs."""

    first_id: EntryID
    last_id: EntryID
    length: int


class Partitioner:
    """Processes a range node by node; `runs` are the complete ones."""

    def __init__(self, start: EntryID, end: EntryID, every: int, count: int) -> None:
        self.runs: list[Run] = []
        self.left = count  # how many entries may still be taken
        self._start = start
        self._end = end
        self._every = every
        self._first_id: EntryID
        self._last_id: EntryID
        self._held = 0  # entries of the current run
        self._whole: Node | None = None  # the run's last node so far, if it was not unpacked

    def take(self, node: Node, *, is_inside: bool) -> None:
        """The next node. `is_inside`: all of its entries are known to be in the range."""
        room = min(self._every - self._held, self.left)
        if is_inside and self._held and node.live < room:
            self._held += node.live
            self.left -= node.live
            self._whole = node
        else:
            ids = node.select_ids(self._start, self._end, self.left)
            self.left -= len(ids)
            while ids:
                room = self._every - self._held
                self._extend(ids[:room])
                ids = ids[room:]

    def _extend(self, ids: list[EntryID]) -> None:
        if not self._held:
            self._first_id = ids[0]
        self._held += len(ids)
        self._last_id = ids[-1]
        self._whole = None
        if self._held == self._every:
            self.finish()

    def finish(self) -> None:
        """Complete the current run, if there is one."""
        if self._held:
            last_id = self._whole.last_id if self._whole else self._last_id
            self.runs.append(Run(self._first_id, last_id, self._held))
        self._held = 0


def partition(
    nodes: Iterable[Node], start: EntryID, end: EntryID, every: int, count: int
) -> list[Run]:
    """The first `count` entries from `start` to `end`, `every` in each run but the last.

    `nodes` ascend and begin with the one that may hold `start`.
    """
    cutter = Partitioner(start, end, every, count)
    # The key of the next node bounds a node; its own last ID might require unpacking.
    bounds: Iterable[Node | None] = chain(nodes, [None])
    for node, following in pairwise(bounds):
        if node is None or node.key > end or not cutter.left:
            break
        if node.live:
            is_inside = node.key >= start and following is not None and following.key <= end
            cutter.take(node, is_inside=is_inside)
    cutter.finish()
    return cutter.runs


# Nodes that are counted at once, and nodes that are unpacked at once: about 0.3 ms.
COUNTED_NODES = 2000
UNPACKED_NODES = 2


class RangeSnapshot:
    """A consistent snapshot of a range of a stream, read incrementally."""

    def __init__(
        self, nodes: NodeList, start: EntryID, end: EntryID, count: int, *, reverse: bool
    ) -> None:
        """Inclusive at both ends; a negative count: all. `reverse`: from `end` down."""
        self.length = 0  # the number of entries, after `count`
        self._list = nodes
        self._start = start
        self._end = end
        self._limit = count
        self._reverse = reverse
        self._is_held = True
        self._nodes: list[AnyNode] = nodes.lend(start, end)
        if reverse:
            self._nodes.reverse()

    def release(self) -> None:
        """End reading: the stream need not copy nodes any more."""
        self._nodes = []
        if self._is_held:
            self._is_held = False
            self._list.give_back()

    def count(self) -> Iterator[None]:
        """Count the entries, in steps. Raises DamagedNode."""
        nodes = self._nodes
        length = unpacked = 0
        for index, packed in enumerate(nodes):
            node = packed
            if isinstance(packed, ListpackNode):
                node = nodes[index] = self._list.open_if_there(packed)
                unpacked += 1
            assert not isinstance(node, ListpackNode)
            # Only the first and last nodes may have entries outside of the range.
            is_inside = 0 < index < len(nodes) - 1
            length += node.live if is_inside else self._count_in(node)
            if 0 <= self._limit <= length:
                length = self._limit
                del nodes[index + 1 :]
                break
            if index % COUNTED_NODES == COUNTED_NODES - 1 or unpacked == UNPACKED_NODES:
                unpacked = 0
                yield
        self.length = length

    def _count_in(self, node: Node) -> int:
        if self._start > self._end:
            return 0
        high = node.live if self._end == MAX_ID else node.count_below(self._end + 1)
        return high - node.count_below(self._start)

    def chunks(self) -> Iterator[list[bytes]]:
        """The entries in wire form, those of one node at a time."""
        left = self.length
        for node in self._nodes:
            assert not isinstance(node, ListpackNode)
            select = node.select_down if self._reverse else node.select
            found, chunks = select(self._start, self._end, left)
            left -= found
            yield chunks


# Entries that are looked up at once, unless they are short, and how many bytes they should have.
FEW_PICKED = 4
MANY_PICKED = 1000
PICKED_BYTES = 128 * 1024


class PickedEntries:
    """Entries with given IDs as they are now, read incrementally."""

    def __init__(self, nodes: NodeList, ids: list[EntryID]) -> None:
        """`nodes`: a list of its own, which shares the nodes of the stream."""
        self.ids = ids
        self._nodes = nodes

    def release(self) -> None:
        """End reading: the stream need not copy nodes any more."""
        self._nodes.take_all()

    def chunks(self) -> Iterator[list[bytes | None]]:
        """The entries in wire form, some at a time; None for one that there is not."""
        start, count = 0, FEW_PICKED
        while start < len(self.ids):
            entries = self._nodes.entries_of(self.ids[start : start + count])
            yield entries
            start += count
            size_bytes = sum(map(len, filter(None, entries)))
            count = min(max(1, PICKED_BYTES * count // (size_bytes + 1)), MANY_PICKED)
