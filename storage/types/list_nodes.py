"""A node of a list: consecutive elements, in the bytes of a listpack.

The elements of a node are in the middle of a buffer with some room at either end, so that pushing
at the left moves nothing, either. A pop leaves room there. A copy shares the buffer; whichever
changes its bytes first takes a buffer of its own (copy on write).

Redis stores as many elements in a node as `list-max-listpack-size` allows; an element that is
larger than a node has a node of its own ("plain"). So do nodes here: they end where Redis's end,
because OBJECT ENCODING and DUMP show it, and take what Redis's take. That directive is called
`fill`: -1 to -5 allow nodes of 4 to 64 KiB, a positive number allows that many elements, of 8 KiB
at most.

Source: Redis 7.2 and later, where large means larger than a node.
"""

from __future__ import annotations

from collections.abc import Iterable

import cython

from storage.memory import instance_bytes
from storage.redis_format.listpack import END, HEADER
from storage.redis_format.listpack_elements import (
    BULK_FRAME_BYTES,
    ELEMENT_FRAME_BYTES,
    EMPTY_LISTPACK_BYTES,
    UNCOUNTED,
    element_bytes,
)

if not cython.compiled:
    # Compiled, they are C functions, which the module's C types import.
    from storage.memory import (
        bytearray_bytes,
        bytes_object_bytes,
        move_bytes,
        put_bytes,
    )
    from storage.redis_format.listpack_elements import (
        count_plain,
        next_equal,
        place_after,
        place_before,
        put_bulks,
        word_at,
        words_at,
        write_word,
    )

_SMALLEST_NODE_BYTES: cython.Py_ssize_t = 4096  # for -1; for each next one twice as many
_MOST_DOUBLINGS: cython.long = 4
# A node of more bytes takes no further element, whatever the limit on elements.
_COUNTED_NODE_BYTES: cython.Py_ssize_t = 8192
_NO_LIMIT: cython.Py_ssize_t = 1 << 62
# The overhead that Redis assumes for an element before it computes the exact one.
_ELEMENT_MARGIN_BYTES: cython.Py_ssize_t = 8

_HEADER_BYTES: cython.Py_ssize_t = HEADER.size
_EMPTY_BYTES: cython.Py_ssize_t = EMPTY_LISTPACK_BYTES
_FRAME_BYTES: cython.Py_ssize_t = ELEMENT_FRAME_BYTES
_BULK_BYTES: cython.Py_ssize_t = BULK_FRAME_BYTES
# A buffer is no smaller because of what could be spared.
_SMALL_BYTES: cython.Py_ssize_t = 128
_LEAST_ROOM_BYTES: cython.Py_ssize_t = 16

# Where replies are written before their size is known, used again unless it is as large as that.
_KEPT_BYTES: cython.Py_ssize_t = 1 << 18


@cython.cclass
class _Scratch:
    """Memory to write to."""

    def __init__(self) -> None:
        self.memory = bytearray()


_SCRATCH: _Scratch = _Scratch()


