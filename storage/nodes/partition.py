"""Partitions a range of a stream into runs of equal size (XSPLIT).

Guarantees: a node in the interior of a run is counted by its number of live entries and not
unpacked. So the work grows with the number of nodes and runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, pairwise

from protocol.records import frozen_record
from storage.entries.entry_id import EntryID
from storage.nodes.node import Node


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
