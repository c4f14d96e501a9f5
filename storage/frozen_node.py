"""A node as one blob: its entries in wire form, compressed where that pays.

It answers as storage/node.py says. IDs and entry lengths are in columns beside the blob, in as
few bytes as their numbers need. What was frozen never changes; a deleted entry is only marked.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from copy import copy
from functools import lru_cache
from itertools import accumulate, compress, pairwise
from typing import TypeAlias, TypeVar

import lz4.block

from storage.entry import decode_fields
from storage.entry_id import MAX_SEQ, SEQ_BITS, EntryID
from storage.open_node import MAX_NODE_BYTES, OpenNode

# A compressed blob has to be smaller by an eighth at least, or it does not pay to open it.
WORTHWHILE = 7 / 8

# A frozen node of which so small a share is left goes back to lists of what is left.
SPARSE_SHARE = 1 / 10

T = TypeVar("T")
Column: TypeAlias = "bytes | array[int]"


class FrozenNode:
    """A node that takes no more entries; see the module."""

    __slots__ = (
        "_alive",
        "_blob",
        "_compressed",
        "_lengths",
        "_ms",
        "_seq",
        "_shape",
        "deleted",
        "entries_bytes",
        "key",
        "live",
        "lost_end",
    )

    def __init__(self, node: OpenNode, lengths: list[int]) -> None:
        self.key = node.key
        self.live = len(node.ids)
        self._shape = node.shape
        self.deleted = node.deleted
        # Of what was deleted before: the greatest ID, and what all entries took in Redis.
        self.lost_end = node.lost_end
        self.entries_bytes = node.entries_bytes if node.deleted else 0
        payload = b"".join(node.entries)
        blob = lz4.block.compress(payload)
        self._compressed = len(blob) < len(payload) * WORTHWHILE
        self._blob = blob if self._compressed else payload
        # The ID of entry i is (ms of the key + _ms[i], _seq[i]).
        base_ms = node.key >> SEQ_BITS
        self._ms = _column([(entry_id >> SEQ_BITS) - base_ms for entry_id in node.ids])
        self._seq = _column([entry_id & MAX_SEQ for entry_id in node.ids])
        self._lengths = _column(lengths)
        # One byte for each entry, 0 once it is deleted; None as long as none is.
        self._alive: bytearray | None = None

    # -- places --------------------------------------------------------------------------------
    # An entry's place is its position in the blob, deleted ones included.

    def _id_at(self, place: int) -> EntryID:
        return ((self.key >> SEQ_BITS) + self._ms[place]) << SEQ_BITS | self._seq[place]

    def _place(self, entry_id: EntryID) -> int:
        """The place of the first entry, live or not, with an ID not below this one."""
        ms = (entry_id >> SEQ_BITS) - (self.key >> SEQ_BITS)
        low = bisect_left(self._ms, ms)
        high = bisect_right(self._ms, ms, low)
        return bisect_left(self._seq, entry_id & MAX_SEQ, low, high)

    def _live_place(self, entry_id: EntryID) -> int | None:
        """The place of the live entry with this ID, or None."""
        place = self._place(entry_id)
        if place == len(self._ms) or self._id_at(place) != entry_id:
            return None
        return place if self._alive is None or self._alive[place] else None

    def _live_runs(self, low: int, high: int) -> Iterator[tuple[int, int]]:
        """The stretches of live entries in places [low, high), as such pairs themselves."""
        if self._alive is None:
            if low < high:
                yield low, high
            return
        while (low := self._alive.find(1, low, high)) >= 0:
            end = self._alive.find(0, low, high)
            if end < 0:
                end = high
            yield low, end
            low = end

    def _live_items(self, items: list[T], low: int, high: int) -> list[T]:
        """Those of the items in places [low, high) that belong to live entries."""
        return items if self._alive is None else list(compress(items, self._alive[low:high]))

    def _offset(self, place: int) -> int:
        return sum(self._lengths[:place])

    def _payload(self) -> bytes:
        return lz4.block.decompress(self._blob) if self._compressed else self._blob

    def _ids(self, low: int, high: int) -> list[EntryID]:
        """All IDs in places [low, high)."""
        base_ms = self.key >> SEQ_BITS
        pairs = zip(self._ms[low:high], self._seq[low:high], strict=True)
        return [(base_ms + ms) << SEQ_BITS | seq for ms, seq in pairs]

    def _entries(self, low: int, high: int) -> list[bytes]:
        """All entries in places [low, high)."""
        payload = _recent_payload(self)
        offsets = accumulate(self._lengths[low:high], initial=self._offset(low))
        return [payload[start:end] for start, end in pairwise(offsets)]

    # -- reading -------------------------------------------------------------------------------

    @property
    def first_id(self) -> EntryID:
        """The smallest live ID; there must be one."""
        return self._id_at(0 if self._alive is None else self._alive.index(1))

    @property
    def last_id(self) -> EntryID:
        """The greatest live ID; there must be one."""
        return self._id_at(-1 if self._alive is None else self._alive.rindex(1))

    @property
    def highest_id(self) -> EntryID:
        """The ID that the node ends with, even if that entry is deleted."""
        return max(self._id_at(-1), self.lost_end)

    def select(self, start: EntryID, end: EntryID, limit: int) -> tuple[int, list[bytes]]:
        """The first `limit` entries of a range."""
        if (
            self._alive is None
            and start <= self.key
            and limit >= self.live
            and end >= self.highest_id
        ):
            return self.live, [self._payload()]
        payload = _recent_payload(self)
        found = 0
        chunks = []
        for low, high in self._live_runs(self._place(start), self._place(end + 1)):
            high = min(high, low + limit - found)
            chunks.append(payload[self._offset(low) : self._offset(high)])
            found += high - low
            if found == limit:
                break
        return found, chunks

    def select_down(self, start: EntryID, end: EntryID, limit: int) -> tuple[int, list[bytes]]:
        """The last `limit` entries of a range, descending."""
        low, high = self._place(start), self._place(end + 1)
        if self._alive is None:
            low = max(low, high - limit)
        entries = self._live_items(self._entries(low, high), low, high)
        entries.reverse()
        del entries[limit:]
        return len(entries), entries

    def select_ids(self, start: EntryID, end: EntryID, limit: int) -> list[EntryID]:
        """The first `limit` IDs of a range."""
        low, high = self._place(start), self._place(end + 1)
        if self._alive is None:
            high = min(high, low + limit)
        return self._live_items(self._ids(low, high), low, high)[:limit]

    def get(self, entry_id: EntryID) -> bytes | None:
        """One encoded entry, or None."""
        place = self._live_place(entry_id)
        if place is None:
            return None
        offset = self._offset(place)
        return _recent_payload(self)[offset : offset + self._lengths[place]]

    def count_below(self, entry_id: EntryID) -> int:
        """How many live entries have smaller IDs."""
        place = self._place(entry_id)
        return place if self._alive is None else self._alive.count(1, 0, place)

    # -- losing --------------------------------------------------------------------------------

    def delete(self, entry_id: EntryID) -> bool:
        """Mark one entry as deleted; False if it is not there."""
        place = self._live_place(entry_id)
        if place is None:
            return False
        self._mark_deleted(place, place + 1, 1)
        return True

    def drop_first(self, count: int) -> None:
        """Mark the first `count` live entries as deleted."""
        end = count
        if self._alive is not None:
            end = 0
            for _ in range(count):
                end = self._alive.index(1, end) + 1
        self._mark_deleted(0, end, count)

    def _mark_deleted(self, low: int, high: int, count: int) -> None:
        """Mark the entries in places [low, high), of which `count` are live."""
        if self._alive is None:
            self._alive = bytearray([1]) * len(self._ms)
        self._alive[low:high] = bytes(high - low)
        self.live -= count
        self.deleted += count

    # -- changing form -------------------------------------------------------------------------

    @property
    def is_sparse(self) -> bool:
        """Whether so little is left that thaw() gives memory back."""
        return 0 < self.live < len(self._ms) * SPARSE_SHARE

    def thaw(self) -> OpenNode:
        """The node as lists of what is left."""
        high = len(self._ms)
        ids = self._live_items(self._ids(0, high), 0, high)
        node = self._open(ids, self._live_items(self._entries(0, high), 0, high))
        node.lost_end = self.highest_id
        return node

    def reopen(self) -> OpenNode:
        """The node as lists, to append to: its deleted entries keep counting in its size."""
        high = len(self._ms)
        ids = self._ids(0, high)
        node = self._open(ids, self._entries(0, high))
        if self.entries_bytes:
            node.entries_bytes = self.entries_bytes
        if self._alive is not None:
            for entry_id, alive in zip(ids, self._alive, strict=True):
                if not alive:
                    node.delete(entry_id)
        node.deleted = self.deleted
        node.lost_end = max(node.lost_end, self.lost_end)
        node.count_bytes()
        return node

    def _open(self, ids: list[EntryID], entries: list[bytes]) -> OpenNode:
        node = OpenNode(self.key, self._shape)
        for entry_id, entry in zip(ids, entries, strict=True):
            fields = decode_fields(entry)
            node.append(entry_id, entry, fields, self._shape, 0, MAX_NODE_BYTES)
        node.count_bytes()  # of all, so that it did not matter which shape each has
        node.deleted = self.deleted
        return node

    def copy(self) -> FrozenNode:
        """An independent node with the same content; what never changes is shared."""
        twin = copy(self)
        if self._alive is not None:
            twin._alive = self._alive.copy()
        return twin

    def memory_bytes(self) -> int:
        """An estimate of the memory that the node takes. Shared columns count for nothing."""
        columns = [c for c in (self._ms, self._seq, self._lengths) if c[0] != c[-1]]
        parts = [self.key, self._blob, self._alive, *columns]
        return sys.getsizeof(self) + sum(map(sys.getsizeof, filter(None, parts)))


def _column(values: list[int]) -> Column:
    """The values in as little memory as will do."""
    if values.count(values[0]) == len(values):
        return _uniform_column(values[0], len(values))
    return _packed_column(values)


@lru_cache(maxsize=1024)
def _uniform_column(value: int, count: int) -> Column:
    """`count` times the same value. Most nodes have such columns, and share them."""
    return _packed_column([value] * count)


def _packed_column(values: list[int]) -> Column:
    top = max(values)
    if top < 2**8:
        return bytes(values)
    return array("H" if top < 2**16 else "I" if top < 2**32 else "Q", values)


@lru_cache(maxsize=16)
def _recent_payload(node: FrozenNode) -> bytes:
    """The blob of a node as it was frozen; the last few are kept open for readers in steps."""
    return node._payload()
