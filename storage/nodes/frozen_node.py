"""A full, immutable node, packed into one blob.

Its entries are packed by storage/entries/packed_form.py; their IDs and lengths are in compact
columns beside the blob. The blob never changes; a deletion only sets a mark, and a node that has
lost half of its entries is packed again, without them. A snapshot is written from what is packed:
`form`, `blob` and `ids` are for its encoder. Entries that were unpacked for a reader are cached
(storage/nodes/entry_cache.py).

It has the same methods as an OpenNode. Ranges are inclusive at both ends, `limit` is the maximal
number of entries, and a result in wire form is (number of entries, chunks), where the chunks are
the concatenated entries in order.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate, compress, pairwise
from struct import Struct
from typing import TypeAlias, TypeVar

import cython

from storage.entries.entry import Frame
from storage.entries.entry_id import (
    MAX_ID,
    MIN_ID,
    Column,
    EntryID,
    EntryIDs,
    NodeIDs,
    column,
    column_bytes,
)
from storage.entries.packed_form import AS_IS, Layout
from storage.memory import instance_bytes, int_object_bytes
from storage.nodes.open_node import OpenNode
from storage.zstd import decompress

# A frozen node with no more than this share of its entries left is packed again.
SPARSE_SHARE = 1 / 2

# A read of more than this share of a cached node reorders its entries in the reading direction.
TURNED_SHARE = 1 / 4

T = TypeVar("T")

if not cython.compiled:
    # Compiled, they are C functions, which the module's C types import or have.
    from storage.memory import bytearray_bytes, bytes_object_bytes

    # Compiled, it counts no reference to the blob.
    def blob_size(node: FrozenNode) -> int:
        """The number of bytes of a node's blob."""
        return len(node.blob)


@cython.cclass
class _Losses:
    """The deletions in a node; most nodes have none."""

    __slots__ = ("alive", "deleted", "entries_bytes", "lost_end")

    def __init__(self, deleted: int, lost_end: EntryID, entries_bytes: int) -> None:
        self.deleted = deleted
        # Of entries deleted before the node was frozen: the greatest ID, and the size of all
        # entries in Redis (0 if there were none).
        self.lost_end = lost_end
        self.entries_bytes = entries_bytes
        # One byte for each entry, 0 once it is deleted; None as long as none is.
        self.alive: bytearray | None = None

    def copy(self) -> _Losses:
        twin = _Losses(self.deleted, self.lost_end, self.entries_bytes)
        if self.alive is not None:
            twin.alive = self.alive.copy()
        return twin


