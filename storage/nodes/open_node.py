"""A node with a buffer: the last one of a stream, or one that is empty or too large to freeze.

It has the methods of a FrozenNode (storage/nodes/frozen_node.py). In addition it knows when it is
full: when Redis would open a new node, because of the number of entries or the size of its
listpack. Both include deleted entries, as in Redis.

An `EntryBuffer` has the entries one after the other, with their IDs as numbers. An entry takes its
bytes and three numbers: the halves of its ID, and where it ends. No object is made of it until a
reader asks. Appending takes constant time on average, and so does removing the first entries;
removing others moves those after them. At least a quarter of the memory is used after a removal.

A copy shares the memory (copy on write). The space after the entries belongs to the buffer that was
copied, which still appends there; either one copies the memory before it changes anything else.

When a node is full, the next one of its stream takes over its buffer (`clear`). So the memory stays
in one place, and leaves no gaps between the nodes that are kept.
"""

from __future__ import annotations

from array import array
from itertools import accumulate

import cython

from storage.entries.entry import ENTRY_HEADER_BYTES, encode_entry, fields_header, fields_position
from storage.entries.entry_id import (
    MAX_ID,
    EntryID,
    EntryIDs,
    NodeIDs,
    id_ms,
    id_seq,
    make_id,
    pack_ids,
)
from storage.entries.packed_form import Form, Shape
from storage.memory import instance_bytes, int_object_bytes
from storage.redis_format.listpack_elements import (
    FLAGS_BYTES,
    FieldSizes,
    int64_bytes,
    integer_bytes,
)

if not cython.compiled:
    # Compiled, they are C functions, which the module's C types import.
    from storage.entries.entry_id import numbers_of
    from storage.memory import array_bytes, bytearray_bytes

# Many entries are read in parts of about this size, so that they can be sent in pieces.
PART_BYTES = 256 * 1024

_ENTRY_HEADER_BYTES: cython.Py_ssize_t = ENTRY_HEADER_BYTES


