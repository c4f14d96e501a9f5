"""The entries at a stream's head that exceed the limits of its retention, and may go.

A retention is a set of exclusive upper bounds for the IDs of entries to remove:

    what may go      the greatest of the bounds by age, length, bytes, and acknowledgement
    what may not     the least of the floors: of the groups (ACKED) and of an archive

Whole nodes at the head go at once, because they cost next to nothing. The first node that is left
is cut at most once a second.
"""

from __future__ import annotations

from itertools import accumulate

from storage.entries.entry import decode_payload
from storage.entries.entry_id import MAX_ID, MIN_ID, EntryID, id_ms, make_id
from storage.groups.group import Group
from storage.nodes.listpack_node import ListpackNode
from storage.nodes.node_list import AnyNode
from storage.policies.content_bytes import ContentBytes
from storage.policies.retention import Retention
from storage.stream import Stream

# IDs below this are no times: counters, which would be 56 years old (September 2001).
FIRST_TIME_MS = 10**12
# The nodes that go in one step, at most.
MOST_NODES = 100
# An archive's marker is a group of this name and more (rillway/pipeline/archive).
MARKER_PREFIX = b"__archive:"


def has_times(stream: Stream) -> bool:
    """Return True unless the IDs of a stream are no times."""
    return stream.last_id == MIN_ID or id_ms(stream.last_id) >= FIRST_TIME_MS


def group_floor(stream: Stream, group: Group) -> EntryID:
    """The first ID that the group may still need: pending, or not delivered yet.

    Pending entries before the first entry of the stream were deleted, so no group needs them.
    """
    pending = next(group.pending.rows_from(stream.first_id), None)
    unread = group.last_delivered_id + 1
    return unread if pending is None else min(pending[0], unread)


def archive_floor(stream: Stream) -> EntryID:
    """The last entry that an archive has: without it, the archiver would not know the stream."""
    floor = MAX_ID + 1
    for name, group in stream.groups.items():
        marked = group.last_delivered_id
        if name.startswith(MARKER_PREFIX) and not stream.begins_after(marked):
            last = stream.last_before(marked + 1)
            floor = min(floor, floor if last is None else last)
    return floor


class Surplus:
    """The entries of one stream that exceed its limits now."""

    def __init__(
        self, stream: Stream, retention: Retention, content: ContentBytes | None, age_bound: EntryID
    ) -> None:
        """`age_bound`: all below are too old; MIN_ID: none are. `content` is counted."""
        self._stream, self._retention, self._content = stream, retention, content
        self._age_bound = age_bound
        self._nodes, self._head = stream.node_items()

    def exists(self) -> bool:
        """Return True if anything may go by age, length or bytes."""
        stream, retention = self._stream, self._retention
        return bool(stream.length) and (
            stream.first_id < self._age_bound
            or 0 < retention.max_length < stream.length
            or self._exceeds(retention.max_bytes)
        )

    def is_hard(self) -> bool:
        """Return True if anything must go in spite of the groups."""
        return self._exceeds(self._retention.hard_bytes)

    def _exceeds(self, most_bytes: int) -> bool:
        return self._content is not None and 0 < most_bytes < self._content.total

    def bound(self, *, exact: bool) -> EntryID:
        """Where entries may go to, by age, length and bytes: at most MOST_NODES whole nodes.

        Not `exact`: the bound is the key of a node.
        """
        retention = self._retention
        bound = self.up_to(self._age_bound, exact=exact)
        if retention.max_length:
            surplus = self._stream.length - retention.max_length
            bound = max(bound, self._by_length(surplus, exact=exact))
        return max(bound, self._by_bytes(retention.max_bytes, exact=exact))

    def hard_bound(self, *, exact: bool) -> EntryID:
        """`bound` by RETAIN-HARD-BYTES."""
        return self._by_bytes(self._retention.hard_bytes, exact=exact)

    def up_to(self, bound: EntryID, *, exact: bool) -> EntryID:
        """A given bound, as far as one step goes."""
        place = self._head
        while place + 1 < len(self._nodes) and self._nodes[place + 1].key <= bound:
            if place - self._head >= MOST_NODES:
                return self._nodes[place].key
            place += 1
        if exact or place == len(self._nodes):
            return bound
        return self._nodes[place].key if self._nodes[place].key <= bound else MIN_ID

    def _by_length(self, surplus: int, *, exact: bool) -> EntryID:
        if surplus <= 0:
            return MIN_ID
        for place in range(self._head, min(self._head + MOST_NODES, len(self._nodes) - 1)):
            node = self._nodes[place]
            if node.live > surplus:
                return self._id_at(node, surplus) if exact else node.key
            surplus -= node.live
        node = self._nodes[min(self._head + MOST_NODES, len(self._nodes) - 1)]
        return self._id_at(node, surplus) if exact and node.live > surplus else node.key

    def _by_bytes(self, most_bytes: int, *, exact: bool) -> EntryID:
        content = self._content
        if content is None or not self._exceeds(most_bytes):
            return MIN_ID
        surplus = content.total - most_bytes
        for place in range(self._head, min(self._head + MOST_NODES, len(self._nodes) - 1)):
            node = self._nodes[place]
            size = content.of(node)
            if size > surplus:
                break
            surplus -= size
        else:
            node = self._nodes[min(self._head + MOST_NODES, len(self._nodes) - 1)]
        if not exact:
            return node.key
        opened = node.unpack() if isinstance(node, ListpackNode) else node
        entries = decode_payload(opened.payload(), opened.live)
        sizes = accumulate(sum(map(len, fields)) for fields in entries)
        gone = next((number for number, size in enumerate(sizes, 1) if size >= surplus), 0)
        return self._id_at(node, gone) if surplus else node.key

    def _id_at(self, node: AnyNode, number: int) -> EntryID:
        """The ID of the entry of a node after `number` others."""
        opened = node.unpack() if isinstance(node, ListpackNode) else node
        ids = opened.select_ids(MIN_ID, MAX_ID, number + 1)
        return ids[number] if number < len(ids) else ids[-1] + 1


def age_bound(now_ms: int, max_age_ms: int) -> EntryID:
    """All IDs below this one are at least that old."""
    return make_id(max(0, now_ms - max_age_ms + 1), 0)