@cython.cclass
class FrozenNode:
    """A node that takes no more entries; see the module."""

    __slots__ = (
        "_is_turned",
        "_length",
        "_lengths",
        "_losses",
        "_shape",
        "blob",
        "form",
        "ids",
        "key",
        "live",
        "opened",
        "size_bytes",
        "was_read",
    )

    def __init__(self, node: OpenNode) -> None:
        """From a node with entries."""
        self.key = node.key
        self.live = node.live
        self._shape = node.shape
        # Either all entries have one length, or each has its own.
        self._length = node.common_length()
        self._lengths: Column | None = None if self._length else column(node.lengths())
        self.ids: NodeIDs = node.pack_ids()
        self.size_bytes: cython.Py_ssize_t = self._offset(len(self.ids))  # of its entries unpacked
        self.form, self.blob = node.pack_entries(self._length, self.ids)
        self._losses: _Losses | None = None
        if node.deleted:
            self._losses = _Losses(node.deleted, node.lost_end, node.entries_bytes)
        # The entries, while the cache keeps them ...
        self.opened: bytes | None = None
        self.was_read = False
        # ... in descending order after a descending read.
        self._is_turned = False

    # -- places --------------------------------------------------------------------------------
    # An entry's place is its position in the node, deleted ones included.

    def _id_at(self, place: int) -> EntryID:
        return self.ids.at(self.key, place)

    def _place(self, entry_id: EntryID) -> int:
        """The place of the first entry, live or not, with an ID not below this one."""
        return self.ids.place(self.key, entry_id)

    def _places(self, start: EntryID, end: EntryID) -> tuple[int, int]:
        """The places [low, high) of a range, deleted entries included; low may be above high."""
        low = self._place(start) if start > self.key else 0
        if end == MAX_ID or end >= self._id_at(-1):
            return low, len(self.ids)
        return low, self._place(end + 1)

    def _low(self, start: EntryID) -> cython.Py_ssize_t:
        """The place where a range begins."""
        ids: NodeIDs = self.ids
        return ids.place(self.key, start)

    @cython.cfunc
    def _high(
        self, low: cython.Py_ssize_t, end: EntryID, limit: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """The place before which the first `limit` entries from `low` on end."""
        ids: NodeIDs = self.ids
        high: cython.Py_ssize_t = low + limit if limit < ids.count else ids.count
        if high > ids.count:
            high = ids.count
        if low < high and end != MAX_ID and ids.at(self.key, high - 1) > end:
            high = ids.place(self.key, end + 1)
        return high

    def _live_place(self, entry_id: EntryID) -> int | None:
        """The place of the live entry with this ID, or None."""
        place = self._place(entry_id)
        if place == len(self.ids) or self._id_at(place) != entry_id:
            return None
        alive = self.alive()
        return place if alive is None or alive[place] else None

    def alive(self) -> bytearray | None:
        """A byte for each place, 0 where the entry is deleted; None if none is."""
        return None if self._losses is None else self._losses.alive

    def _live_runs(self, low: int, high: int) -> list[tuple[int, int]]:
        """The runs of live entries in places [low, high), as pairs [low, high) again."""
        alive = self.alive()
        if alive is None:
            return [(low, high)] if low < high else []
        runs = []
        while (low := alive.find(1, low, high)) >= 0:
            end = alive.find(0, low, high)
            if end < 0:
                end = high
            runs.append((low, end))
            low = end
        return runs

    def _live_items(self, items: list[T], low: int, high: int) -> list[T]:
        """The items in places [low, high) that belong to live entries."""
        alive = self.alive()
        return items if alive is None else list(compress(items, alive[low:high]))

    # -- entries -------------------------------------------------------------------------------

    def payload(self) -> bytes:
        """All live entries, one after the other, for those who read each node once.

        The cache is left as it is.
        """
        payload = self._unpack(self.copied_blob())
        if self.alive() is None:
            return payload
        runs = self._live_runs(0, len(self.ids))
        return b"".join([payload[self._offset(low) : self._offset(end)] for low, end in runs])

    def copied_blob(self) -> bytes:
        """A copy of the blob, for a child: what it reads is in memory shared with the server.

        A reference to the blob is counted in it, and a page of memory would be copied for that.
        """
        blob: cython.p_const_uchar = self.blob
        return blob[: blob_size(self)]

    def _unpack(self, blob: bytes) -> bytes:
        """All entries of the node's blob, concatenated."""
        form = self.form
        if self.opened is not None and not self._is_turned:
            return self.opened
        if form is AS_IS:
            return blob
        if isinstance(form, Layout):
            count = len(self.ids)
            return form.part(self._id_at(0), blob, count, 0, count)
        packed = decompress(blob)
        if isinstance(form, Frame):
            count = len(self.ids)
            return form.build(self._id_at(0), packed, count, self._offset(count))
        return packed

    def _chunks(self, low: int, high: int, *, down: bool = False) -> list[bytes]:
        """The entries in places [low, high), at least one, ascending or descending."""
        is_other_way = self.opened is not None and self._is_turned != down
        if is_other_way and high - low > len(self.ids) * TURNED_SHARE:
            self._turn(down)
        part = self._slice(low, high)
        if self._is_turned == down:
            return [part]
        entries = self._cut(part, low, high, is_turned=self._is_turned)
        entries.reverse()
        return entries

    def _turn(self, down: bool) -> None:
        """Reorder the cached entries in this direction: the next read is probably the same."""
        payload = self._unpack(self.blob)
        if down:
            entries = self._cut(payload, 0, len(self.ids))
            entries.reverse()
            payload = b"".join(entries)
        self.opened, self._is_turned = payload, down

    def _slice(self, low: int, high: int) -> bytes:
        """The entries in places [low, high), descending if the node is turned.

        The node's entries are cached if the cache admits them.
        """
        payload = self.opened
        if payload is not None:
            self.was_read = True
        else:
            self._is_turned = False
            form = self.form
            is_whole = high - low == len(self.ids)
            cache = None if form is AS_IS else self._shape.packing.cache
            is_wanted = cache is not None and cache.wants(self, is_whole=is_whole)
            if isinstance(form, Layout) and not is_wanted:
                return form.part(self._id_at(low), self.blob, len(self.ids), low, high)
            payload = self._unpack(self.blob)
            if cache is not None:
                cache.add(self, payload, is_wanted=is_wanted)
        if high - low == len(self.ids):
            return payload
        start, end = self._offset(low), self._offset(high)
        if self._is_turned:
            start, end = len(payload) - end, len(payload) - start
        return payload[start:end]

    def _offset(self, place: cython.Py_ssize_t) -> cython.Py_ssize_t:
        lengths = self._lengths
        if lengths is None:
            return self._length * place
        if not isinstance(lengths, bytes):
            return sum(lengths[:place])
        short: cython.p_const_uchar = lengths
        total: cython.Py_ssize_t = 0
        index: cython.Py_ssize_t
        for index in range(place):
            total += short[index]
        return total

    def _cut(self, part: bytes, low: int, high: int, *, is_turned: bool = False) -> list[bytes]:
        """The entries in places [low, high), cut from all of them concatenated."""
        if self._lengths is None:
            return list(_cutter(self._length, high - low).unpack(part))
        lengths = self._lengths[low:high]
        offsets = accumulate(reversed(lengths) if is_turned else lengths, initial=0)
        return [part[start:end] for start, end in pairwise(offsets)]

    # -- reading -------------------------------------------------------------------------------

    @property
    def deleted(self) -> int:
        """The number of deleted entries."""
        return 0 if self._losses is None else self._losses.deleted

    @property
    def first_id(self) -> EntryID:
        """The smallest live ID; there must be one."""
        alive = self.alive()
        return self._id_at(0 if alive is None else alive.index(1))

    @property
    def last_id(self) -> EntryID:
        """The greatest live ID; there must be one."""
        alive = self.alive()
        return self._id_at(-1 if alive is None else alive.rindex(1))

    @property
    def highest_id(self) -> EntryID:
        """The ID that the node ends with, even if that entry is deleted."""
        last_id = self._id_at(-1)
        return last_id if self._losses is None else max(last_id, self._losses.lost_end)

    def select(
        self, start: EntryID, end: EntryID, limit: cython.Py_ssize_t
    ) -> tuple[int, list[bytes]]:
        """The first `limit` entries of a range."""
        losses = self._losses
        if losses is not None and losses.alive is not None:
            return self._select_live(start, end, limit)
        low: cython.Py_ssize_t = 0
        high: cython.Py_ssize_t = self.live
        if start != MIN_ID or limit < high or end != MAX_ID:
            low = self._low(start)
            high = self._high(low, end, limit)
            if low >= high:
                return 0, []
        if self.opened is None or self._is_turned:
            return high - low, self._chunks(low, high)
        return high - low, [self._opened_part(low, high)]

    @cython.cfunc
    def _opened_part(self, low: cython.Py_ssize_t, high: cython.Py_ssize_t) -> bytes:
        """_chunks() where the cache has the node, ascending: the hottest path of reading."""
        self.was_read = True
        payload = self.opened
        assert payload is not None
        if high - low == self.ids.count:
            return payload
        start: cython.Py_ssize_t = self._offset(low)
        end: cython.Py_ssize_t = self._offset(high)
        return payload[start:end]

    def _select_live(self, start: EntryID, end: EntryID, limit: int) -> tuple[int, list[bytes]]:
        """select() of a node with deleted entries."""
        low, high = self._places(start, end)
        found = 0
        chunks = []
        for first, last in self._live_runs(low, high):
            last = min(last, first + limit - found)
            chunks += self._chunks(first, last)
            found += last - first
            if found == limit:
                break
        return found, chunks

    def select_down(self, start: EntryID, end: EntryID, limit: int) -> tuple[int, list[bytes]]:
        """The last `limit` entries of a range, descending."""
        if self.alive() is not None:
            entries = self.select_entries(start, end)
            entries.reverse()
            del entries[limit:]
            return len(entries), entries
        low, high = self._places(start, end)
        low = max(low, high - limit)
        return (high - low, self._chunks(low, high, down=True)) if low < high else (0, [])

    def select_entries(self, start: EntryID, end: EntryID) -> list[bytes]:
        """The entries of a range, each by itself."""
        low, high = self._places(start, end)
        if low >= high:
            return []
        entries = self._cut(self._slice(low, high), low, high, is_turned=self._is_turned)
        if self._is_turned:
            entries.reverse()
        return self._live_items(entries, low, high)

    def read_from(self, ids: EntryIDs, start: EntryID, limit: cython.Py_ssize_t) -> list[bytes]:
        """The first `limit` entries from an ID on; theirs are appended to `ids`."""
        losses = self._losses
        if losses is not None and losses.alive is not None:
            self.add_ids_to(ids, start, MAX_ID, limit)
            return self.select(start, MAX_ID, limit)[1]
        low: cython.Py_ssize_t = self._low(start)
        high: cython.Py_ssize_t = low + limit if limit < self.live - low else self.live
        if low >= high:
            return []
        self.ids.add_to(ids, self.key, low, high)
        if self.opened is None or self._is_turned:
            return self._chunks(low, high)
        return [self._opened_part(low, high)]

    def add_ids_to(
        self, ids: EntryIDs, start: EntryID, end: EntryID, limit: cython.Py_ssize_t
    ) -> None:
        """Append the first `limit` IDs of a range to a row."""
        low: cython.Py_ssize_t = self._low(start)
        if self.alive() is None:
            self.ids.add_to(ids, self.key, low, self._high(low, end, limit))
            return
        high = self._high(low, end, self.ids.count)
        live = self._live_items(self.ids.between(self.key, low, high), low, high)
        ids.extend(live[:limit])

    def select_ids(self, start: EntryID, end: EntryID, limit: int) -> list[EntryID]:
        """The first `limit` IDs of a range."""
        ids = EntryIDs()
        self.add_ids_to(ids, start, end, limit)
        return list(ids)

    def get(self, entry_id: EntryID) -> bytes | None:
        """One encoded entry, or None."""
        place = self._live_place(entry_id)
        return None if place is None else self._chunks(place, place + 1)[0]

    def count_below(self, entry_id: EntryID) -> int:
        """Return the number of live entries with smaller IDs."""
        place = self._place(entry_id)
        alive = self.alive()
        return place if alive is None else alive.count(1, 0, place)

    # -- deleting ------------------------------------------------------------------------------

    def delete(self, entry_id: EntryID) -> bool:
        """Mark one entry as deleted; False if it does not exist."""
        place = self._live_place(entry_id)
        if place is None:
            return False
        self._mark_deleted(place, place + 1, 1)
        return True

    def delete_all(self, ids: list[EntryID]) -> None:
        """Mark existing entries as deleted; `ids` ascend."""
        low, high = self._place(ids[0]), self._place(ids[-1]) + 1
        alive = self.alive()
        live = high - low if alive is None else alive.count(1, low, high)
        if live == len(ids):
            self._mark_deleted(low, high, live)
            return
        for entry_id in ids:
            place = self._place(entry_id)
            self._mark_deleted(place, place + 1, 1)

    def drop_first(self, count: int) -> None:
        """Mark the first `count` live entries as deleted."""
        end = count
        alive = self.alive()
        if alive is not None:
            end = 0
            for _ in range(count):
                end = alive.index(1, end) + 1
        self._mark_deleted(0, end, count)

    def _mark_deleted(self, low: int, high: int, count: int) -> None:
        """Mark the entries in places [low, high), of which `count` are live."""
        if self._losses is None:
            self._losses = _Losses(0, self.key, 0)
        losses = self._losses
        if losses.alive is None:
            losses.alive = bytearray([1]) * len(self.ids)
        losses.alive[low:high] = bytes(high - low)
        losses.deleted += count
        self.live -= count

    # -- changing form -------------------------------------------------------------------------

    @property
    def is_sparse(self) -> bool:
        """True if so few entries are left that packing them again saves memory."""
        return 0 < self.live <= len(self.ids) * SPARSE_SHARE

    def reopen(self) -> OpenNode:
        """An open node with the same entries, to append to; deleted ones still count in its
        size.
        """
        count = len(self.ids)
        ids = self.ids.between(self.key, 0, count)
        payload = self._unpack(self.blob)
        losses = self._losses
        size, lost_end = 0, self.key
        if losses is not None:
            size, lost_end = losses.entries_bytes, losses.lost_end
            last_lost = -1 if losses.alive is None else losses.alive.rfind(0)
            if last_lost >= 0:
                lost_end = max(lost_end, ids[last_lost])
        all_entries = self._cut(payload, 0, count)
        if not size:
            size = OpenNode(self.key, self._shape).measure(ids, all_entries)
        entries = self._live_items(all_entries, 0, count)
        live_ids = self._live_items(ids, 0, count)
        state = self.deleted, lost_end, size
        return OpenNode.filled(self.key, self._shape, live_ids, entries, *state)

    def copy(self) -> FrozenNode:
        """An independent node with the same content; immutable parts are shared."""
        twin = FrozenNode.__new__(FrozenNode)
        twin.key, twin.live = self.key, self.live
        twin._shape, twin._length, twin._lengths = self._shape, self._length, self._lengths
        twin.form, twin.blob, twin.ids = self.form, self.blob, self.ids
        twin.size_bytes = self.size_bytes
        twin._losses = None
        twin.opened = None
        twin.was_read = twin._is_turned = False
        if self._losses is not None:
            twin._losses = self._losses.copy()
        return twin

    def memory_bytes(self) -> int:
        """The memory of the node in bytes, without what nodes share and what the cache has."""
        size: cython.long = _OWN_BYTES + _ID_BYTES + bytes_object_bytes(blob_size(self))
        size += self.ids.memory_bytes()
        if self._lengths is not None:
            size += column_bytes(self._lengths)
        losses = self._losses
        if losses is not None:
            size += _LOSSES_BYTES
            if losses.lost_end is not self.key:
                size += _ID_BYTES
            if losses.alive is not None:
                size += bytearray_bytes(losses.alive)
        return size


_OWN_BYTES: cython.long = instance_bytes(FrozenNode)
_LOSSES_BYTES: cython.long = instance_bytes(_Losses)
_ID_BYTES: cython.long = int_object_bytes(MAX_ID)


@lru_cache(maxsize=128)
def _cutter(size: int, count: int) -> Struct:
    """A Struct that splits `count` entries of this size, in a third of the time of slices."""
    return Struct(f"{size}s" * count)


Node: TypeAlias = OpenNode | FrozenNode

# A client waits while a node is frozen or unpacked: a quarter of a megabyte takes well below a
# millisecond. Larger nodes stay open.
FREEZE_MAX_BYTES = 256 * 1024


def freeze(node: OpenNode) -> Node:
    """The stored form of a node that nothing is appended to any more."""
    return FrozenNode(node) if node.live and node.size_bytes <= FREEZE_MAX_BYTES else node
