"""A node with a buffer: the last one of a stream, or one that is empty or too large to freeze.

It has the interface of storage/nodes/node.py. In addition it knows when it is full: when Redis
would open a new node, because of the number of entries or the size of its listpack. Both include
deleted entries, as in Redis.
"""

from __future__ import annotations

import cython

from storage.entries.entry import Shape, fields_position
from storage.entries.entry_id import MAX_ID, EntryID, EntryIDs, NodeIDs, id_ms, id_seq
from storage.entries.packed_form import Form
from storage.memory import instance_bytes, int_object_bytes
from storage.nodes.entry_buffer import EntryBuffer
from storage.redis_format.listpack_size import FLAGS_BYTES, FieldSizes, int64_bytes, integer_bytes

# Redis's largest node, whatever the configuration says (Redis 7.4).
MAX_NODE_BYTES = 1 << 30
_MAX_NODE_BYTES: cython.Py_ssize_t = MAX_NODE_BYTES

# A buffer with more room is not kept for the next node.
MAX_KEPT_BYTES = 64 * 1024

_FLAGS_BYTES: cython.Py_ssize_t = FLAGS_BYTES

# Reused to measure each entry that is added.
_SIZES = FieldSizes()


@cython.cclass
class OpenNode:
    """A node that can take entries; see the module.

    `entries_bytes` is what the entries would take in Redis's listpack, deleted ones included.
    """

    __slots__ = (
        "_buffer",
        "_header_bytes",
        "_key_ms",
        "_key_seq",
        "_names",
        "deleted",
        "entries_bytes",
        "key",
        "lost_end",
        "shape",
    )

    def __init__(self, key: EntryID, shape: Shape, buffer: EntryBuffer | None = None) -> None:
        """An empty node. `shape`: of its first entry; Redis leaves its names out in later ones.

        `buffer`: an empty one, which is the node's from now on.
        """
        self.key = key
        self.deleted = 0
        self.lost_end: EntryID = key  # the greatest ID that was deleted
        self.shape = shape
        self.entries_bytes = 0
        self._buffer = EntryBuffer() if buffer is None else buffer
        self._names = shape.names
        self._header_bytes = shape.header_bytes
        self._key_ms = id_ms(key)
        self._key_seq = id_seq(key)

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
        """A node from all of its entries."""
        node: OpenNode = cls(key, shape)
        node._buffer.fill(ids, entries)
        node.deleted = deleted
        node.lost_end = lost_end
        node.entries_bytes = entries_bytes
        return node

    # -- growing -------------------------------------------------------------------------------

    def append(
        self,
        ms: cython.ulonglong,
        seq: cython.ulonglong,
        id_bulk: bytes,
        fields: bytes,
        words: cython.Py_ssize_t,
        max_entries: cython.Py_ssize_t,
        max_bytes: cython.Py_ssize_t,
    ) -> bool:
        """Add an entry with an ID above all others; False if the node is full.

        `id_bulk` is its ID as a bulk string, and `fields` are `words` more. `max_entries` and
        `max_bytes` are the limits of a node, as in Stream.append.
        """
        buffer: EntryBuffer = self._buffer
        count: cython.Py_ssize_t = buffer.count + self.deleted
        if 0 < max_entries <= count:
            return False
        sizes: FieldSizes = _SIZES
        sizes.measure(fields, 0, self._names)
        if not 0 < max_bytes <= _MAX_NODE_BYTES:
            max_bytes = _MAX_NODE_BYTES
        # Redis compares the present size plus the new fields without their framing.
        if count and self._size() + sizes.text_bytes >= max_bytes:
            return False
        buffer.append(ms, seq, id_bulk, fields, words)
        self.entries_bytes += sizes.element_bytes + self._id_bytes(ms, seq) + _FLAGS_BYTES
        return True

    def measure(self, ids: list[EntryID], entries: list[bytes]) -> int:
        """Return the number of bytes that these entries would take in the listpack."""
        total: cython.Py_ssize_t = 0
        for entry_id, entry in zip(ids, entries, strict=True):
            _SIZES.measure(entry, fields_position(entry), self._names)
            total += _SIZES.element_bytes + _FLAGS_BYTES
            total += self._id_bytes(id_ms(entry_id), id_seq(entry_id))
        return total

    def close(self) -> None:
        """Give up memory for more entries: none is added to this node any more."""
        self._buffer.fit()

    def hand_over(self) -> EntryBuffer | None:
        """The buffer, empty, for another node; None if it is too large to be kept.

        This node is not used any more.
        """
        if self._buffer.room_bytes > MAX_KEPT_BYTES:
            return None
        self._buffer.clear()
        return self._buffer

    @cython.cfunc
    def _id_bytes(self, ms: cython.ulonglong, seq: cython.ulonglong) -> cython.Py_ssize_t:
        """Return the size of an ID: two differences to the key, which may wrap around."""
        if not cython.compiled:
            return integer_bytes(ms - self._key_ms) + integer_bytes(seq - self._key_seq)
        ms_difference: cython.longlong = cython.cast(cython.longlong, ms - self._key_ms)
        seq_difference: cython.longlong = cython.cast(cython.longlong, seq - self._key_seq)
        return int64_bytes(ms_difference) + int64_bytes(seq_difference)

    @cython.cfunc
    def _size(self) -> cython.Py_ssize_t:
        counts: cython.Py_ssize_t = int64_bytes(self._buffer.count) + int64_bytes(self.deleted)
        return self.entries_bytes + self._header_bytes + counts

    def listpack_bytes(self) -> int:
        """The size of the node in Redis."""
        return self._size()

    # -- reading -------------------------------------------------------------------------------

    @property
    def live(self) -> int:
        """The number of entries."""
        return self._buffer.count

    @property
    def size_bytes(self) -> int:
        """The size of all entries, as they are encoded."""
        return self._buffer.size_bytes

    @property
    def first_id(self) -> EntryID:
        """The smallest live ID; there must be one."""
        return self._buffer.id_at(0)

    @property
    def last_id(self) -> EntryID:
        """The greatest live ID; there must be one."""
        return self._buffer.id_at(self._buffer.count - 1)

    @property
    def highest_id(self) -> EntryID:
        """The ID that the node ends with, even if that entry is deleted: MINID trims go by it."""
        return max(self.lost_end, self.last_id) if self._buffer.count else self.lost_end

    def _places(self, start: EntryID, end: EntryID) -> tuple[int, int]:
        """The places [low, high) of a range; equal if there is none."""
        if start > end:  # it may be above all IDs that there are
            return 0, 0
        low = self._buffer.place_of(start)
        high = self._buffer.count if end == MAX_ID else self._buffer.place_of(end + 1)
        return low, high

    def select(
        self, start: EntryID, end: EntryID, limit: cython.Py_ssize_t
    ) -> tuple[int, list[bytes]]:
        """The first `limit` entries of a range."""
        low, high = self._places(start, end)
        high = min(high, low + limit)
        return (high - low, self._buffer.parts(low, high)) if low < high else (0, [])

    def payload(self) -> bytes:
        """All entries, one after the other."""
        return self._buffer.part(0, self._buffer.count)

    def select_down(self, start: EntryID, end: EntryID, limit: int) -> tuple[int, list[bytes]]:
        """The last `limit` entries of a range, descending."""
        low, high = self._places(start, end)
        entries = self._buffer.entries(max(low, high - limit), high)
        entries.reverse()
        return len(entries), entries

    def select_entries(self, start: EntryID, end: EntryID) -> list[bytes]:
        """The entries of a range, each by itself."""
        low, high = self._places(start, end)
        return self._buffer.entries(low, high)

    def read_from(self, ids: EntryIDs, start: EntryID, limit: cython.Py_ssize_t) -> list[bytes]:
        """The first `limit` entries from an ID on; theirs are appended to `ids`."""
        low: cython.Py_ssize_t = self._buffer.place_of(start)
        high: cython.Py_ssize_t = min(low + limit, self._buffer.count)
        self._buffer.add_ids_to(ids, low, high)
        return self._buffer.parts(low, high)

    def read_within(self, ids: EntryIDs, start: EntryID, limit: int, max_bytes: int) -> list[bytes]:
        """read_from() up to the entry that makes them `max_bytes` or more."""
        within = self._buffer.count_within(self._buffer.place_of(start), max_bytes)
        return self.read_from(ids, start, min(limit, within))

    def add_ids_to(
        self, ids: EntryIDs, start: EntryID, end: EntryID, limit: cython.Py_ssize_t
    ) -> None:
        """Append the first `limit` IDs of a range to a row."""
        low, high = self._places(start, end)
        self._buffer.add_ids_to(ids, low, min(high, low + limit))

    def select_ids(self, start: EntryID, end: EntryID, limit: int) -> list[EntryID]:
        """The first `limit` IDs of a range."""
        ids = EntryIDs()
        self.add_ids_to(ids, start, end, limit)
        return list(ids)

    def get(self, entry_id: EntryID) -> bytes | None:
        """The encoded entry with this ID, or None."""
        place = self._find(entry_id)
        return None if place < 0 else self._buffer.part(place, place + 1)

    def _find(self, entry_id: EntryID) -> int:
        """The place of the entry with this ID; -1 if there is none."""
        place = self._buffer.place_of(entry_id)
        is_there = place < self._buffer.count and self._buffer.id_at(place) == entry_id
        return place if is_there else -1

    def count_below(self, entry_id: EntryID) -> int:
        """Return the number of live entries with smaller IDs."""
        return self._buffer.place_of(entry_id)

    # -- removing ------------------------------------------------------------------------------

    def delete(self, entry_id: EntryID) -> bool:
        """Remove one entry; False if it is not there."""
        place = self._find(entry_id)
        if place < 0:
            return False
        self._remove(place, place + 1)
        return True

    def delete_all(self, ids: list[EntryID]) -> None:
        """Remove entries that are there; `ids` ascend."""
        self._buffer.remove_all([self._buffer.place_of(entry_id) for entry_id in ids])
        self.lost_end = max(self.lost_end, ids[-1])
        self.deleted += len(ids)

    def drop_first(self, count: int) -> None:
        """Remove the first `count` live entries."""
        self._remove(0, count)

    def _remove(self, low: int, high: int) -> None:
        if low == high:
            return
        # Redis only marks an entry as deleted: it still counts, in number and in size.
        self.lost_end = max(self.lost_end, self._buffer.id_at(high - 1))
        self._buffer.remove(low, high)
        self.deleted += high - low

    # -- changing form -------------------------------------------------------------------------
    # What a node is frozen from.

    def common_length(self) -> int:
        """The size of each entry if they have the same; otherwise 0."""
        return self._buffer.common_length

    def lengths(self) -> list[int]:
        """The size of each entry."""
        return self._buffer.lengths()

    def pack_ids(self) -> NodeIDs:
        """The compact form of the IDs, of which there must be one."""
        return self._buffer.pack_ids(self.key)

    def pack_entries(self, length: int, ids: NodeIDs) -> tuple[Form, bytes]:
        """The form and the packed entries; the arguments are common_length() and pack_ids()."""
        text = self._buffer.text()
        return self.shape.packing.pack(text, self.size_bytes, length, self.first_id, ids)

    def copy(self) -> OpenNode:
        """An independent node with the same content."""
        twin = OpenNode(self.key, self.shape, self._buffer.copy())
        twin.deleted = self.deleted
        twin.lost_end = self.lost_end
        twin.entries_bytes = self.entries_bytes
        return twin

    def memory_bytes(self) -> int:
        """The memory of the node in bytes, without its shape, which nodes share."""
        ids: cython.longlong = 1 if self.lost_end is self.key else 2
        return _OWN_BYTES + ids * _ID_BYTES + self._buffer.memory_bytes()


_OWN_BYTES: cython.longlong = instance_bytes(OpenNode)
_ID_BYTES: cython.longlong = int_object_bytes(MAX_ID)