@cython.no_gc  # it refers to bytes only
@cython.cclass
class ListNode:
    """Consecutive elements. `start` is the position of the first, in its list's numbering.

    `count`: how many there are. `plain`: the element of a node that is no listpack, else None.
    """

    __slots__ = ("_high", "_is_shared", "_low", "_text", "count", "plain", "start")

    def __init__(self, items: Iterable[bytes] = (), start: int = 0) -> None:
        self._text = bytearray()  # the elements are in it from _low to _high
        self._low = self._high = 0
        self._is_shared = False  # whether another node may read the buffer
        self.count = 0
        self.plain: bytes | None = None
        self.start = start
        for item in items:
            self.append(item)

    @classmethod
    def of(cls, item: bytes, fill: int) -> ListNode:
        """A new node for one element."""
        return cls.of_plain(item) if is_large(item, fill) else cls([item])

    @classmethod
    def of_plain(cls, item: bytes) -> ListNode:
        """A new node for one element that is not in a listpack."""
        made: ListNode = cls()
        made.plain, made.count = item, 1
        return made

    def __len__(self) -> int:
        return self.count

    @property
    def is_plain(self) -> bool:
        """True if there is one element, which is not in a listpack."""
        return self.plain is not None

    def size_bytes(self) -> cython.Py_ssize_t:
        """The size of the listpack, or of the element that is in none."""
        if self.plain is not None:
            return len(self.plain)
        return _EMPTY_BYTES + self._high - self._low

    def memory_bytes(self) -> int:
        """The memory in bytes."""
        size: cython.long = _NODE_BYTES + bytearray_bytes(self._text)
        return size if self.plain is None else size + bytes_object_bytes(len(self.plain))

    def copy(self) -> ListNode:
        """Another node with the same elements; takes constant time."""
        twin: ListNode = ListNode.__new__(ListNode)
        twin._text, twin._low, twin._high = self._text, self._low, self._high
        twin._is_shared = self._is_shared = True
        twin.count, twin.plain, twin.start = self.count, self.plain, self.start
        return twin

    # -- as a listpack -------------------------------------------------------------------------

    @classmethod
    def of_listpack(cls, blob: bytes) -> ListNode | None:
        """A node of a listpack; None unless it is as it would be written here, byte by byte."""
        count: cython.Py_ssize_t = -1
        size: cython.Py_ssize_t = len(blob)
        if size >= EMPTY_LISTPACK_BYTES and blob[size - 1 :] == END:
            count = count_plain(blob, _HEADER_BYTES, size - 1)
        if count < 0 or HEADER.unpack_from(blob) != (size, min(count, UNCOUNTED)):
            return None
        return cls.of_elements(blob[HEADER.size : size - 1], count)

    @classmethod
    def of_elements(cls, elements: bytes, count: int) -> ListNode:
        """A node of `count` elements, encoded as in a listpack."""
        made: ListNode = cls()
        made._text = bytearray(elements)
        made._high = len(elements)
        made.count = count
        return made

    def elements(self) -> bytes:
        """The elements of a node that is not plain, as in a listpack."""
        return bytes(self._text[self._low : self._high])

    def listpack(self) -> bytes:
        """The elements of a node that is not plain, as a listpack."""
        header = HEADER.pack(self.size_bytes(), min(self.count, UNCOUNTED))
        return header + self.elements() + END

    # -- reading -------------------------------------------------------------------------------

    def _place_of(self, offset: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Where the element at `offset` is in the buffer, or the last one ends."""
        text: cython.p_uchar = self._text
        if 2 * offset <= self.count:
            return place_after(text, self._low, offset)  # type: ignore[arg-type]
        return place_before(text, self._high, self.count - offset)  # type: ignore[arg-type]

    @property
    def items(self) -> list[bytes]:
        """All elements."""
        return self.slice(0, self.count)

    def at(self, offset: cython.Py_ssize_t) -> bytes:
        """The element at `offset`."""
        if self.plain is not None:
            return self.plain
        text: cython.p_uchar = self._text
        return word_at(text, self._place_of(offset))  # type: ignore[arg-type]

    def slice(self, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> list[bytes]:
        """The elements from `start` to before `end`."""
        if self.plain is not None:
            return [self.plain] if start < end else []
        if end - start == 1:
            return [self.at(start)]
        text: cython.p_uchar = self._text
        return words_at(text, self._place_of(start), end - start)  # type: ignore[arg-type]

    def bulks(self, head: bytes, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> bytes:
        """The elements from `start` to before `end` as bulk strings, after some bytes."""
        if self.plain is not None:
            return b"%b$%d\r\n%b\r\n" % (head, len(self.plain), self.plain)
        text: cython.p_uchar = self._text
        place: cython.Py_ssize_t = self._place_of(start)
        size: cython.Py_ssize_t = self._high - place
        if end != self.count:
            size = place_after(text, place, end - start) - place  # type: ignore[arg-type]
        return bulks_at(head, text, place, size, end - start)  # type: ignore[arg-type]

    def offsets(self, item: bytes) -> list[int]:
        """The offsets of `item`, ascending."""
        if self.plain is not None:
            return [0] if self.plain == item else []
        found: list[int] = []
        element = encoded(item)
        text: cython.p_uchar = self._text
        place: cython.Py_ssize_t = self._low
        offset: cython.Py_ssize_t = 0
        skipped: cython.Py_ssize_t
        while True:
            skipped = next_equal(text, place, self._high, element)  # type: ignore[arg-type]
            if skipped < 0:
                return found
            offset += skipped
            found.append(offset)
            place = place_after(text, place, skipped + 1)  # type: ignore[arg-type]
            offset += 1

    def admits(self, item: bytes, fill: cython.long) -> bool:
        """Return True if Redis would put one more element into this node."""
        limit: cython.Py_ssize_t = max_bytes(fill)
        length: cython.Py_ssize_t = len(item)
        if length > limit or self.size_bytes() + length + _ELEMENT_MARGIN_BYTES > limit:
            return False
        return self.plain is None and self.count < max_count(fill)

    def admits_all_of(self, other: ListNode, fill: int) -> bool:
        """Return True if Redis would merge these two nodes."""
        if self.plain is not None or other.plain is not None:
            return False
        size_bytes = self.size_bytes() + other.size_bytes() - EMPTY_LISTPACK_BYTES
        return not exceeds(fill, size_bytes, self.count + other.count)

    # -- adding --------------------------------------------------------------------------------

    @cython.cfunc
    def _make_room(self, size: cython.Py_ssize_t, in_front: cython.bint) -> None:
        """Make room for `size` bytes at one end, in a buffer that no other node reads.

        What is left of the room is shared by both ends, so that pushes at both in turn seldom move
        the elements; a larger buffer has all of it where it is needed. It is taken before little is
        left, so that a queue that pops as much as it pushes seldom moves them, either.
        """
        used: cython.Py_ssize_t = self._high - self._low
        room: cython.Py_ssize_t = len(self._text)
        low: cython.Py_ssize_t
        text: cython.p_uchar
        if self._is_shared or used + size + (used >> 4) > room:
            room = used + size + max(used >> 2, _LEAST_ROOM_BYTES)
            low = room - used if in_front else 0
            self._move_to(room, low)
            return
        low = (room - used - size) >> 1
        if in_front:
            low += size
        text = self._text
        move_bytes(text, self._low, self._high, low)
        self._low, self._high = low, low + used

    @cython.cfunc
    def _move_to(self, room: cython.Py_ssize_t, low: cython.Py_ssize_t) -> None:
        """Take a buffer of `room` bytes, and put the elements there at `low`."""
        used: cython.Py_ssize_t = self._high - self._low
        if cython.compiled:
            memory: bytearray = PyByteArray_FromStringAndSize(cython.NULL, room)  # type: ignore[name-defined, attr-defined]  # noqa: F821
        else:
            memory = bytearray(room)
        text: cython.p_uchar = memory
        former: cython.p_uchar = self._text
        put_bytes(text, low, former, self._low, used)  # type: ignore[arg-type]
        self._text = memory
        self._low, self._high = low, low + used
        self._is_shared = False

    def append(self, item: bytes) -> None:
        """Put an element at the end."""
        room: cython.Py_ssize_t = len(item) + _FRAME_BYTES
        if self._is_shared or self._high + room > len(self._text):
            self._make_room(room, False)
        text: cython.p_uchar = self._text
        self._high = write_word(text, self._high, item, 0, len(item))
        self.count += 1

    def prepend(self, item: bytes) -> None:
        """Put an element at the beginning."""
        size: cython.Py_ssize_t = element_bytes(item)
        if self._is_shared or self._low < size:
            self._make_room(size, True)
        text: cython.p_uchar = self._text
        self._low -= size
        write_word(text, self._low, item, 0, len(item))
        self.count += 1

    def insert(self, offset: cython.Py_ssize_t, item: bytes) -> None:
        """Put an element before the one at `offset`."""
        if offset == 0:
            self.prepend(item)
            return
        if offset == self.count:
            self.append(item)
            return
        size: cython.Py_ssize_t = element_bytes(item)
        if self._is_shared or self._high + size > len(self._text):
            self._make_room(size, False)
        place: cython.Py_ssize_t = self._place_of(offset)
        text: cython.p_uchar = self._text
        move_bytes(text, place, self._high, place + size)
        write_word(text, place, item, 0, len(item))
        self._high += size
        self.count += 1

    def extend(self, items: list[bytes]) -> None:
        """Put elements at the end."""
        item: bytes
        for item in items:
            self.append(item)

    def extend_left(self, items: list[bytes]) -> None:
        """Put elements at the beginning, one after the other: the last one is the first then."""
        item: bytes
        for item in items:
            self.prepend(item)

    def join(self, other: ListNode) -> None:
        """Put the elements of another node at the end; neither of them is plain."""
        size: cython.Py_ssize_t = other._high - other._low
        if self._is_shared or self._high + size > len(self._text):
            self._make_room(size, False)
        text: cython.p_uchar = self._text
        source: cython.p_uchar = other._text
        self._high = put_bytes(text, self._high, source, other._low, size)  # type: ignore[arg-type]
        self.count += other.count

    def replace(self, offset: cython.Py_ssize_t, item: bytes) -> None:
        """Put an element in the place of another. A plain node stays one."""
        if self.plain is not None:
            self.plain = item
            return
        text: cython.p_uchar = self._text
        at: cython.Py_ssize_t = self._place_of(offset) - self._low
        former: cython.Py_ssize_t = place_after(text, self._low + at, 1) - self._low - at  # type: ignore[arg-type]
        size: cython.Py_ssize_t = element_bytes(item)
        if self._is_shared or self._high + size > len(self._text):
            self._make_room(size, False)
        text = self._text
        place: cython.Py_ssize_t = self._low + at
        move_bytes(text, place + former, self._high, place + size)
        write_word(text, place, item, 0, len(item))
        self._high += size - former

    # -- removing ------------------------------------------------------------------------------

    def drop(self, offsets: list[int]) -> None:
        """Remove the elements at `offsets`, at least one, which ascend."""
        if self._is_shared:
            self._move_to(self._high - self._low, 0)
        text: cython.p_uchar = self._text
        offset: cython.Py_ssize_t = offsets[0]
        to: cython.Py_ssize_t = self._place_of(offset)  # where the next ones that stay belong
        place: cython.Py_ssize_t = to
        start: cython.Py_ssize_t
        index: cython.Py_ssize_t
        for index in range(len(offsets)):
            start = place_after(text, place, 1)  # type: ignore[arg-type]
            place = self._high
            if index + 1 < len(offsets):
                following: cython.Py_ssize_t = offsets[index + 1]
                place = place_after(text, start, following - offset - 1)  # type: ignore[arg-type]
                offset = following
            move_bytes(text, start, place, to)
            to += place - start
        self._high = to
        self.count -= len(offsets)

    def take(self, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> list[bytes]:
        """Remove the first elements (`start` is 0) or the last ones, and return them."""
        taken = self.slice(start, end)
        self.cut(start, end)
        return taken

    def cut(self, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> None:
        """Remove the first elements (`start` is 0) or the last ones."""
        if self.plain is not None:
            if start < end:
                self.count, self.plain = 0, None
            return
        if start == 0:
            self._low = self._place_of(end)
        else:
            self._high = self._place_of(start)
        self.count -= end - start
        used: cython.Py_ssize_t = self._high - self._low
        if len(self._text) > _SMALL_BYTES and 4 * used < len(self._text):
            self._move_to(used + (used >> 2), 0)

    def split(self, offset: cython.Py_ssize_t) -> ListNode:
        """Keep the elements before `offset`; the others as a node of their own."""
        rest = ListNode()
        text: cython.p_uchar = self._text
        place: cython.Py_ssize_t = self._place_of(offset)
        rest._text = bytearray(text[place : self._high])
        rest._high = self._high - place
        rest.count = self.count - offset
        self.cut(offset, self.count)
        return rest

    def fit(self) -> None:
        """Give up the room at the ends: no elements are pushed here any more."""
        used: cython.Py_ssize_t = self._high - self._low
        if len(self._text) != used and self.plain is None:
            self._move_to(used, 0)


def bulks_at(
    head: bytes,
    text: cython.p_const_uchar,
    place: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
) -> bytes:
    """The elements at a place of a listpack, `size` bytes, as bulk strings after some bytes."""
    room: cython.Py_ssize_t = len(head) + size + _BULK_BYTES * count
    if len(_SCRATCH.memory) < room or len(_SCRATCH.memory) > _KEPT_BYTES:
        _SCRATCH.memory = bytearray(room)
    out: cython.p_uchar = _SCRATCH.memory
    at: cython.Py_ssize_t = put_bytes(out, 0, head, 0, len(head))
    at = put_bulks(out, at, text, place, count)
    if cython.compiled:
        return out[:at]  # type: ignore[return-value]
    return bytes(out[:at])


_NODE_BYTES: cython.long = instance_bytes(ListNode)


def encoded(item: bytes) -> bytes:
    """An element in the bytes of a listpack."""
    memory = bytearray(len(item) + _FRAME_BYTES)
    out: cython.p_uchar = memory
    end: cython.Py_ssize_t = write_word(out, 0, item, 0, len(item))
    return bytes(memory[:end])


def nodes_of(items: Iterable[bytes], fill: int) -> list[ListNode]:
    """The nodes that Redis has once these elements were put at the end of a list, one by one."""
    made: list[ListNode] = []
    last: ListNode | None = None
    item: bytes
    for item in items:
        if last is None or not last.admits(item, fill):
            if last is not None:
                last.fit()
            last = ListNode.of(item, fill)
            made.append(last)
        else:
            last.append(item)
    return made


def max_bytes(fill: cython.long) -> cython.Py_ssize_t:
    """The maximum of bytes of a node."""
    if fill < 0:
        limit: cython.Py_ssize_t = _SMALLEST_NODE_BYTES << min(-fill - 1, _MOST_DOUBLINGS)
        return limit
    return _COUNTED_NODE_BYTES


def max_count(fill: cython.long) -> cython.Py_ssize_t:
    """The maximum of elements of a node: more than fit into its bytes if that is the limit."""
    return _NO_LIMIT if fill < 0 else max(fill, 1)


def exceeds(fill: cython.long, size_bytes: cython.Py_ssize_t, count: cython.Py_ssize_t) -> bool:
    """Return True if a node of this size and number of elements exceeds the limits."""
    return size_bytes > max_bytes(fill) or count > max_count(fill)


def is_large(item: bytes, fill: int) -> bool:
    """Return True if an element has a node to itself."""
    return len(item) > max_bytes(fill)
