"""A list: elements in order, pushed and popped at both ends.

The elements are in nodes (storage/types/list_node.py), and the nodes in a deque. Each node knows
the position of its first element, in a numbering that extends below zero with pushes at the left,
so that a push never renumbers nodes: both ends take constant time, and an element in the middle is
found by bisection. Only insertions and removals in the middle (LINSERT, LREM) renumber the nodes;
they have walked over them anyway.

A short list is a single node with the encoding listpack, as in Redis since 7.2. A long one has the
encoding quicklist, and becomes a listpack again once it has shrunk to half of a node's limit.

Leaves out: empty lists; commands remove the key.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from operator import attrgetter
from sys import getsizeof

import cython

from storage.keyspace.deferred_free import NO_WASTE, SMALL_ITEMS, RemovedData
from storage.redis_format.encoding_limits import EncodingLimits
from storage.types.list_node import ListNode, exceeds, is_large, max_bytes, max_count, nodes_of
from storage.types.value import Value

# The memory of an element beyond its size in a listpack: an object with its header, rounded up, and
# a reference to it.
_ELEMENT_OVERHEAD_BYTES = getsizeof(b"") + 8 + 8 - 2

# The number of elements that are copied or written in about 0.1 ms.
ITEMS_PER_STEP = 2000

_place = attrgetter("start")


@cython.cclass
class ListValue(Value):
    """One list."""

    __slots__ = ("_fill", "_first", "_length", "_nodes")

    type_name = b"list"

    def __init__(self, access_ms: int = 0) -> None:
        super().__init__(access_ms)
        self._nodes: deque[ListNode] = deque()
        self._first = 0  # the place of the first element
        self._length = 0
        self._fill: int | None = None  # of a quicklist, fixed when it became one

    @classmethod
    def of_nodes(
        cls, nodes: Iterable[ListNode], limits: EncodingLimits, access_ms: int = 0
    ) -> ListValue:
        """A list of the given nodes, none of them empty."""
        made = cls(access_ms)
        made._nodes.extend(nodes)
        made._fill = limits.list_max_listpack_size
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
        for node in self._nodes:
            yield from node.items

    @property
    def encoding(self) -> bytes:
        """The encoding that OBJECT ENCODING returns since Redis 7.2."""
        return b"listpack" if self._fill is None else b"quicklist"

    @property
    def nodes(self) -> deque[ListNode]:
        """The nodes. Do not modify the deque."""
        return self._nodes

    def copy(self) -> ListValue:
        """An independent list with the same elements, encoding and access time."""
        copy = ListValue(self.access_ms)
        copy._nodes.extend(node.copy() for node in self._nodes)
        copy._first, copy._length, copy._fill = self._first, self._length, self._fill
        return copy

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._length

    @property
    def effort(self) -> int:
        """The time to copy or write the list, in steps of about 0.1 ms."""
        return 1 + self._length // ITEMS_PER_STEP

    def memory_bytes(self, samples: int = 5) -> int:
        """An estimate of the list's memory. Nodes know their size, so elements are not visited."""
        size = getsizeof(self) + getsizeof(self._nodes)
        for node in self._nodes:
            size += getsizeof(node) + node.size_bytes + len(node) * _ELEMENT_OVERHEAD_BYTES
        return size

    def release(self) -> RemovedData:
        """Give up the elements when the list is removed; the data to free."""
        return self._discard(self._nodes, self._length)

    @staticmethod
    def _discard(nodes: Iterable[ListNode], items: int) -> RemovedData:
        if items <= SMALL_ITEMS:
            return NO_WASTE
        removed_data = RemovedData()
        gone = [node.items for node in nodes]
        removed_data.add(gone, max(1, SMALL_ITEMS * len(gone) // items))
        return removed_data

    # -- reading -------------------------------------------------------------------------------

    def _locate(self, index: int) -> tuple[int, int]:
        """(index of the node, offset in it) of an existing element."""
        nodes = self._nodes
        if index < len(nodes[0]):
            return 0, index
        place = self._first + index
        number = len(nodes) - 1
        if place < nodes[-1].start:
            number = bisect_right(nodes, place, key=_place) - 1
        return number, place - nodes[number].start

    def __getitem__(self, index: int) -> bytes:
        """The element at `index`, 0 being the first; there is one."""
        number, offset = self._locate(index)
        return self._nodes[number].items[offset]

    def slices(self, start: int, end: int) -> Iterator[list[bytes]]:
        """The elements from `start` to before `end`, both within the list, node by node."""
        if start >= end:
            return
        number, offset = self._locate(start)
        count = end - start
        while count > 0:
            part = self._nodes[number].items[offset : offset + count]
            yield part
            count -= len(part)
            number, offset = number + 1, 0

    def range(self, start: int, end: int) -> list[bytes]:
        """The elements from `start` to before `end`, both within the list."""
        found: list[bytes] = []
        for part in self.slices(start, end):
            found += part
        return found

    def batches(self, size: int) -> Iterator[list[bytes]]:
        """All elements, `size` at a time."""
        items = iter(self)
        while batch := list(islice(items, size)):
            yield batch

    def find(self, item: bytes, *, backwards: bool = False) -> Iterator[int]:
        """The indexes at which `item` is, from the first on, or from the last."""
        for node in reversed(self._nodes) if backwards else self._nodes:
            found = node.offsets(item)
            base = node.start - self._first
            for offset in reversed(found) if backwards else found:
                yield base + offset

    # -- the ends ------------------------------------------------------------------------------

    def push_left(self, items: list[bytes], limits: EncodingLimits) -> None:
        """Put elements before the first, one after the other: the last one is the first then."""
        if self._stays_listpack(items, limits):
            node = self._only_node()
            node.extend_left(items)
            self._first -= len(items)
            node.start = self._first
            self._length += len(items)
            return
        for item in items:
            self._prepend(item)

    def push_right(self, items: list[bytes], limits: EncodingLimits) -> None:
        """Put elements after the last."""
        if self._stays_listpack(items, limits):
            self._only_node().extend(items)
            self._length += len(items)
            return
        for item in items:
            self._append(item)

    @cython.cfunc
    def _only_node(self) -> ListNode:
        if not self._nodes:
            self._nodes.append(ListNode([], self._first))
        return self._nodes[0]

    def _stays_listpack(self, items: list[bytes], limits: EncodingLimits) -> bool:
        """Return True if the list is a listpack and remains one with these elements.

        A listpack that does not remain one becomes a quicklist.
        """
        if self._fill is not None:
            return False
        node = self._only_node()
        size_bytes: cython.Py_ssize_t = node.size_bytes
        item: bytes
        for item in items:
            size_bytes += len(item)
        fill = limits.list_max_listpack_size
        if not exceeds(fill, size_bytes, len(node.items) + len(items)):
            return True
        self._fill = fill
        if not node.items:
            self._nodes.clear()
        return False

    @cython.cfunc
    def _append(self, item: bytes) -> None:
        assert self._fill is not None
        nodes = self._nodes
        if nodes and nodes[-1].admits(item, self._fill):
            nodes[-1].append(item)
        else:
            nodes.append(ListNode.of(item, self._fill))
            nodes[-1].start = self._first + self._length
        self._length += 1

    @cython.cfunc
    def _prepend(self, item: bytes) -> None:
        assert self._fill is not None
        nodes = self._nodes
        if nodes and nodes[0].admits(item, self._fill):
            nodes[0].insert(0, item)
        else:
            nodes.appendleft(ListNode.of(item, self._fill))
        self._first -= 1
        nodes[0].start = self._first
        self._length += 1

    def pop_left(self, count: int) -> list[bytes]:
        """Remove and return up to `count` elements from the front; call `shrink` after it."""
        taken: list[bytes] = []
        nodes = self._nodes
        while nodes and len(taken) < count:
            node = nodes[0]
            taken += node.take(0, count - len(taken))
            if not node.items:
                nodes.popleft()
        self._first += len(taken)
        if nodes:
            nodes[0].start = self._first
        self._length -= len(taken)
        return taken

    def pop_right(self, count: int) -> list[bytes]:
        """Remove and return up to `count` elements from the end, last first; then call `shrink`."""
        taken: list[bytes] = []
        nodes = self._nodes
        while nodes and len(taken) < count:
            node = nodes[-1]
            start = max(len(node) - (count - len(taken)), 0)
            taken += reversed(node.take(start, len(node)))
            if not node.items:
                nodes.pop()
        self._length -= len(taken)
        return taken

    def trim(self, start: int, end: int) -> RemovedData:
        """Keep the elements [start, end), both within the list; return the data to free.

        Call `shrink` after it.
        """
        nodes, gone = self._nodes, list[ListNode]()
        left, right = start, self._length - end
        self._first += left
        self._length = end - start
        removed = left + right
        while left and len(nodes[0]) <= left:
            left -= len(nodes[0])
            gone.append(nodes.popleft())
        while right and len(nodes[-1]) <= right:
            right -= len(nodes[-1])
            gone.append(nodes.pop())
        if left:
            nodes[0].take(0, left)
        if right:
            nodes[-1].take(len(nodes[-1]) - right, len(nodes[-1]))
        if nodes:
            nodes[0].start = self._first
        return self._discard(gone, removed)

    def shrink(self, limits: EncodingLimits) -> None:
        """Become a listpack if few enough elements are left.

        To be called after removals, once the same command has pushed what it pushes.
        """
        self._shrink(limits, 2)

    # -- the middle ----------------------------------------------------------------------------

    def remove(self, item: bytes, count: int) -> int:
        """Remove up to `count` elements that are `item`, the last ones if it is negative, all if it
        is 0; how many there were. `shrink` to follow."""
        wanted = abs(count) or self._length
        removed = 0
        for node in reversed(self._nodes) if count < 0 else self._nodes:
            if removed == wanted:
                break
            found = node.offsets(item)
            if not found:
                continue
            chosen = found[-(wanted - removed) :] if count < 0 else found[: wanted - removed]
            node.drop(item, set(chosen))
            removed += len(chosen)
        if removed:
            self._count_again()
        return removed

    def set(self, index: int, item: bytes, limits: EncodingLimits) -> None:
        """Put `item` in the place of the element at `index`."""
        self._stays_listpack([item], limits)
        number, offset = self._locate(index)
        node = self._nodes[number]
        fill = self._fill
        if fill is None or node.is_plain == is_large(item, fill):
            node.replace(offset, item)
        else:
            self._replace_in_another_node(number, offset, item, fill)
            self._count_again()
        self._shrink(limits, 2)

    def _replace_in_another_node(self, number: int, offset: int, item: bytes, fill: int) -> None:
        """`set` where the new element cannot be in the node of the old one."""
        nodes = self._nodes
        node = nodes[number]
        if node.is_plain:
            self._insert_into_quicklist(number, 1, item, after=True)
            del nodes[number]
            return
        rest = node.split(offset + 1)
        node.take(offset, offset + 1)
        if rest.items:
            nodes.insert(number + 1, rest)
        nodes.insert(number + 1, ListNode.of(item, fill))
        if node.items:
            self._merge_around(number + 1)
        else:
            del nodes[number]

    def insert(self, index: int, item: bytes, limits: EncodingLimits, *, after: bool) -> None:
        """Put `item` before or after the element at `index`."""
        is_listpack = self._stays_listpack([item], limits)
        number, offset = self._locate(index)
        node = self._nodes[number]
        offset += after
        if is_listpack:
            node.insert(offset, item)
        else:
            self._insert_into_quicklist(number, offset, item, after=after)
        self._count_again()

    def _insert_into_quicklist(self, number: int, offset: int, item: bytes, *, after: bool) -> None:
        """Into the node or, at its end, into the next one; else between the halves of the node."""
        assert self._fill is not None
        nodes, fill = self._nodes, self._fill
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
        assert self._fill is not None
        nodes = self._nodes
        if not 0 <= number < len(nodes) - 1:
            return False
        first, second = nodes[number], nodes[number + 1]
        if not first.admits_all_of(second, self._fill):
            return False
        first.extend(second.items)
        del nodes[number + 1]
        return True

    # -- the whole -----------------------------------------------------------------------------

    def _count_again(self) -> None:
        """Drop empty nodes, and number the others from 0."""
        if not all(node.items for node in self._nodes):
            self._nodes = deque(node for node in self._nodes if node.items)
        place = self._first = 0
        for node in self._nodes:
            node.start = place
            place += len(node)
        self._length = place

    def _shrink(self, limits: EncodingLimits, divisor: int) -> None:
        """Become a listpack if one node is left, which is small enough: half as large as allowed
        after a removal."""
        if self._fill is None or len(self._nodes) != 1 or self._nodes[0].is_plain:
            return
        node = self._nodes[0]
        fill = limits.list_max_listpack_size
        is_few = len(node) <= max_count(fill) // divisor
        if is_few if fill >= 0 else node.size_bytes <= max_bytes(fill) // divisor:
            self._fill = None
