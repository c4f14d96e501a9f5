"""The entries of an open node, one after the other in one buffer, with their IDs as numbers.

An entry takes its bytes and three numbers: the halves of its ID, and where it ends. No object is
made of it until a reader asks. Appending takes constant time on average, and so does removing the
first entries; removing others moves those behind them. At least a quarter of the memory is used
after a removal.

When a node is full, the next one of its stream takes over its buffer (`clear`). The memory stays in
one place, so that it leaves no gaps between the nodes that are kept.
"""

from __future__ import annotations

from array import array

try:
    import cython
except ImportError:
    from protocol import uncompiled as cython  # type: ignore[no-redef]

from storage.entries.entry import ENTRY_HEADER_BYTES, encode_entry, fields_header
from storage.entries.entry_id import EntryID, id_ms, id_seq, make_id
from storage.entries.id_columns import NodeIDs, pack_ids
from storage.object_size import allocated_bytes

if not cython.compiled:
    # Compiled, it returns a pointer, and the module's C types import it.
    from storage.entries.id_columns import numbers_of

# A longer buffer is not kept for the next node.
MAX_KEPT_BYTES = 64 * 1024

_HEADER_BYTES: cython.Py_ssize_t = ENTRY_HEADER_BYTES


@cython.cclass
class EntryBuffer:
    """Entries in the order of their IDs. A place is an entry's position among them."""

    __slots__ = ("_end", "_ends", "_first", "_ms", "_seqs", "_start", "_text", "count")

    def __init__(self) -> None:
        self.count = 0
        # Entries are in _text from _start to _end; their numbers begin at index _first.
        self._text = bytearray()
        self._start = self._end = 0
        self._first = 0
        self._ms: array[int] = array("Q")
        self._seqs: array[int] = array("Q")
        self._ends: array[int] = array("Q")

    def clear(self) -> None:
        """Remove all entries; the memory is kept, unless it is unusually much."""
        self.count = self._first = self._start = self._end = 0
        if len(self._text) > MAX_KEPT_BYTES:
            self._text = bytearray()

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
        size: cython.Py_ssize_t = len(id_bulk) + len(header) + len(fields) + _HEADER_BYTES
        start: cython.Py_ssize_t = self._add_row(ms, seq, size)
        put_entry(self._text, start, id_bulk, header, fields)  # type: ignore[name-defined]  # noqa: F821

    def append_encoded(self, ms: cython.ulonglong, seq: cython.ulonglong, entry: bytes) -> None:
        """The same of an encoded entry."""
        start: cython.Py_ssize_t = self._add_row(ms, seq, len(entry))
        self._text[start : start + len(entry)] = entry

    @cython.cfunc
    def _add_row(
        self, ms: cython.ulonglong, seq: cython.ulonglong, size: cython.Py_ssize_t
    ) -> cython.Py_ssize_t:
        """Add an entry of `size` bytes that are not there yet; where they belong."""
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
        used: cython.Py_ssize_t = self._end - self._start
        room: cython.Py_ssize_t = len(self._text)
        if 2 * (used + size) > room:
            self._text.extend(bytes(max(room // 2, size)))
            return
        self._move_down()

    @cython.cfunc
    def _move_down(self) -> None:
        """Move the entries to the beginning of the buffer."""
        used: cython.Py_ssize_t = self._end - self._start
        self._text[:used] = self._text[self._start : self._end]
        ends: cython.p_ulonglong = numbers_of(self._ends)
        index: cython.Py_ssize_t
        for index in range(self._first, self._first + self.count):
            ends[index] -= self._start
        self._start = 0
        self._end = used

    @cython.cfunc
    def _make_room_for_numbers(self) -> None:
        """The same for the numbers of an entry."""
        room: cython.Py_ssize_t = len(self._ends)
        if 2 * (self.count + 1) > room:
            for numbers in (self._ms, self._seqs, self._ends):
                numbers.frombytes(bytes(8 * max(1, room)))
        else:
            self._move_numbers_down()

    @cython.cfunc
    def _move_numbers_down(self) -> None:
        """Move the numbers to the beginning of their arrays."""
        for numbers in (self._ms, self._seqs, self._ends):
            numbers[: self.count] = numbers[self._first : self._first + self.count]
        self._first = 0

    # -- looking -------------------------------------------------------------------------------

    def id_at(self, place: cython.Py_ssize_t) -> EntryID:
        """The ID at a place."""
        all_ms: cython.p_ulonglong = numbers_of(self._ms)
        seqs: cython.p_ulonglong = numbers_of(self._seqs)
        return make_id(all_ms[self._first + place], seqs[self._first + place])

    def ids(self, low: cython.Py_ssize_t, high: cython.Py_ssize_t) -> list[EntryID]:
        """The IDs at places [low, high)."""
        return [self.id_at(place) for place in range(low, high)]

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

    def part(self, low: cython.Py_ssize_t, high: cython.Py_ssize_t) -> bytes:
        """The entries at places [low, high), one after the other."""
        start: cython.Py_ssize_t = self._start_of(low)
        end: cython.Py_ssize_t = self._start_of(high)
        text: cython.p_uchar = self._text
        return bytes(text[start:end])

    def text(self) -> bytearray:
        """The buffer itself: its first `size_bytes` are the entries. Not to be changed."""
        if self._start:
            self._move_down()
        return self._text

    def entries(self, low: cython.Py_ssize_t, high: cython.Py_ssize_t) -> list[bytes]:
        """The same, each by itself."""
        return [self.part(place, place + 1) for place in range(low, high)]

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
        else:
            self._close_gap(low, high)
        self.count -= high - low
        # So that to add and to remove in turn takes constant time, some is kept.
        if 4 * (self._end - self._start) < len(self._text):
            self._move_down()
            del self._text[2 * self._end :]
        if 4 * self.count < len(self._ends):
            self._move_numbers_down()
            for numbers in (self._ms, self._seqs, self._ends):
                del numbers[2 * self.count :]

    @cython.cfunc
    def _close_gap(self, low: cython.Py_ssize_t, high: cython.Py_ssize_t) -> None:
        """Move what is behind the entries at places [low, high) to where they are."""
        start: cython.Py_ssize_t = self._start_of(low)
        end: cython.Py_ssize_t = self._start_of(high)
        first: cython.Py_ssize_t = self._first + low
        behind: cython.Py_ssize_t = self.count - high
        self._text[start : start + self._end - end] = self._text[end : self._end]
        self._end -= end - start
        for numbers in (self._ms, self._seqs, self._ends):
            numbers[first : first + behind] = numbers[self._first + high : self._first + self.count]
        ends: cython.p_ulonglong = numbers_of(self._ends)
        index: cython.Py_ssize_t
        for index in range(first, first + behind):
            ends[index] -= end - start

    # -- the whole -----------------------------------------------------------------------------

    def copy(self) -> EntryBuffer:
        """An independent one with the same entries."""
        twin = EntryBuffer()
        twin.count, twin._first, twin._start, twin._end = (
            self.count, self._first, self._start, self._end,
        )  # fmt: skip
        twin._text = self._text[:]
        twin._ms, twin._seqs, twin._ends = self._ms[:], self._seqs[:], self._ends[:]
        return twin

    def memory_bytes(self) -> int:
        """The memory in bytes."""
        return sum(map(allocated_bytes, (self, self._text, self._ms, self._seqs, self._ends)))
