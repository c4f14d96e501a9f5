"""A node as lists: the last one of a stream, or one that is too large or too small to freeze.

It has the interface of storage/nodes/node.py. In addition it knows when it is full: when Redis
would open a new node, because of the number of entries or the size of its listpack. Both include
deleted entries, as in Redis.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import compress

try:
    import cython
except ImportError:
    from protocol import uncompiled as cython  # type: ignore[no-redef]

from storage.entries.entry import Shape, fields_position
from storage.entries.entry_id import MAX_SEQ, SEQ_BITS, EntryID
from storage.object_size import allocated_bytes
from storage.redis_format.listpack_size import FLAGS_BYTES, FieldSizes, int64_bytes, integer_bytes

# Redis's largest node, whatever the configuration says (reference 1.4).
MAX_NODE_BYTES = 1 << 30
_MAX_NODE_BYTES: cython.Py_ssize_t = MAX_NODE_BYTES

_FLAGS_BYTES: cython.Py_ssize_t = FLAGS_BYTES

# Reused to measure each entry that is added.
_SIZES = FieldSizes()


@cython.cclass
class OpenNode:
    """A node that can take entries; see the module.

    `entries_bytes` is what the entries would take in Redis's listpack, deleted ones included.
    """

    def __init__(self, key: EntryID, shape: Shape) -> None:
        """An empty node. `shape`: of its first entry; Redis leaves its names out in later ones."""
        self.key = key
        self.ids: list[EntryID] = []
        self.entries: list[bytes] = []
        self.deleted = 0
        self.lost_end: EntryID = key  # the greatest ID that was deleted
        self.shape = shape
        self.entries_bytes = 0
        self._names = shape.names
        self._header_bytes = shape.header_bytes
        self._key_ms = key >> SEQ_BITS
        self._key_seq = key & MAX_SEQ

    @classmethod
    def filled(
        cls,
        key: EntryID,
        shape: Shape,
        ids: list[EntryID],
        entries: list[bytes],
        deleted: int,
        lost_end: EntryID,
        entries_bytes: int,
    ) -> OpenNode:
        """A node from all of its entries; the lists are not copied."""
        node = cls(key, shape)
        node.ids = ids
        node.entries = entries
        node.deleted = deleted
        node.lost_end = lost_end
        node.entries_bytes = entries_bytes
        return node

    # -- growing -------------------------------------------------------------------------------

    def append_entry(
        self,
        entry_id: EntryID,
        entry: bytes,
        fields_at: cython.Py_ssize_t,
        max_entries: cython.Py_ssize_t,
        max_bytes: cython.Py_ssize_t,
    ) -> bool:
        """As append(), with the ID as one number."""
        ms, seq = entry_id >> SEQ_BITS, entry_id & MAX_SEQ
        return self.append(entry_id, ms, seq, entry, fields_at, max_entries, max_bytes)

    def append(
        self,
        entry_id: EntryID,
        ms: cython.ulonglong,
        seq: cython.ulonglong,
        entry: bytes,
        fields_at: cython.Py_ssize_t,
        max_entries: cython.Py_ssize_t,
        max_bytes: cython.Py_ssize_t,
    ) -> bool:
        """Add an encoded entry with an ID above all others; False if the node is full.

        `fields_at`: where its fields begin. `max_entries` and `max_bytes` are the limits of a node,
        as in Stream.append.
        """
        count: cython.Py_ssize_t = len(self.ids) + self.deleted
        if 0 < max_entries <= count:
            return False
        sizes: FieldSizes = _SIZES
        sizes.measure(entry, fields_at, self._names)
        if not 0 < max_bytes <= _MAX_NODE_BYTES:
            max_bytes = _MAX_NODE_BYTES
        # Redis compares the present size plus the new fields without their framing.
        if count and self._size() + sizes.text_bytes >= max_bytes:
            return False
        self.ids.append(entry_id)
        self.entries.append(entry)
        self.entries_bytes += sizes.element_bytes + self._id_bytes(ms, seq) + _FLAGS_BYTES
        return True

    @cython.cfunc
    def _id_bytes(self, ms: cython.ulonglong, seq: cython.ulonglong) -> cython.Py_ssize_t:
        """What an ID takes: it is stored as two differences to the key, which may wrap around."""
        if not cython.compiled:
            return integer_bytes(ms - self._key_ms) + integer_bytes(seq - self._key_seq)
        ms_difference: cython.longlong = cython.cast(cython.longlong, ms - self._key_ms)
        seq_difference: cython.longlong = cython.cast(cython.longlong, seq - self._key_seq)
        return int64_bytes(ms_difference) + int64_bytes(seq_difference)

    @cython.cfunc
    def _size(self) -> cython.Py_ssize_t:
        counts: cython.Py_ssize_t = int64_bytes(len(self.ids)) + int64_bytes(self.deleted)
        return self.entries_bytes + self._header_bytes + counts

    def listpack_bytes(self) -> int:
        """The size of the node in Redis."""
        return self._size()

    # -- reading -------------------------------------------------------------------------------

    @property
    def live(self) -> int:
        """How many entries there are."""
        return len(self.ids)

    @property
    def first_id(self) -> EntryID:
        """The smallest live ID; there must be one."""
        return self.ids[0]

    @property
    def last_id(self) -> EntryID:
        """The greatest live ID; there must be one."""
        return self.ids[-1]

    @property
    def highest_id(self) -> EntryID:
        """The ID that the node ends with, even if that entry is deleted: MINID trims go by it."""
        return max(self.lost_end, self.ids[-1]) if self.ids else self.lost_end

    def _slice(self, start: EntryID, end: EntryID) -> tuple[int, int]:
        low = bisect_left(self.ids, start)
        return low, bisect_right(self.ids, end, low)

    def select(self, start: EntryID, end: EntryID, limit: int) -> tuple[int, list[bytes]]:
        """The first `limit` entries of a range."""
        low, high = self._slice(start, end)
        entries = self.entries[low : min(high, low + limit)]
        return len(entries), entries

    def select_down(self, start: EntryID, end: EntryID, limit: int) -> tuple[int, list[bytes]]:
        """The last `limit` entries of a range, descending."""
        low, high = self._slice(start, end)
        entries = self.entries[max(low, high - limit) : high]
        entries.reverse()
        return len(entries), entries

    def select_entries(self, start: EntryID, end: EntryID) -> list[bytes]:
        """The entries of a range, each by itself."""
        low, high = self._slice(start, end)
        return self.entries[low:high]

    def select_with_ids(
        self, start: EntryID, end: EntryID, limit: int
    ) -> tuple[list[EntryID], list[bytes]]:
        """The first `limit` entries of a range, with their IDs."""
        low, high = self._slice(start, end)
        high = min(high, low + limit)
        return self.ids[low:high], self.entries[low:high]

    def select_ids(self, start: EntryID, end: EntryID, limit: int) -> list[EntryID]:
        """The first `limit` IDs of a range."""
        low, high = self._slice(start, end)
        return self.ids[low : min(high, low + limit)]

    def get(self, entry_id: EntryID) -> bytes | None:
        """The encoded entry with this ID, or None."""
        index = bisect_left(self.ids, entry_id)
        if index < len(self.ids) and self.ids[index] == entry_id:
            return self.entries[index]
        return None

    def count_below(self, entry_id: EntryID) -> int:
        """How many live entries have smaller IDs."""
        return bisect_left(self.ids, entry_id)

    # -- removing ------------------------------------------------------------------------------

    def delete(self, entry_id: EntryID) -> bool:
        """Remove one entry; False if it is not there."""
        index = bisect_left(self.ids, entry_id)
        if index == len(self.ids) or self.ids[index] != entry_id:
            return False
        self._remove(index, index + 1)
        return True

    def delete_all(self, ids: list[EntryID]) -> None:
        """Remove entries that are there; `ids` ascend."""
        low = bisect_left(self.ids, ids[0])
        high = low + len(ids)
        if self.ids[low:high] == ids:
            self._remove(low, high)
            return
        gone = set(ids)
        is_kept = [entry_id not in gone for entry_id in self.ids]
        self.ids = list(compress(self.ids, is_kept))
        self.entries = list(compress(self.entries, is_kept))
        self.lost_end = max(self.lost_end, ids[-1])
        self.deleted += len(ids)

    def drop_first(self, count: int) -> None:
        """Remove the first `count` live entries."""
        self._remove(0, count)

    def _remove(self, low: int, high: int) -> None:
        if low == high:
            return
        # Redis only marks an entry as deleted: it still counts, in number and in size.
        self.lost_end = max(self.lost_end, self.ids[high - 1])
        del self.ids[low:high]
        del self.entries[low:high]
        self.deleted += high - low

    # -- changing form -------------------------------------------------------------------------

    def copy(self) -> OpenNode:
        """An independent node with the same content."""
        twin = OpenNode(self.key, self.shape)
        twin.ids = self.ids.copy()
        twin.entries = self.entries.copy()
        twin.deleted = self.deleted
        twin.lost_end = self.lost_end
        twin.entries_bytes = self.entries_bytes
        return twin

    def memory_bytes(self) -> int:
        """An estimate of the memory that the node takes."""
        lists = sum(map(allocated_bytes, (self, self.ids, self.entries)))
        # The first ID is the key, as a rule.
        ids = max(1, len(self.ids)) * allocated_bytes(self.key)
        return lists + ids + sum(map(allocated_bytes, self.entries))


def entries_bytes(key: EntryID, shape: Shape, ids: list[EntryID], entries: list[bytes]) -> int:
    """What entries take in the listpack of the node `key`, whose first entry has this shape."""
    node = OpenNode(key, shape)
    for entry_id, entry in zip(ids, entries, strict=True):
        node.append_entry(entry_id, entry, fields_position(entry), 0, MAX_NODE_BYTES)
    return node.entries_bytes
