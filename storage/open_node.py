"""A node as lists: the last one of a stream, or one that is too large or too small to freeze.

It answers as storage/node.py says. Beside that it knows when it is full: where Redis would open
a new node, because of the number of entries or because of the size of its listpack. Deleted
entries keep counting in both, as they do in Redis.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate, compress
from operator import add

from storage.additions import Additions
from storage.allocation import allocated_bytes
from storage.entry import Shape, decode_payload
from storage.entry_id import MAX_SEQ, MIN_ID, SEQ_BITS, EntryID, make_id
from storage.listpack_size import entries_bytes, id_totals, next_size

# Redis's largest node, whatever the configuration says (reference 1.4).
MAX_NODE_BYTES = 1 << 30

# After so many entries their size is counted even if no limit is near, so that it never takes long.
MAX_UNCOUNTED = 128

# For how the size of an entry is bounded, see OpenNode.__init__.
NEAR_MS = 2**23
NEAR_SEQ = 2**12
NEAR_ID_BYTES = 7
LONG_ENTRY_BYTES = 4096

# Of the text of an ID as a bulk string, less its sequence number: at least, and since 2001.
_USUAL_ID = make_id(10**12, 0)
_USUAL_ID_TEXT_BYTES = len(b"$0\r\n%d-\r\n" % (_USUAL_ID >> SEQ_BITS))
_LEAST_ID_TEXT_BYTES = len(b"$0\r\n0-\r\n")
_NEAR = make_id(NEAR_MS, 0)


class OpenNode:
    """A node that can take entries; see the module."""

    __slots__ = (
        "_bound_bytes",
        "_near_end",
        "_surplus_bytes",
        "_uncounted",
        "counts_at_once",
        "deleted",
        "entries",
        "entries_bytes",
        "ids",
        "key",
        "lost_end",
        "shape",
    )

    def __init__(self, key: EntryID, shape: Shape, *, counts_at_once: bool = False) -> None:
        """An empty node.

        `counts_at_once`: entries that come many at once are counted at once; for streams whose
        nodes are full by their size.
        """
        self.key = key
        self.counts_at_once = counts_at_once
        self.ids: list[EntryID] = []
        self.entries: list[bytes] = []
        self.deleted = 0
        self.lost_end: EntryID = key  # the greatest ID that was deleted
        self.shape = shape  # of the first entry, whose names Redis leaves out in later ones
        # The size that Redis's listpack would have is only computed when it matters: the last
        # _uncounted entries are not yet in entries_bytes. _bound_bytes is at least the size of
        # the whole node.
        self.entries_bytes = 0
        self._uncounted = 0
        self._bound_bytes = shape.most_empty_node_bytes
        # By how much at least an entry is longer here than there: by its framing and its names,
        # and by the text of its ID, for which Redis stores differences to the key. That of the
        # milliseconds takes 5 bytes below NEAR_MS; that of the sequence number at most 2 bytes
        # more than it has digits, if the key's is below NEAR_SEQ.
        id_text_bytes = _USUAL_ID_TEXT_BYTES if key >= _USUAL_ID else _LEAST_ID_TEXT_BYTES
        self._surplus_bytes = shape.surplus_bytes + id_text_bytes - NEAR_ID_BYTES
        self._near_end = key + _NEAR if key & MAX_SEQ < NEAR_SEQ else MIN_ID

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
        """A node with all of its entries at once; what it is given is not copied."""
        node = cls(key, shape)
        node.ids = ids
        node.entries = entries
        node.deleted = deleted
        node.lost_end = lost_end
        node.entries_bytes = entries_bytes
        node.count_bytes()
        return node

    # -- growing -------------------------------------------------------------------------------

    def append(
        self,
        entry_id: EntryID,
        entry: bytes,
        fields: list[bytes],
        shape: Shape,
        max_entries: int,
        max_bytes: int,
    ) -> bool:
        """Add an entry, encoded and as fields, with an ID above all others; False if it is full.

        `max_entries` and `max_bytes` are the limits of a node, as in Stream.append.
        """
        if not 0 < max_bytes <= MAX_NODE_BYTES:
            max_bytes = MAX_NODE_BYTES
        ids = self.ids
        if 0 < max_entries <= len(ids) + self.deleted:
            return False
        size = len(entry)
        bound_bytes = self._bound_bytes
        if bound_bytes + size >= max_bytes or entry_id >= self._near_end:
            return self._append_near_limit(entry_id, entry, fields, max_bytes)
        ids.append(entry_id)
        self.entries.append(entry)
        if shape is self.shape and size < LONG_ENTRY_BYTES:
            size -= self._surplus_bytes
        self._bound_bytes = bound_bytes + size
        self._uncounted += 1
        if self._uncounted >= MAX_UNCOUNTED:
            self.count_bytes()
        return True

    def _append_near_limit(
        self, entry_id: EntryID, entry: bytes, fields: list[bytes], max_bytes: int
    ) -> bool:
        """As `append`, where the exact size matters."""
        if not self._has_bytes_for(fields, max_bytes):
            return False
        self.ids.append(entry_id)
        self.entries.append(entry)
        # All before it are counted.
        added = entries_bytes(self.key, self.shape.names, [entry_id], [fields])
        self.entries_bytes += added
        self._bound_bytes += added
        return True

    def needs_counting(self, names: list[bytes], max_bytes: int) -> bool:
        """Whether as many entries as there are here, with these names, may come near the limit.

        By the last of them: it is a guess, for nodes to come.
        """
        size = len(self.entries[-1]) if self.entries else 0
        surplus_bytes = self._surplus_bytes if names == self.shape.names else 0
        count = len(self.ids) + self.deleted
        bound_bytes = self.shape.most_empty_node_bytes + count * (size - surplus_bytes)
        return bound_bytes + size >= (max_bytes or MAX_NODE_BYTES)

    def extend(self, more: Additions, start: int, max_entries: int, max_bytes: int) -> int:
        """As `append` for the entries from index `start` on, as many as fit: up to which index."""
        if not 0 < max_bytes <= MAX_NODE_BYTES:
            max_bytes = MAX_NODE_BYTES
        end = len(more.ids)
        if max_entries:
            end = min(end, start + max_entries - len(self.ids) - self.deleted)
        position = start
        if not self.counts_at_once:
            while position < end:
                before = position
                position = self._extend_within_bound(more, before, end, max_bytes)
                if position == before:
                    break
        while position < end:
            # The number of live entries is an integer in the listpack itself.
            live = len(self.ids)
            part_end = min(end, position + next_size(live) - live)
            position = self._extend_counted(more, position, part_end, max_bytes)
            if position < part_end:
                break
        return position

    def _extend_within_bound(self, more: Additions, start: int, end: int, max_bytes: int) -> int:
        """Take some of the entries before index `end` that surely fit: up to which."""
        entries, ids = more.entries, more.ids
        surplus_bytes = self._surplus_bytes if more.names == self.shape.names else 0
        # The last one is measured with its surplus, as each is in `append`.
        room_bytes = max_bytes - self._bound_bytes - surplus_bytes
        # So many at most are worth a look: the next ones are hardly half as long as the first.
        count = min(MAX_UNCOUNTED - self._uncounted, 2 * room_bytes // len(entries[start]) + 2)
        end = min(end, start + count)
        if end <= start or ids[end - 1] >= self._near_end:
            return start
        lengths = list(map(len, entries[start:end]))
        if max(lengths) >= LONG_ENTRY_BYTES:
            return start
        size = sum(lengths) - surplus_bytes * len(lengths)
        if size >= room_bytes:
            sizes = list(accumulate([length - surplus_bytes for length in lengths]))
            end = start + bisect_left(sizes, room_bytes)
            if end == start:
                return start
            size = sizes[end - start - 1]
        self.ids += ids[start:end]
        self.entries += entries[start:end]
        self._uncounted += end - start
        self._bound_bytes += size
        if self._uncounted >= MAX_UNCOUNTED:
            self.count_bytes()
        return end

    def _extend_counted(self, more: Additions, start: int, end: int, max_bytes: int) -> int:
        """Take those of the entries before index `end` that fit by their exact size: up to which.

        With each of them the number of live entries takes the same in a listpack.
        """
        totals = more.totals(self.shape.names)
        room_bytes = max_bytes - self.listpack_bytes() + totals[start]
        is_new = not self.ids and not self.deleted
        end = max(bisect_left(totals, room_bytes, start, end), start + 1)
        # What those before each take, and all together.
        of_ids = id_totals(self.key, more.ids, start, end)
        before = list(map(add, totals[start : end + 1], of_ids))
        # What Redis compares: the node as it is, and the new fields without their framing.
        stop = bisect_left(before, room_bytes - more.longest_bytes, is_new, end - start)
        while start + stop < end and before[stop] + more.fields_bytes(start + stop) < room_bytes:
            stop += 1
        self.ids += more.ids[start : start + stop]
        self.entries += more.entries[start : start + stop]
        self.entries_bytes += before[stop] - before[0]
        self._bound_bytes = self.entries_bytes + self.shape.most_empty_node_bytes
        return start + stop

    def _has_bytes_for(self, fields: list[bytes], max_bytes: int) -> bool:
        # What Redis compares: the node as it is, and the new fields without their framing.
        is_new = not self.ids and not self.deleted
        return is_new or self.listpack_bytes() + sum(map(len, fields)) < max_bytes

    def count_bytes(self) -> None:
        """Bring `entries_bytes` and the bound up to date."""
        names = self.shape.names
        if self._uncounted:
            ids, payload = self.ids[-self._uncounted :], b"".join(self.entries[-self._uncounted :])
            all_fields = decode_payload(payload, self._uncounted)
            self.entries_bytes += entries_bytes(self.key, names, ids, all_fields)
            self._uncounted = 0
        self._bound_bytes = self.entries_bytes + self.shape.most_empty_node_bytes

    def listpack_bytes(self) -> int:
        """The size of the node in Redis."""
        if self._uncounted:
            self.count_bytes()
        return self.entries_bytes + self.shape.empty_node_bytes(len(self.ids), self.deleted)

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
        """One encoded entry, or None."""
        index = bisect_left(self.ids, entry_id)
        if index < len(self.ids) and self.ids[index] == entry_id:
            return self.entries[index]
        return None

    def count_below(self, entry_id: EntryID) -> int:
        """How many live entries have smaller IDs."""
        return bisect_left(self.ids, entry_id)

    # -- losing --------------------------------------------------------------------------------

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
        if self._uncounted:
            self.count_bytes()
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
        if self._uncounted:
            self.count_bytes()
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
        twin._uncounted = self._uncounted
        twin._bound_bytes = self._bound_bytes
        return twin

    def memory_bytes(self) -> int:
        """An estimate of the memory that the node takes."""
        lists = sum(map(allocated_bytes, (self, self.ids, self.entries)))
        # The first ID is the key, as a rule.
        ids = max(1, len(self.ids)) * allocated_bytes(self.key)
        return lists + ids + sum(map(allocated_bytes, self.entries))
