"""The nodes of a list that is more than a few short elements: a quicklist.

Each node knows the position of its first element, in a numbering that extends below zero with
pushes at the left, so that a push never renumbers nodes: both ends take constant time, and an
element in the middle is found by bisection and a walk in its node. Only insertions and removals in
the middle (LINSERT, LREM) renumber the nodes; they have walked over them anyway.

A short list is a single node with the encoding listpack, as in Redis since 7.2. A long one has the
encoding quicklist, and becomes a listpack again once it has shrunk to half of a node's limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import cython

from storage.keyspace.deferred_free import NO_WASTE, RemovedData
from storage.memory import instance_bytes
from storage.redis_format.encoding_limits import EncodingLimits
from storage.types.list_nodes import ListNode, exceeds, is_large, max_bytes, max_count

if not cython.compiled:
    # Compiled, it is a C function, which the module's C types import.
    from storage.memory import list_bytes

# The number of nodes that are freed in a step of about 0.3 ms.
_NODES_PER_STEP = 1000

# What is before the first node.
_ROOM: Any = None


@cython.no_gc  # it refers to nodes only
@cython.cclass
class Quicklist:
    """The nodes of one list."""

    __slots__ = (
        "_fill",
        "_first",
        "_head",
        "_inner_bytes",
        "_length",
        "_nodes",
        "is_quicklist",
    )

    def __init__(self) -> None:
        # The nodes; up to the index _head there is room for more.
        self._nodes: list[ListNode] = []
        self._head = 0
        self._inner_bytes = 0  # the memory of the nodes between the first and the last
        self._first = 0  # the place of the first element
        self._length = 0
        self.is_quicklist = False
        self._fill = 0  # of a quicklist, fixed when it became one

    @classmethod
    def of_nodes(cls, nodes: Iterable[ListNode], limits: EncodingLimits) -> Quicklist:
        """A list of the given nodes."""
        made: Quicklist = cls()
        made._nodes.extend(nodes)
        made.is_quicklist, made._fill = True, limits.list_max_listpack_size
        made._count_again()
        made._shrink(limits, 1)
        return made

    @classmethod
    def of_elements(cls, elements: bytes, count: int) -> Quicklist:
        """A list of one node with `count` elements, encoded as in a listpack."""
        made: Quicklist = cls()
        made._nodes.append(ListNode.of_elements(elements, count))
        made._length = count
        return made

    def few(self, most_bytes: cython.Py_ssize_t) -> bytes | None:
        """The elements as in a listpack, if that is what they are in, and has so few bytes."""
        if self.is_quicklist or len(self._nodes) - self._head != 1:
            return None
        node: ListNode = self._nodes[self._head]
        return node.elements() if node.size_bytes() <= most_bytes else None

    @property
    def nodes(self) -> list[ListNode]:
        """The nodes."""
        return self._nodes[self._head :]

    def copy(self) -> Quicklist:
        """An independent list with the same elements and encoding.

        Nodes share their bytes with those of this one until either changes.
        """
        copy = Quicklist()
        copy._nodes.extend([node.copy() for node in self.nodes])
        copy._inner_bytes = self._inner_bytes
        copy._first, copy._length = self._first, self._length
        copy.is_quicklist, copy._fill = self.is_quicklist, self._fill
        return copy

    def memory_bytes(self) -> int:
        """The memory of the list in bytes."""
        return _OWN_BYTES + list_bytes(self._nodes) + self._nodes_bytes()

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


_OWN_BYTES: cython.long = instance_bytes(Quicklist)
