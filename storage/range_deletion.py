"""A range of a stream's entries that is removed at once (XDELRANGE).

What is to be removed is found first: damage of a node is reported before anything changes. Nodes
that are entirely in the range are dropped whole, without a look at their entries; only those at its
ends are opened. With References.ACKED a node is dropped whole if no group refers to any of its
IDs.

    deletion = RangeDeletion(stream, start, end, count, references)
    deletion.count, deletion.is_head, deletion.ids()
    deletion.apply(traces, discard)

Leaves out: replies, and how the removal is propagated (commands/streams/delete.py).
"""

from __future__ import annotations

from itertools import chain

from storage.entries.entry_id import EntryID, EntryIDs
from storage.groups.group import References, Traces
from storage.keyspace.deferred_free import Discard
from storage.nodes.frozen_node import Node
from storage.nodes.node_list import AnyNode
from storage.stream import Stream


class _Run:
    """Consecutive nodes that are dropped whole."""

    def __init__(self, place: int, node: AnyNode) -> None:
        self.place = place  # of the first, in the list of nodes
        self.first = self.last = node
        self.nodes = 0
        self.entries = 0

    def add(self, node: AnyNode) -> None:
        """Add the next node."""
        self.last = node
        self.nodes += 1
        self.entries += node.live


class RangeDeletion:
    """The first `count` entries of a range that may be removed."""

    def __init__(
        self, stream: Stream, start: EntryID, end: EntryID, count: int, references: References
    ) -> None:
        """Both ends are inclusive. Raises DamagedNode."""
        self._stream = stream
        self._start, self._end, self._references = start, end, references
        self._most = count
        self.count = 0
        # True if the stream begins with what is removed.
        self.is_head = stream.length > 0 and stream.first_id >= start
        self._passes_entry = False  # one that stays, in the range
        # Ascending: runs of nodes, and single nodes with the IDs to remove from them.
        self._parts: list[_Run | tuple[Node, list[EntryID]]] = []
        self._find()
        self.last_id = self._last_id()

    def _find(self) -> None:
        nodes = self._stream._nodes
        for place in range(max(nodes.count_before(self._start + 1) - 1, 0), len(nodes)):
            node = nodes.peek(place)
            if node.key > self._end or self.count == self._most:
                break
            if place + 1 < len(nodes):
                following = nodes.peek(place + 1).key
            else:
                following = self._stream.last_id + 1
            if self._takes_whole(node, following - 1):
                self._add_node(place, node)
            elif not self._add_entries(nodes.open(node)):
                break

    def _takes_whole(self, node: AnyNode, end: EntryID) -> bool:
        """Return True if all entries of a node are removed; none has an ID above `end`."""
        is_inside = self._start <= node.key and end <= self._end
        if not is_inside or node.live > self._most - self.count:
            return False
        return self._references is not References.ACKED or all(
            end <= group.last_delivered_id and not group.pending.ids_between(node.key, end + 1)
            for group in self._stream.groups.values()
        )

    def _add_node(self, place: int, node: AnyNode) -> None:
        run = self._parts[-1] if self._parts else None
        if not isinstance(run, _Run):
            run = _Run(place, node)
            self._parts.append(run)
        run.add(node)
        self._note(node.live)

    def _add_entries(self, node: Node) -> bool:
        """Add the entries of a node that are removed; False if no later entry can be."""
        ids = there = node.select_ids(self._start, self._end, node.live)
        if self._references is References.ACKED:
            ids = self._stream.unreferenced(there)
        ids = ids[: self._most - self.count]
        if ids:
            stays = ids[-1] != there[len(ids) - 1]  # an entry before the last of them
            self._passes_entry = self._passes_entry or stays
            self._note(len(ids))
            self._parts.append((node, ids))
        self._passes_entry = self._passes_entry or len(ids) < len(there)
        groups = self._stream.groups.values()
        return self._references is not References.ACKED or all(
            node.last_id <= group.last_delivered_id for group in groups
        )

    def _note(self, entries: int) -> None:
        """Count entries to remove after those found so far."""
        self.is_head = self.is_head and not self._passes_entry
        self.count += entries

    def _last_id(self) -> EntryID:
        """The greatest ID to remove; below the range if there is none."""
        if not self._parts:
            return self._start - 1
        part = self._parts[-1]
        if isinstance(part, _Run):
            return self._stream._nodes.open(part.last).last_id
        return part[1][-1]

    def ids(self) -> EntryIDs:
        """The IDs to remove, ascending. Raises DamagedNode."""
        if self._references is not References.ACKED:
            return self._stream.ids(self._start, self._end, self.count)
        return EntryIDs.of(list(chain.from_iterable(map(self._ids_of, self._parts))))

    def _ids_of(self, part: _Run | tuple[Node, list[EntryID]]) -> EntryIDs | list[EntryID]:
        if isinstance(part, _Run):
            return self._stream.ids(part.first.key, self._end, part.entries)
        return part[1]

    def apply(self, traces: Traces, discard: Discard | None = None) -> None:
        """Remove the entries. `traces` receives the references that DELETE removes.

        These are all that are in the range, up to the last entry that is removed if `count` bounds
        it, those to entries that were deleted before included. `discard` receives dropped nodes.
        """
        stream = self._stream
        if self._references is References.DELETE:
            reached = self.last_id if self.count == self._most else self._end
            traces.drop_references(stream.groups, self._start, reached + 1)
        for part in reversed(self._parts):
            if isinstance(part, _Run):
                stream.drop_nodes(part.place, part.nodes, part.entries, discard)
            else:
                stream._take(*part)
        if self.count:
            stream.max_deleted_id = max(stream.max_deleted_id, self.last_id)
