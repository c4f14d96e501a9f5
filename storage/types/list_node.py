"""A node of a list (quicklist): some elements, and the size of their listpack in Redis.

Redis stores a list as nodes, each a listpack with as many elements as `list-max-listpack-size`
allows; an element that is larger than a node has a node of its own ("plain"). Nodes here hold their
elements as objects, but they end where Redis's end, because OBJECT ENCODING and DUMP show it.

`list-max-listpack-size` is called `fill`: -1 to -5 allow nodes of 4 to 64 KiB, a positive number
allows that many elements, of 8 KiB at most.

Source: Redis 7.2 and later, where large means larger than a node.
"""

from __future__ import annotations

from collections.abc import Iterable

import cython

from storage.redis_format.listpack_size import EMPTY_LISTPACK_BYTES, element_bytes, elements_bytes

_SMALLEST_NODE_BYTES: cython.Py_ssize_t = 4096  # for -1; for each next one twice as many
_MOST_DOUBLINGS: cython.longlong = 4
# A node of more bytes takes no further element, whatever the limit on elements.
_COUNTED_NODE_BYTES: cython.Py_ssize_t = 8192
_NO_LIMIT: cython.Py_ssize_t = 1 << 62
# The overhead that Redis assumes for an element before it computes the exact one.
_ELEMENT_MARGIN_BYTES: cython.Py_ssize_t = 8


@cython.cclass
class ListNode:
    """Consecutive elements. `start` is the position of the first, in its list's numbering."""

    __slots__ = ("is_plain", "items", "size_bytes", "start")

    def __init__(self, items: list[bytes], start: int = 0, *, is_plain: bool = False) -> None:
        """`is_plain`: there is one element, which is not in a listpack."""
        self.items = items
        self.start = start
        self.is_plain = is_plain
        self.size_bytes = len(items[0]) if is_plain else listpack_bytes(items)

    @classmethod
    def of(cls, item: bytes, fill: int) -> ListNode:
        """A new node for one element."""
        return cls([item], is_plain=is_large(item, fill))

    def __len__(self) -> int:
        return len(self.items)

    def copy(self) -> ListNode:
        """Another node with the same elements."""
        copy = ListNode.__new__(ListNode)
        copy.items = self.items.copy()
        copy.start = self.start
        copy.is_plain = self.is_plain
        copy.size_bytes = self.size_bytes
        return copy

    def offsets(self, item: bytes) -> list[int]:
        """The offsets of `item`, ascending."""
        items: list[bytes] = self.items
        found: list[int] = []
        offset: cython.Py_ssize_t
        one: bytes
        # Compiled, bytes are compared by their sizes and first byte before all else.
        for offset in range(len(items)):
            one = items[offset]
            if one == item:
                found.append(offset)
        return found

    def admits(self, item: bytes, fill: cython.longlong) -> bool:
        """Return True if Redis would put one more element into this node."""
        limit: cython.Py_ssize_t = max_bytes(fill)
        length: cython.Py_ssize_t = len(item)
        if length > limit or self.size_bytes + length + _ELEMENT_MARGIN_BYTES > limit:
            return False
        return not self.is_plain and len(self.items) < max_count(fill)

    def admits_all_of(self, other: ListNode, fill: int) -> bool:
        """Return True if Redis would merge these two nodes."""
        if self.is_plain or other.is_plain:
            return False
        size_bytes = self.size_bytes + other.size_bytes - EMPTY_LISTPACK_BYTES
        return not exceeds(fill, size_bytes, len(self.items) + len(other.items))

    def append(self, item: bytes) -> None:
        """Put an element at the end."""
        self.items.append(item)
        self.size_bytes += element_bytes(item)

    def insert(self, offset: cython.Py_ssize_t, item: bytes) -> None:
        """Put an element before the one at `offset`."""
        self.items.insert(offset, item)
        self.size_bytes += element_bytes(item)

    def extend(self, items: list[bytes]) -> None:
        """Put elements at the end."""
        self.items += items
        self.size_bytes += elements_bytes(items)

    def extend_left(self, items: list[bytes]) -> None:
        """Put elements at the beginning, one after the other: the last one is the first then."""
        self.items[:0] = items[::-1]
        self.size_bytes += elements_bytes(items)

    def drop(self, item: bytes, offsets: set[int]) -> None:
        """Remove the elements at `offsets`, which all are `item`."""
        self.items = [one for offset, one in enumerate(self.items) if offset not in offsets]
        self.size_bytes -= 0 if self.is_plain else len(offsets) * element_bytes(item)

    def replace(self, offset: int, item: bytes) -> None:
        """Put an element in the place of another. A plain node stays one."""
        old, self.items[offset] = self.items[offset], item
        if self.is_plain:
            self.size_bytes = len(item)
        else:
            self.size_bytes += element_bytes(item) - element_bytes(old)

    def take(self, start: int, end: int) -> list[bytes]:
        """Take the elements from `start` to before `end` out."""
        taken = self.items[start:end]
        del self.items[start:end]
        if not self.is_plain:  # its only element was removed
            self.size_bytes -= elements_bytes(taken)
        return taken

    def split(self, offset: int) -> ListNode:
        """Keep the elements before `offset`; the others as a node of their own."""
        return ListNode(self.take(offset, len(self.items)))


def nodes_of(items: Iterable[bytes], fill: int) -> list[ListNode]:
    """The nodes that Redis has once these elements were put at the end of a list, one by one."""
    made: list[ListNode] = []
    limit: cython.Py_ssize_t = max_bytes(fill)
    most: cython.Py_ssize_t = max_count(fill)
    # What the last node has; it takes no more if it is full, or plain.
    run: list[bytes] = []
    size: cython.Py_ssize_t = limit
    item: bytes
    for item in items:
        length: cython.Py_ssize_t = len(item)
        if size + length + _ELEMENT_MARGIN_BYTES > limit or len(run) >= most:
            run, size = [], EMPTY_LISTPACK_BYTES
            made.append(ListNode(run))
        run.append(item)
        if length > limit:
            made[-1].is_plain, made[-1].size_bytes = True, length
            size = limit
            continue
        size += element_bytes(item)
        made[-1].size_bytes = size
    return made


def listpack_bytes(items: Iterable[bytes]) -> int:
    """The size of a listpack with these elements."""
    return EMPTY_LISTPACK_BYTES + elements_bytes(list(items))


def max_bytes(fill: cython.longlong) -> cython.Py_ssize_t:
    """The maximum of bytes of a node."""
    if fill < 0:
        limit: cython.Py_ssize_t = _SMALLEST_NODE_BYTES << min(-fill - 1, _MOST_DOUBLINGS)
        return limit
    return _COUNTED_NODE_BYTES


def max_count(fill: cython.longlong) -> cython.Py_ssize_t:
    """The maximum of elements of a node: more than fit into its bytes if that is the limit."""
    return _NO_LIMIT if fill < 0 else max(fill, 1)


def exceeds(fill: cython.longlong, size_bytes: cython.Py_ssize_t, count: cython.Py_ssize_t) -> bool:
    """Return True if a node of this size and number of elements exceeds the limits."""
    return size_bytes > max_bytes(fill) or count > max_count(fill)


def is_large(item: bytes, fill: int) -> bool:
    """Return True if an element has a node to itself."""
    return len(item) > max_bytes(fill)
