"""A list: elements in order, pushed and popped at both ends.

The elements are in nodes (a quicklist), each in the bytes of a listpack. Each node knows the
position of its first element, in a numbering that extends below zero with pushes at the left, so
that a push never renumbers nodes: both ends take constant time, and an element in the middle is
found by bisection and a walk in its node. Only insertions and removals in the middle (LINSERT,
LREM) renumber the nodes; they have walked over them anyway.

Redis stores as many elements in a node as `list-max-listpack-size` allows; an element that is
larger than a node has a node of its own ("plain"). So do nodes here: they end where Redis's end,
because OBJECT ENCODING and DUMP show it, and take what Redis's take. That directive is called
`fill`: -1 to -5 allow nodes of 4 to 64 KiB, a positive number allows that many elements, of 8 KiB
at most.

The elements of a node are in the middle of a buffer with some room at either end, so that pushing
at the left moves nothing, either. A pop leaves room there. A copy shares the buffer; whichever
changes its bytes first takes a buffer of its own (copy on write).

A short list is a single node with the encoding listpack, as in Redis since 7.2. A long one has the
encoding quicklist, and becomes a listpack again once it has shrunk to half of a node's limit.

Leaves out: empty lists; commands remove the key.

Source: Redis 7.2 and later, where large means larger than a node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import cython

from storage.keyspace.deferred_free import NO_WASTE, RemovedData
from storage.memory import instance_bytes
from storage.redis_format.encoding_limits import EncodingLimits
from storage.redis_format.listpack import END, HEADER
from storage.redis_format.listpack_elements import (
    BULK_FRAME_BYTES,
    ELEMENT_FRAME_BYTES,
    EMPTY_LISTPACK_BYTES,
    UNCOUNTED,
    element_bytes,
)
from storage.types.value import Value

if not cython.compiled:
    # Compiled, they are C functions, which the module's C types import.
    from storage.memory import (
        bytearray_bytes,
        bytes_object_bytes,
        list_bytes,
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
        made: ListNode = cls()
        made._text = bytearray(blob[HEADER.size : size - 1])
        made._high = len(made._text)
        made.count = count
        return made

    def listpack(self) -> bytes:
        """The elements of a node that is not plain, as a listpack."""
        header = HEADER.pack(self.size_bytes(), min(self.count, UNCOUNTED))
        return header + bytes(self._text[self._low : self._high]) + END

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
        room: cython.Py_ssize_t = len(head) + size + _BULK_BYTES * (end - start)
        if len(_SCRATCH.memory) < room or len(_SCRATCH.memory) > _KEPT_BYTES:
            _SCRATCH.memory = bytearray(room)
        out: cython.p_uchar = _SCRATCH.memory
        at: cython.Py_ssize_t = put_bytes(out, 0, head, 0, len(head))
        at = put_bulks(out, at, text, place, end - start)  # type: ignore[arg-type]
        if cython.compiled:
            return out[:at]  # type: ignore[return-value]
        return bytes(out[:at])

    def offsets(self, item: bytes) -> list[int]:
        """The offsets of `item`, ascending."""
        if self.plain is not None:
            return [0] if self.plain == item else []
        found: list[int] = []
        element = _encoded(item)
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


_NODE_BYTES: cython.long = instance_bytes(ListNode)


@cython.cfunc
def _encoded(item: bytes) -> bytes:
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


# The number of elements that are copied or written in about 0.1 ms.
ITEMS_PER_STEP = 2000

# The number of nodes that are freed in a step of about 0.3 ms.
_NODES_PER_STEP = 1000

# What is before the first node.
_ROOM: Any = None


@cython.cclass
class ListValue(Value):
    """One list."""

    __slots__ = (
        "_fill",
        "_first",
        "_head",
        "_inner_bytes",
        "_length",
        "_nodes",
        "is_quicklist",
    )

    type_name = b"list"

    def __init__(self, access_ms: int = 0) -> None:
        super().__init__(access_ms)
        # The nodes; up to the index _head there is room for more.
        self._nodes: list[ListNode] = []
        self._head = 0
        self._inner_bytes = 0  # the memory of the nodes between the first and the last
        self._first = 0  # the place of the first element
        self._length = 0
        self.is_quicklist = False
        self._fill = 0  # of a quicklist, fixed when it became one

    @classmethod
    def of_nodes(
        cls, nodes: Iterable[ListNode], limits: EncodingLimits, access_ms: int = 0
    ) -> ListValue:
        """A list of the given nodes."""
        made: ListValue = cls(access_ms)
        made._nodes.extend(nodes)
        made.is_quicklist, made._fill = True, limits.list_max_listpack_size
        made._count_again()
        made._shrink(limits, 1)
        return made

    @classmethod
    def of(cls, items: Iterable[bytes], limits: EncodingLimits, access_ms: int = 0) -> ListValue:
        """A list with these elements, as SORT stores one."""
        return cls.of_nodes(nodes_of(items, limits.list_max_listpack_size), limits, access_ms)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[bytes]:
        for node in self.nodes:
            yield from node.items

    @property
    def encoding(self) -> bytes:
        """The encoding that OBJECT ENCODING returns since Redis 7.2."""
        return b"quicklist" if self.is_quicklist else b"listpack"

    @property
    def nodes(self) -> list[ListNode]:
        """The nodes."""
        return self._nodes[self._head :]

    def copy(self) -> ListValue:
        """An independent list with the same elements, encoding and access time.

        Nodes share their bytes with those of this one until either changes.
        """
        copy = ListValue(self.access_ms)
        copy._nodes.extend([node.copy() for node in self.nodes])
        copy._inner_bytes = self._inner_bytes
        copy._first, copy._length = self._first, self._length
        copy.is_quicklist, copy._fill = self.is_quicklist, self._fill
        return copy

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._length

    @property
    def effort(self) -> int:
        """The time to copy or write the list, in steps of about 0.1 ms."""
        return 1 + self._length // ITEMS_PER_STEP

    def memory_bytes(self) -> int:
        """The memory of the list in bytes."""
        return _LIST_BYTES + list_bytes(self._nodes) + self._nodes_bytes()

    @cython.cfunc
    def _nodes_bytes(self) -> cython.long:
        """The memory of all nodes."""
        size: cython.long = self._inner_bytes
        last: cython.Py_ssize_t = len(self._nodes) - 1
        node: ListNode
        if self._head <= last:
            node = self._nodes[last]
            size += node.memory_bytes()
        if self._head < last:
            node = self._nodes[self._head]
            size += node.memory_bytes()
        return size

    @cython.cfunc
    def _measure(self, nodes_bytes: cython.long) -> None:
        """Note what all nodes take, after some of them were replaced."""
        self._inner_bytes = 0
        self._inner_bytes = nodes_bytes - self._nodes_bytes()

    def release(self) -> RemovedData:
        """Give up the elements when the list is removed; the data to free."""
        if len(self._nodes) <= _NODES_PER_STEP:
            return NO_WASTE
        nodes, self._nodes = self._nodes, []
        self._head = self._length = self._inner_bytes = 0
        return self._discard(nodes)

    @staticmethod
    def _discard(nodes: list[ListNode]) -> RemovedData:
        if len(nodes) <= _NODES_PER_STEP:
            return NO_WASTE
        removed_data = RemovedData()
        removed_data.add(nodes, _NODES_PER_STEP)
        return removed_data

    # -- reading -------------------------------------------------------------------------------

    def _node_at(self, index: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """The index in `_nodes` of the node that has an existing element."""
        place: cython.Py_ssize_t = self._first + index
        low: cython.Py_ssize_t = self._head
        high: cython.Py_ssize_t = len(self._nodes) - 1
        middle: cython.Py_ssize_t
        node: ListNode = self._nodes[high]
        if place >= node.start:
            return high
        while low < high:  # the node is one of [low, high)
            middle = (low + high + 1) >> 1
            node = self._nodes[middle]
            if node.start <= place:
                low = middle
            else:
                high = middle - 1
        return low

    def __getitem__(self, index: cython.Py_ssize_t) -> bytes:
        """The element at `index`, 0 being the first; there is one."""
        return self.at(index)

    def at(self, index: cython.Py_ssize_t) -> bytes:
        """The element at `index`, 0 being the first; there is one."""
        node: ListNode = self._nodes[self._node_at(index)]
        return node.at(self._first + index - node.start)

    def spans(
        self, start: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> Iterator[tuple[ListNode, int, int]]:
        """The elements from `start` to before `end`, both within the list: for each node that has
        some the node, the offset of the first and that after the last."""
        if start >= end:
            return
        number: cython.Py_ssize_t = self._node_at(start)
        offset: cython.Py_ssize_t
        count: cython.Py_ssize_t
        while start < end:
            node: ListNode = self._nodes[number]
            offset = self._first + start - node.start
            count = min(end - start, node.count - offset)
            yield node, offset, offset + count
            start += count
            number += 1

    def bulks(self, head: bytes, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> bytes:
        """The elements from `start` to before `end`, both within the list, as bulk strings after
        some bytes."""
        if start >= end:
            return head
        node: ListNode = self._nodes[self._node_at(start)]
        offset: cython.Py_ssize_t = self._first + start - node.start
        if end - start <= node.count - offset:
            return node.bulks(head, offset, offset + end - start)
        parts = [one.bulks(b"", low, high) for one, low, high in self.spans(start, end)]
        return head + b"".join(parts)

    def slices(self, start: int, end: int) -> Iterator[list[bytes]]:
        """The elements from `start` to before `end`, both within the list, node by node."""
        for node, low, high in self.spans(start, end):
            yield node.slice(low, high)

    def range(self, start: int, end: int) -> list[bytes]:
        """The elements from `start` to before `end`, both within the list."""
        return [item for part in self.slices(start, end) for item in part]

    def batches(self, size: int) -> Iterator[list[bytes]]:
        """All elements, `size` at a time."""
        items = iter(self)
        while batch := list(islice(items, size)):
            yield batch

    def find(self, item: bytes, *, backwards: bool = False) -> Iterator[int]:
        """The indexes at which `item` is, from the first on, or from the last."""
        for node in reversed(self.nodes) if backwards else self.nodes:
            found = node.offsets(item)
            base = node.start - self._first
            for offset in reversed(found) if backwards else found:
                yield base + offset

    # -- the ends ------------------------------------------------------------------------------

    def push_left(self, items: list[bytes], limits: EncodingLimits) -> None:
        """Put elements before the first, one after the other: the last one is the first then."""
        item: bytes
        if self._stays_listpack(items, limits):
            node: ListNode = self._nodes[self._head]
            node.extend_left(items)
            self._first -= len(items)
            node.start = self._first
            self._length += len(items)
            return
        for item in items:
            self._prepend(item)

    def push_right(self, items: list[bytes], limits: EncodingLimits) -> None:
        """Put elements after the last."""
        item: bytes
        if self._stays_listpack(items, limits):
            node: ListNode = self._nodes[self._head]
            node.extend(items)
            self._length += len(items)
            return
        for item in items:
            self._append(item)

    def _stays_listpack(self, items: list[bytes], limits: EncodingLimits) -> cython.bint:
        """Return True if the list is a listpack and remains one with these elements.

        It has its one node then. A listpack that does not remain one becomes a quicklist.
        """
        if self.is_quicklist:
            return False
        if not self._length:
            self._nodes, self._head = [ListNode((), self._first)], 0
        node: ListNode = self._nodes[self._head]
        size_bytes: cython.Py_ssize_t = node.size_bytes()
        item: bytes
        for item in items:
            size_bytes += len(item)
        fill: cython.long = limits.list_max_listpack_size
        if not exceeds(fill, size_bytes, node.count + len(items)):
            return True
        self.is_quicklist, self._fill = True, fill
        if not node.count:
            self._nodes.clear()
        return False

    @cython.cfunc
    def _append(self, item: bytes) -> None:
        nodes = self._nodes
        node: ListNode
        if self._length:
            node = nodes[len(nodes) - 1]
            if node.admits(item, self._fill):
                node.append(item)
                self._length += 1
                return
            node.fit()
            if len(nodes) - self._head > 1:
                self._inner_bytes += node.memory_bytes()
        node = ListNode.of(item, self._fill)
        node.start = self._first + self._length
        nodes.append(node)
        self._length += 1

    @cython.cfunc
    def _prepend(self, item: bytes) -> None:
        node: ListNode
        self._first -= 1
        if self._length:
            node = self._nodes[self._head]
            if node.admits(item, self._fill):
                node.prepend(item)
                node.start = self._first
                self._length += 1
                return
            node.fit()
            if len(self._nodes) - self._head > 1:
                self._inner_bytes += node.memory_bytes()
        node = ListNode.of(item, self._fill)
        node.start = self._first
        self._put_first(node)
        self._length += 1

    @cython.cfunc
    def _put_first(self, node: ListNode) -> None:
        """Put a node before all others. There is room for as many as are there, once in a while."""
        if not self._head:
            self._head = 1 + len(self._nodes) // 2
            self._nodes[:0] = [_ROOM] * self._head
        self._head -= 1
        self._nodes[self._head] = node

    @cython.cfunc
    def _drop_first(self) -> None:
        """Remove the first node."""
        self._nodes[self._head] = _ROOM
        self._head += 1
        if len(self._nodes) - self._head > 1:
            node: ListNode = self._nodes[self._head]
            self._inner_bytes -= node.memory_bytes()
        if 2 * self._head >= len(self._nodes):
            self._close_gap()

    @cython.cfunc
    def _close_gap(self) -> None:
        """Give up the room before the first node."""
        del self._nodes[: self._head]
        self._head = 0

    def pop_left(self, count: cython.Py_ssize_t) -> list[bytes]:
        """Remove and return up to `count` elements from the front; call `shrink` after it."""
        taken: list[bytes] | None = None
        missing: cython.Py_ssize_t = min(count, self._length)
        self._first += missing
        self._length -= missing
        node: ListNode
        part: list[bytes]
        some: cython.Py_ssize_t
        while missing > 0:
            node = self._nodes[self._head]
            some = min(missing, node.count)
            part = node.take(0, some)
            if taken is None:
                taken = part
            else:
                taken += part
            missing -= some
            node.start = self._first
            if not node.count:
                self._drop_first()
        return [] if taken is None else taken

    def pop_right(self, count: cython.Py_ssize_t) -> list[bytes]:
        """Remove and return up to `count` elements from the end, last first; then call `shrink`."""
        taken: list[bytes] | None = None
        part: list[bytes]
        missing: cython.Py_ssize_t = min(count, self._length)
        self._length -= missing
        node: ListNode
        some: cython.Py_ssize_t
        while missing > 0:
            node = self._nodes[len(self._nodes) - 1]
            some = min(missing, node.count)
            part = node.take(node.count - some, node.count)
            if some > 1:
                part.reverse()
            if taken is None:
                taken = part
            else:
                taken += part
            missing -= some
            if not node.count:
                self._nodes.pop()
                if len(self._nodes) - self._head > 1:
                    node = self._nodes[len(self._nodes) - 1]
                    self._inner_bytes -= node.memory_bytes()
        if not self._length:
            self._close_gap()
        return [] if taken is None else taken

    def trim(self, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> RemovedData:
        """Keep the elements [start, end), both within the list; return the data to free.

        Call `shrink` after it.
        """
        self._close_gap()
        nodes = self._nodes
        low: cython.Py_ssize_t = self._first + start
        high: cython.Py_ssize_t = self._first + end
        first: cython.Py_ssize_t = self._node_at(start) if start < end else len(nodes)
        last: cython.Py_ssize_t = self._node_at(end - 1) + 1 if start < end else len(nodes)
        gone: list[ListNode] = nodes[:first] + nodes[last:]
        kept: list[ListNode] = nodes[first:last]
        if len(kept) < len(gone):
            total: cython.long = _bytes_of(kept)
        else:
            total = self._nodes_bytes() - _bytes_of(gone)
        self._nodes = kept
        self._measure(total)
        self._first, self._length = low, high - low
        if low < high:
            node: ListNode = self._nodes[len(self._nodes) - 1]
            if node.start + node.count > high:
                node.cut(high - node.start, node.count)
            node = self._nodes[0]
            node.cut(0, low - node.start)
            node.start = low
        return self._discard(gone)

    def shrink(self, limits: EncodingLimits) -> None:
        """Become a listpack if few enough elements are left.

        To be called after removals, once the same command has pushed what it pushes.
        """
        if self.is_quicklist and len(self._nodes) - self._head == 1:
            self._shrink(limits, 2)

    # -- the middle ----------------------------------------------------------------------------

    def remove(self, item: bytes, count: int) -> int:
        """Remove up to `count` elements that are `item`, the last ones if it is negative, all if it
        is 0; how many there were. `shrink` to follow."""
        wanted = abs(count) or self._length
        removed = 0
        for node in reversed(self.nodes) if count < 0 else self.nodes:
            if removed == wanted:
                break
            found = node.offsets(item)
            if not found:
                continue
            chosen = found[-(wanted - removed) :] if count < 0 else found[: wanted - removed]
            if node.is_plain:
                node.cut(0, 1)
            else:
                node.drop(chosen)
            removed += len(chosen)
        if removed:
            self._count_again()
        return removed

    def set(self, index: int, item: bytes, limits: EncodingLimits) -> None:
        """Put `item` in the place of the element at `index`."""
        self._stays_listpack([item], limits)
        number: cython.Py_ssize_t = self._node_at(index)
        node: ListNode = self._nodes[number]
        offset = self._first + index - node.start
        if not self.is_quicklist or node.is_plain == is_large(item, self._fill):
            before: cython.long = node.memory_bytes()
            node.replace(offset, item)
            if self._head < number < len(self._nodes) - 1:
                self._inner_bytes += node.memory_bytes() - before
        else:
            number -= self._head
            self._close_gap()
            self._replace_in_another_node(number, offset, item)
            self._count_again()
        self._shrink(limits, 2)

    def _replace_in_another_node(self, number: int, offset: int, item: bytes) -> None:
        """`set` where the new element cannot be in the node of the old one; there is no gap."""
        nodes: list[ListNode] = self._nodes
        node = nodes[number]
        if node.is_plain:
            self._insert_into_quicklist(number, 1, item, after=True)
            del nodes[number]
            return
        rest = node.split(offset + 1)
        node.cut(offset, offset + 1)
        if len(rest):
            nodes.insert(number + 1, rest)
        nodes.insert(number + 1, ListNode.of(item, self._fill))
        if len(node):
            self._merge_around(number + 1)
        else:
            del nodes[number]

    def insert(self, index: int, item: bytes, limits: EncodingLimits, *, after: bool) -> None:
        """Put `item` before or after the element at `index`."""
        is_listpack = self._stays_listpack([item], limits)
        self._close_gap()
        number: cython.Py_ssize_t = self._node_at(index)
        node: ListNode = self._nodes[number]
        offset = self._first + index - node.start + after
        if is_listpack:
            node.insert(offset, item)
        else:
            self._insert_into_quicklist(number, offset, item, after=after)
        self._count_again()

    def _insert_into_quicklist(self, number: int, offset: int, item: bytes, *, after: bool) -> None:
        """Into the node or, at its end, into the next one; else between the halves of the node.

        There is no gap before the nodes.
        """
        nodes: list[ListNode] = self._nodes
        fill = self._fill
        node = nodes[number]
        at_end = offset == (len(node) if after else 0)
        beside = number + 1 if after else number - 1
        if node.admits(item, fill):
            node.insert(offset, item)
        elif not at_end:
            rest = node.split(offset)
            nodes.insert(number + 1, rest)
            if is_large(item, fill):
                nodes.insert(number + 1, ListNode.of(item, fill))
                return
            if after:
                rest.insert(0, item)
            else:
                node.append(item)
            self._merge_around(number if after else number + 1)
        elif 0 <= beside < len(nodes) and nodes[beside].admits(item, fill):
            nodes[beside].insert(0 if after else len(nodes[beside]), item)
        else:
            nodes.insert(number + after, ListNode.of(item, fill))

    def _merge_around(self, number: int) -> None:
        """Make one node of two, where that is allowed: of a node's neighbours and of what it is
        between, as Redis does after it has split the node."""
        if self._merge(number - 2):
            number -= 1
        self._merge(number + 1)
        if self._merge(number - 1):
            number -= 1
        self._merge(number)

    def _merge(self, number: int) -> bool:
        """Make one node of this one and the next, if there are both and Redis would."""
        nodes: list[ListNode] = self._nodes
        if not 0 <= number < len(nodes) - 1:
            return False
        first, second = nodes[number], nodes[number + 1]
        if not first.admits_all_of(second, self._fill):
            return False
        first.join(second)
        del nodes[number + 1]
        return True

    # -- the whole -----------------------------------------------------------------------------

    def _count_again(self) -> None:
        """Drop empty nodes, and number the others from 0."""
        nodes = self.nodes
        if any(not node.count for node in nodes):
            nodes = [node for node in nodes if node.count]
        self._nodes, self._head = nodes, 0
        place: cython.Py_ssize_t = 0
        node: ListNode
        for node in nodes:
            node.start = place
            place += node.count
        self._first = 0
        self._length = place
        self._measure(_bytes_of(nodes))

    def _shrink(self, limits: EncodingLimits, divisor: int) -> None:
        """Become a listpack if one node is left, which is small enough: half as large as allowed
        after a removal."""
        if not self.is_quicklist or len(self._nodes) - self._head != 1:
            return
        node: ListNode = self._nodes[self._head]
        if node.plain is not None:
            return
        fill = limits.list_max_listpack_size
        is_few = node.count <= max_count(fill) // divisor
        if is_few if fill >= 0 else node.size_bytes() <= max_bytes(fill) // divisor:
            self.is_quicklist = False


@cython.cfunc
def _bytes_of(nodes: list[ListNode]) -> cython.long:
    """The memory of nodes."""
    total: cython.long = 0
    node: ListNode
    for node in nodes:
        total += node.memory_bytes()
    return total


_LIST_BYTES: cython.long = instance_bytes(ListValue)