@cython.cclass
class EntryBuffer:
    """Entries in the order of their IDs. A place is an entry's position among them."""

    __slots__ = (
        "_end",
        "_ends",
        "_first",
        "_is_borrowed",
        "_is_lent",
        "_ms",
        "_seqs",
        "_start",
        "_text",
        "count",
    )

    def __init__(self) -> None:
        self.count = 0
        # Entries are in _text from _start to _end; their numbers begin at index _first.
        self._text = bytearray()
        self._start = self._end = 0
        self._first = 0
        self._ms: array[int] = array("Q")
        self._seqs: array[int] = array("Q")
        self._ends: array[int] = array("Q")
        self._is_lent = False  # whether a copy may read the memory
        self._is_borrowed = False  # whether it is that of another buffer

    def clear(self) -> None:
        """Remove all entries; the memory is kept, unless another buffer has it, too."""
        self.count = self._first = self._start = self._end = 0
        if self._is_lent or self._is_borrowed:
            self._own()

    # -- adding --------------------------------------------------------------------------------

    def append(
        self,
        ms: cython.ulonglong,
        seq: cython.ulonglong,
        id_bulk: bytes,
        fields: bytes,
        words: cython.Py_ssize_t,
    ) -> None:
        """Add an entry with this ID, above all others; `fields` are `words` bulk strings."""
        if not cython.compiled:
            self.append_encoded(ms, seq, encode_entry(id_bulk, fields, words))
            return
        header: bytes = fields_header(words)
        size: cython.Py_ssize_t = len(id_bulk) + len(header) + len(fields) + _ENTRY_HEADER_BYTES
        start: cython.Py_ssize_t = self._add_row(ms, seq, size)
        put_entry(self._text, start, id_bulk, header, fields)  # type: ignore[name-defined]  # noqa: F821

    def append_encoded(self, ms: cython.ulonglong, seq: cython.ulonglong, entry: bytes) -> None:
        """Add an entry with this ID, above all others, that is encoded already."""
        start: cython.Py_ssize_t = self._add_row(ms, seq, len(entry))
        self._text[start : start + len(entry)] = entry

    def fill(self, ids: list[EntryID], entries: list[bytes]) -> None:
        """Set the entries of an empty buffer."""
        self._text = bytearray(b"".join(entries))
        self._ms = array("Q", [id_ms(entry_id) for entry_id in ids])
        self._seqs = array("Q", [id_seq(entry_id) for entry_id in ids])
        self._ends = array("Q", accumulate(map(len, entries)))
        self.count = len(ids)
        self._end = len(self._text)

    @cython.cfunc
    def _add_row(
        self, ms: cython.ulonglong, seq: cython.ulonglong, size: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Add the numbers of an entry of `size` bytes; return the place for its bytes."""
        if self._is_borrowed:
            self._own()
        if self._end + size > len(self._text):
            self._make_room(size)
        if self._first + self.count == len(self._ends):
            self._make_room_for_numbers()
        index: cython.Py_ssize_t = self._first + self.count
        all_ms: cython.p_ulonglong = numbers_of(self._ms)
        seqs: cython.p_ulonglong = numbers_of(self._seqs)
        ends: cython.p_ulonglong = numbers_of(self._ends)
        start: cython.Py_ssize_t = self._end
        self._end = start + size
        all_ms[index] = ms
        seqs[index] = seq
        ends[index] = self._end
        self.count += 1
        return start

    @cython.cfunc
    def _make_room(self, size: cython.Py_ssize_t) -> None:
        """Make room for an entry: where others were removed, or in more memory."""
        if 2 * (self._end - self._start + size) <= len(self._text):
            self._move_down()
        room: cython.Py_ssize_t = len(self._text)
        if self._end + size <= room:
            return
        if cython.compiled:
            # Unlike extend(), it writes nothing there.
            PyByteArray_Resize(self._text, room + max(room // 2, size))  # type: ignore[name-defined]  # noqa: F821
        else:
            self._text.extend(bytes(max(room // 2, size)))

    @cython.cfunc
    def _move_down(self) -> None:
        """Move the entries to the beginning of the buffer."""
        if self._is_lent or self._is_borrowed:
            self._own()
            return
        used: cython.Py_ssize_t = self._end - self._start
        self._move_text(self._start, self._end, 0)
        ends: cython.p_ulonglong = numbers_of(self._ends)
        index: cython.Py_ssize_t
        for index in range(self._first, self._first + self.count):
            ends[index] -= self._start
        self._start = 0
        self._end = used

    @cython.cfunc
    def _move_text(
        self, start: cython.Py_ssize_t, end: cython.Py_ssize_t, to: cython.Py_ssize_t
    ) -> None:
        """Move a part of the text towards the beginning."""
        if cython.compiled:
            text: cython.p_uchar = self._text
            memmove(text + to, text + start, end - start)  # type: ignore[name-defined, operator]  # noqa: F821
        else:
            self._text[to : to + end - start] = self._text[start:end]

    @cython.cfunc
    def _own(self) -> None:
        """Take memory that no other buffer has, as much as the entries need."""
        start: cython.Py_ssize_t = self._start
        first: cython.Py_ssize_t = self._first
        last: cython.Py_ssize_t = first + self.count
        text = self._text[start : self._end]
        ms, seqs = self._ms[first:last], self._seqs[first:last]
        ends = array("Q", [end - start for end in self._ends[first:last]])
        self._text, self._ms, self._seqs, self._ends = text, ms, seqs, ends
        self._end -= start
        self._start = self._first = 0
        self._is_lent = self._is_borrowed = False

    @cython.cfunc
    def _make_room_for_numbers(self) -> None:
        """Make room for an entry's numbers: where others were removed, or in more memory."""
        if 2 * (self.count + 1) <= len(self._ends):
            self._move_numbers_down()
        room: cython.Py_ssize_t = len(self._ends)
        if self._first + self.count == room:
            for numbers in (self._ms, self._seqs, self._ends):
                numbers.frombytes(bytes(8 * max(1, room)))

    @cython.cfunc
    def _move_numbers_down(self) -> None:
        """Move the numbers to the beginning of their arrays."""
        if self._is_lent or self._is_borrowed:
            self._own()
            return
        all_ms: cython.p_ulonglong = numbers_of(self._ms)
        seqs: cython.p_ulonglong = numbers_of(self._seqs)
        ends: cython.p_ulonglong = numbers_of(self._ends)
        place: cython.Py_ssize_t
        for place in range(self.count):
            all_ms[place] = all_ms[self._first + place]
            seqs[place] = seqs[self._first + place]
            ends[place] = ends[self._first + place]
        self._first = 0

    # -- looking -------------------------------------------------------------------------------

    def id_at(self, place: cython.Py_ssize_t) -> EntryID:
        """The ID at a place."""
        all_ms: cython.p_ulonglong = numbers_of(self._ms)
        seqs: cython.p_ulonglong = numbers_of(self._seqs)
        return make_id(all_ms[self._first + place], seqs[self._first + place])

    def add_ids_to(self, ids: EntryIDs, low: cython.Py_ssize_t, high: cython.Py_ssize_t) -> None:
        """Append the IDs at places [low, high) to a row."""
        place: cython.Py_ssize_t
        for place in range(low, high):
            ids.add(self.id_at(place))

    def place_of(self, entry_id: EntryID) -> cython.Py_ssize_t:
        """The place of the first entry with an ID not below this one."""
        ms: cython.ulonglong = id_ms(entry_id)
        seq: cython.ulonglong = id_seq(entry_id)
        all_ms: cython.p_ulonglong = numbers_of(self._ms)
        seqs: cython.p_ulonglong = numbers_of(self._seqs)
        low: cython.Py_ssize_t = self._first
        high: cython.Py_ssize_t = self._first + self.count
        middle: cython.Py_ssize_t
        while low < high:
            middle = (low + high) >> 1
            if all_ms[middle] < ms or (all_ms[middle] == ms and seqs[middle] < seq):
                low = middle + 1
            else:
                high = middle
        return low - self._first

    @cython.cfunc
    def _start_of(self, place: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Where an entry begins in the buffer, or the last one ends."""
        if place == 0:
            return self._start
        ends: cython.p_ulonglong = numbers_of(self._ends)
        end: cython.Py_ssize_t = ends[self._first + place - 1]
        return end

    @property
    def size_bytes(self) -> int:
        """The size of all entries."""
        return self._end - self._start

    @property
    def room_bytes(self) -> int:
        """The size of the buffer: entries of up to this size need no more memory."""
        return len(self._text)

    def part(self, low: cython.Py_ssize_t, high: cython.Py_ssize_t) -> bytes:
        """The entries at places [low, high), one after the other."""
        start: cython.Py_ssize_t = self._start_of(low)
        end: cython.Py_ssize_t = self._start_of(high)
        text: cython.p_uchar = self._text
        return bytes(text[start:end])

    def parts(self, low: cython.Py_ssize_t, high: cython.Py_ssize_t) -> list[bytes]:
        """part(), in parts of about PART_BYTES each."""
        parts: list[bytes] = []
        end: cython.Py_ssize_t
        while self._start_of(high) - self._start_of(low) > PART_BYTES:
            end = min(high, low + self.count_within(low, PART_BYTES))
            parts.append(self.part(low, end))
            low = end
        if low < high:
            parts.append(self.part(low, high))
        return parts

    def count_within(self, low: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Return the number of entries from `low` on that make up `size` bytes or more.

        If all of them have fewer bytes, it is the number of all.
        """
        start: cython.Py_ssize_t = self._start_of(low)
        place: cython.Py_ssize_t = low
        while place < self.count and self._start_of(place) - start < size:
            place += 1
        return place - low

    def entries(self, low: cython.Py_ssize_t, high: cython.Py_ssize_t) -> list[bytes]:
        """The entries at places [low, high), each by itself."""
        return [self.part(place, place + 1) for place in range(low, high)]

    def text(self) -> bytearray:
        """The buffer itself, whose first `size_bytes` are the entries. Not to be changed."""
        if self._start:
            self._move_down()
        return self._text

    def lengths(self) -> list[int]:
        """The size of each entry."""
        return [self._start_of(place + 1) - self._start_of(place) for place in range(self.count)]

    @property
    def common_length(self) -> int:
        """The size of each entry if they have the same, 0 if not or if there is none."""
        length: cython.Py_ssize_t = self.size_bytes // max(1, self.count)
        place: cython.Py_ssize_t
        for place in range(self.count):
            if self._start_of(place + 1) - self._start_of(place) != length:
                return 0
        return length

    def pack_ids(self, key: EntryID) -> NodeIDs:
        """The compact form of all IDs, at least one, for the node with this key."""
        return pack_ids(key, self._ms, self._seqs, self._first, self.count)

    # -- removing ------------------------------------------------------------------------------

    def remove(self, low: cython.Py_ssize_t, high: cython.Py_ssize_t) -> None:
        """Remove the entries at places [low, high)."""
        if low == 0:
            self._start = self._start_of(high)
            self._first += high
            self.count -= high
            self._shrink()
        elif low < high:
            self.remove_all(list(range(low, high)))

    def remove_all(self, places: list[int]) -> None:
        """Remove the entries at these places, at least one, which ascend."""
        if self._is_lent or self._is_borrowed:
            self._own()
        place: cython.Py_ssize_t = places[0]  # where the next entries that stay belong
        end: cython.Py_ssize_t = self._start_of(place)
        index: cython.Py_ssize_t
        low: cython.Py_ssize_t
        high: cython.Py_ssize_t
        for index in range(len(places)):
            low = places[index] + 1
            high = places[index + 1] if index + 1 < len(places) else self.count
            if low < high:
                end = self._move(low, high, place, end)
                place += high - low
        self.count = place
        self._end = end
        self._shrink()

    @cython.cfunc
    def _move(
        self,
        low: cython.Py_ssize_t,
        high: cython.Py_ssize_t,
        place: cython.Py_ssize_t,
        to: cython.Py_ssize_t,
    ) -> cython.Py_ssize_t:
        """Move the entries at [low, high) to a lower place, which begins at `to`; their end."""
        start: cython.Py_ssize_t = self._start_of(low)
        stop: cython.Py_ssize_t = self._start_of(high)
        all_ms: cython.p_ulonglong = numbers_of(self._ms)
        seqs: cython.p_ulonglong = numbers_of(self._seqs)
        ends: cython.p_ulonglong = numbers_of(self._ends)
        self._move_text(start, stop, to)
        source: cython.Py_ssize_t
        target: cython.Py_ssize_t = self._first + place
        for source in range(self._first + low, self._first + high):
            all_ms[target] = all_ms[source]
            seqs[target] = seqs[source]
            ends[target] = ends[source] - (start - to)
            target += 1
        return to + stop - start

    @cython.cfunc
    def _shrink(self) -> None:
        """Give up memory of which little is used.

        Some room is kept: or adding and removing in turn would take more than constant time.
        """
        if 4 * (self._end - self._start) < len(self._text):
            self._move_down()
            del self._text[2 * self._end :]
        if 4 * self.count < len(self._ends):
            self._move_numbers_down()
            for numbers in (self._ms, self._seqs, self._ends):
                del numbers[2 * self.count :]

    def fit(self) -> None:
        """Give up memory for more entries, if that is much: nothing is added any more."""
        if 8 * (self._end - self._start) < 7 * len(self._text):
            self._own()

    # -- the whole -----------------------------------------------------------------------------

    def copy(self) -> EntryBuffer:
        """An independent one with the same entries; takes constant time."""
        twin = EntryBuffer()
        twin.count, twin._first, twin._start, twin._end = (
            self.count, self._first, self._start, self._end,
        )  # fmt: skip
        twin._text = self._text
        twin._ms, twin._seqs, twin._ends = self._ms, self._seqs, self._ends
        twin._is_borrowed = True
        self._is_lent = True
        return twin

    def memory_bytes(self) -> int:
        """The memory in bytes."""
        size: cython.long = _BUFFER_BYTES + bytearray_bytes(self._text)
        return size + array_bytes(self._ms) + array_bytes(self._seqs) + array_bytes(self._ends)


_BUFFER_BYTES: cython.long = instance_bytes(EntryBuffer)


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
        ms_difference: cython.long = cython.cast(cython.long, ms - self._key_ms)
        seq_difference: cython.long = cython.cast(cython.long, seq - self._key_seq)
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
        ids: cython.long = 1 if self.lost_end is self.key else 2
        return _NODE_BYTES + ids * _ID_BYTES + self._buffer.memory_bytes()


_NODE_BYTES: cython.long = instance_bytes(OpenNode)
_ID_BYTES: cython.long = int_object_bytes(MAX_ID)
