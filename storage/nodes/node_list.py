"""The nodes of a stream in order, found by ID.

Nodes from a snapshot are packed (storage/nodes/listpack_node.py) until their entries are first
accessed: methods that return a `Node` unpack it, and keep it unpacked. Code that needs only a key
or a count uses an `AnyNode`, from iterating over the list, `peek_first` or `peek_last`.

Readers hold nodes with `lend`; a node that changes meanwhile is copied first (copy on write).

Guarantees: appending and dropping from the front take constant time, and a look-up is a binary
search. Removing a node in the middle moves the pointers after it. Reading a range unpacks only
nodes that may overlap it.

Redis keeps the nodes of a stream in a radix tree; its keys are the nodes' master IDs as 16 bytes,
big-endian. Rillway has no such tree, but clients see the number of its nodes (XINFO STREAM,
radix-tree-nodes): one for each place where keys part, one for each stretch of bytes without a
parting, and an empty one at the end of each key.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import accumulate
from operator import attrgetter
from typing import TypeAlias

import cython

from storage.entries.entry_id import MAX_ID, MIN_ID, EntryID, EntryIDs
from storage.entries.packed_form import Form, Packing, Shape, form_bytes
from storage.keyspace.deferred_free import NODE_ITEMS, SMALL_ITEMS, RemovedData
from storage.memory import instance_bytes
from storage.nodes.frozen_node import FrozenNode, Node, freeze
from storage.nodes.listpack_node import ListpackNode
from storage.nodes.open_node import OpenNode

KEY_BITS = 128
KEY_BYTES = 16

# Depths are counted in bytes from the root; this is the depth above the root.
ABOVE_ROOT = -1


def radix_node_count(keys: list[int]) -> int:
    """The number of nodes for ascending 128-bit `keys`. The time is linear in their number."""
    if not keys:
        return 1
    count: cython.Py_ssize_t = len(keys)
    partings = [ABOVE_ROOT]  # the depths of those on the way from the root to the present key
    left: cython.int = ABOVE_ROOT
    place: cython.Py_ssize_t
    for place in range(1, len(keys) + 1):
        right: cython.int = ABOVE_ROOT
        if place < len(keys):
            # Two neighbours part at the byte that has the highest bit in which they differ.
            right = (KEY_BITS - (keys[place - 1] ^ keys[place]).bit_length()) // 8
        # A key branches off from both neighbours at the deeper of its two partings; bytes may
        # follow there.
        if max(left, right) < KEY_BYTES - 1:
            count += 1
        while partings[-1] > right:
            below: cython.int = partings.pop()
            above: cython.int = max(right, partings[-1])
            count += 2 if below - above > 1 else 1
        if right > partings[-1]:
            partings.append(right)
        left = right
    return count


AnyNode: TypeAlias = Node | ListpackNode

if not cython.compiled:
    # Compiled, it is a C function, which the module's C types import.
    from storage.memory import list_bytes

# Places of nodes dropped from the front stay in the lists, up to this share of them.
WASTE_SHARE = 1 / 32
_DROPPED: AnyNode = OpenNode(0, Shape([]))

# If less than one in this many entries of a node is wanted, each is looked up by itself.
SPARSE_WANTED = 8

# The number of nodes whose entries are counted in one step.
COUNTED_AT_ONCE = 128

_live_of = attrgetter("live")


@cython.cclass
class NodeList:
    """Nodes in ascending order of their keys."""

    __slots__ = (
        "_counted_bytes",
        "_head",
        "_keys",
        "_lender",
        "_lent",
        "_needs_lender",
        "_nodes",
        "_packing",
        "_read",
    )

    def __init__(self, packing: Packing) -> None:
        """`packing`: that of the stream, for nodes that are unpacked and frozen again."""
        self._packing = packing
        self._keys: list[EntryID] = []
        self._nodes: list[AnyNode] = []
        self._head = 0  # the index of the first node that counts
        self._counted_bytes = 0  # the memory of all nodes but the last
        self._read = 0  # the index of the node that was read last: most readers go on there
        self._lent = 0  # the number of readers that need the nodes to stay unchanged
        self._lender: NodeList | None = None  # the list that these nodes were shared from
        self._needs_lender = False  # the nodes here may still be the lender's

    def __len__(self) -> int:
        return len(self._nodes) - self._head

    def __iter__(self) -> Iterator[AnyNode]:
        """All nodes as they are, packed ones packed."""
        nodes = self._nodes
        for index in range(self._head, len(nodes)):
            yield nodes[index]

    def items(self) -> tuple[list[AnyNode], int]:
        """The list of nodes itself, not a copy, and the index of the first node.

        For a child process: a copy would count a reference to each node, and so copy the memory
        that it shares with the server.
        """
        return self._nodes, self._head

    def memory_bytes(self) -> int:
        """The memory in bytes, that of the nodes included."""
        last: cython.Py_ssize_t = len(self._nodes) - 1
        size: cython.long = _OWN_BYTES + list_bytes(self._keys) + list_bytes(self._nodes)
        size += self._counted_bytes
        return size + self._node_bytes(last) if last >= self._head else size

    @cython.cfunc
    def _node_bytes(self, index: cython.Py_ssize_t) -> cython.long:
        """The memory of a node, with its shape and form, unless the node before has them, too."""
        node = self._nodes[index]
        before: AnyNode | None = self._nodes[index - 1] if index > self._head else None
        size: cython.long
        if isinstance(node, FrozenNode):
            frozen: FrozenNode = node
            size = frozen.memory_bytes()
            if before is None or _form_of(before) is not frozen.form:
                size += form_bytes(frozen.form)
        elif isinstance(node, OpenNode):
            open_node: OpenNode = node
            size = open_node.memory_bytes()
        else:
            return node.memory_bytes()
        shape = _shape_of(node)
        if before is None or _shape_of(before) is not shape:
            size += shape.memory_bytes()  # type: ignore[union-attr]
        return size

    @cython.cfunc
    def _span_bytes(self, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.long:
        """The memory of the nodes at [start, end), as far as they are there, without the last."""
        total: cython.long = 0
        index: cython.Py_ssize_t
        for index in range(max(start, self._head), min(end, len(self._nodes) - 1)):
            total += self._node_bytes(index)
        return total

    @cython.cfunc
    def _put(self, index: cython.Py_ssize_t, node: Node | ListpackNode) -> None:
        """Put a node in the place of another."""
        former_bytes: cython.long = self._span_bytes(index, index + 2)
        self._nodes[index] = node
        self._counted_bytes += self._span_bytes(index, index + 2) - former_bytes

    def note_change(self, node: Node, former_bytes: cython.long) -> None:
        """Note that a node was modified, which took `former_bytes` before."""
        if node is not self._nodes[-1]:
            self._counted_bytes += node.memory_bytes() - former_bytes

    def keys(self) -> list[EntryID]:
        """The keys of all nodes, ascending."""
        return self._keys[self._head :]

    def peek_first(self) -> AnyNode | None:
        """The node with the smallest key, as it is."""
        return self._nodes[self._head] if self._head < len(self._nodes) else None

    def peek_last(self) -> AnyNode | None:
        """The node with the greatest key, as it is."""
        return self._nodes[-1] if self else None

    def peek(self, index: int) -> AnyNode:
        """The node at a place in the order, as it is."""
        return self._nodes[self._head + index]

    # -- nodes to look into ----------------------------------------------------------------------
    # All of these raise DamagedNode if a node cannot be unpacked; it then stays as it is.

    def find(self, entry_id: EntryID) -> Node | None:
        """The only node that can hold `entry_id`."""
        index = self._index(entry_id)
        if index < self._head or self._ends_before(index, entry_id):
            return None
        return self._opened(index)

    def between(self, start: EntryID, end: EntryID) -> Iterator[Node]:
        """The nodes that can hold IDs from `start` to `end`, ascending."""
        keys, nodes = self._keys, self._nodes
        for index in range(self._lowest(start), len(keys)):
            if keys[index] > end:
                break
            node = nodes[index]
            yield self._opened(index) if isinstance(node, ListpackNode) else node

    def down_between(self, end: EntryID, start: EntryID) -> Iterator[Node]:
        """The nodes that can hold IDs from `end` down to `start`, descending."""
        for index in range(self._index(end), self._lowest(start) - 1, -1):
            yield self._opened(index)

    def open(self, node: AnyNode) -> Node:
        """The unpacked node in the list with the key of `node`."""
        return self._opened(self._index(node.key)) if isinstance(node, ListpackNode) else node

    def _opened(self, index: int) -> Node:
        node = self._nodes[index]
        if isinstance(node, ListpackNode):
            unpacked = node.unpack()
            unpacked.shape.join(self._packing)
            # The last node may be appended to.
            is_last = index == len(self._nodes) - 1
            node = unpacked if is_last else freeze(unpacked)
            self._put(index, node)
        return node

    def squeeze(self, node: ListpackNode) -> None:
        """Compress a packed node, if it is still there."""
        index = self._index(node.key)
        if index >= self._head and self._nodes[index] is node:
            squeezed = node.squeezed()
            if squeezed is not None:
                self._put(index, squeezed)

    def open_if_there(self, node: ListpackNode) -> Node:
        """The unpacked form of a node of the list; it replaces `node` if that is still there."""
        index = self._index(node.key)
        if index >= self._head and self._nodes[index] is node:
            opened = self._opened(index)
            # It may have become the last node meanwhile, which must be one that takes entries.
            return opened.copy() if index == len(self._nodes) - 1 else opened
        return node.unpack()

    # -- entries of several nodes ----------------------------------------------------------------
    # In wire form: (number of entries, chunks). Only the node at an end of a range may have entries
    # that are not in it; the others need not compare IDs.

    def select(
        self, start: EntryID, end: EntryID, limit: cython.Py_ssize_t
    ) -> tuple[int, list[bytes]]:
        """The first `limit` entries of a range, ascending."""
        left: cython.Py_ssize_t = limit
        chunks: list[bytes] = []
        index: cython.Py_ssize_t = self._lowest(start)
        last: cython.Py_ssize_t = len(self._keys) - 1 if end == MAX_ID else self._index(end)
        while left and index <= last:
            node = self._nodes[index]
            if isinstance(node, ListpackNode):
                node = self._opened(index)
            found, parts = node.select(start, end if index == last else MAX_ID, left)
            chunks += parts
            left -= found
            start = MIN_ID
            index += 1
        return limit - left, chunks

    def read_from(self, ids: EntryIDs, start: EntryID, limit: cython.Py_ssize_t) -> list[bytes]:
        """The first `limit` entries from an ID on in chunks; theirs are appended to `ids`."""
        chunks: list[bytes] = []
        index: cython.Py_ssize_t = self._lowest(start)
        end: cython.Py_ssize_t = ids.count + limit
        while ids.count < end and index < len(self._nodes):
            node = self._nodes[index]
            if isinstance(node, FrozenNode):  # as most are
                frozen: FrozenNode = node
                chunks += frozen.read_from(ids, start, end - ids.count)
            else:
                chunks += self._opened(index).read_from(ids, start, end - ids.count)
            index += 1
        return chunks

    def entries_of(self, ids: list[EntryID]) -> list[bytes | None]:
        """The entry of each of these IDs, or None. Fastest for runs of consecutive entries."""
        entries: list[bytes | None] = []
        while len(entries) < len(ids):
            done = len(entries)
            node = self.find(ids[done])
            if node is None:
                entries.append(None)
                continue
            wanted = _run_up_to(ids, done, node.highest_id)
            if len(wanted) * SPARSE_WANTED < node.live:
                entries += map(node.get, wanted)
                continue
            there = node.select_ids(wanted[0], wanted[-1], node.live)
            found = node.select_entries(wanted[0], wanted[-1])
            if there == wanted:
                entries += found
            else:
                entries += map(dict(zip(there, found, strict=True)).get, wanted)
        return entries

    def select_down(self, start: EntryID, end: EntryID, limit: int) -> tuple[int, list[bytes]]:
        """The last `limit` entries of a range, descending."""
        left = limit
        chunks: list[bytes] = []
        index = len(self._keys) - 1 if end == MAX_ID else self._index(end)
        first = self._lowest(start)
        while left and index >= first:
            node = self._nodes[index]
            if isinstance(node, ListpackNode):
                node = self._opened(index)
            found, parts = node.select_down(start if index == first else MIN_ID, end, left)
            chunks += parts
            left -= found
            end = MAX_ID
            index -= 1
        return limit - left, chunks

    def exceeds_bytes(
        self,
        start: EntryID,
        end: EntryID,
        limit: cython.Py_ssize_t,
        max_bytes: cython.Py_ssize_t,
        is_reverse: cython.bint,
    ) -> bool:
        """Return True if the first `limit` entries of a range have more than `max_bytes` bytes.

        An estimate: within a node all entries count as equally long.
        """
        first: cython.Py_ssize_t = self._lowest(start)
        last: cython.Py_ssize_t = len(self._keys) - 1 if end == MAX_ID else self._index(end)
        index: cython.Py_ssize_t = last if is_reverse else first
        live: cython.Py_ssize_t
        size: cython.Py_ssize_t
        while limit > 0 and first <= index <= last:
            node = self._nodes[index]
            live = node.live
            size = _unpacked_bytes(node)
            if limit < live:
                size = size // live * limit
            max_bytes -= size
            if max_bytes < 0:
                return True
            limit -= live
            index += -1 if is_reverse else 1
        return False

    # -- copy on write ---------------------------------------------------------------------------

    def count_between(self, start: EntryID, end: EntryID) -> int:
        """The number of nodes that can hold IDs from `start` to `end`."""
        return max(0, self._index(end) + 1 - max(self._index(start), self._head))

    def lend(self, start: EntryID, end: EntryID) -> list[AnyNode]:
        """The nodes that can hold IDs from `start` to `end`, for a reader that needs them later.

        They stay unchanged until `give_back`: writers modify a copy (`own`).
        """
        nodes = self._nodes[self._lowest(start) : self._index(end) + 1]
        if nodes and nodes[-1] is self._nodes[-1]:
            nodes[-1] = nodes[-1].copy()  # the only one that may be appended to
        self._lent += 1
        return nodes

    def give_back(self) -> None:
        """End a `lend`: the reader does not need the nodes any more."""
        self._lent -= 1
        self._return_to_lender()

    def _return_to_lender(self) -> None:
        """Give shared nodes back to the lender once neither this list nor a reader needs them."""
        if self._lender is not None and not self._needs_lender and not self._lent:
            lender, self._lender = self._lender, None
            lender.give_back()

    def own(self, node: Node) -> Node:
        """A node that may be modified: copied first, in its place, if a reader holds it."""
        if self._lent or self._needs_lender:
            node = node.copy()
            self.replace(node)
        return node

    def share(self, packing: Packing) -> NodeList:
        """A list of the same nodes, for another stream. Either copies one to change it."""
        twin = NodeList(packing)
        twin._keys = self.keys()
        twin._nodes = self.lend(MIN_ID, MAX_ID)
        twin._lender = self
        twin._needs_lender = True
        twin._counted_bytes = self._counted_bytes
        return twin

    def _lowest(self, entry_id: EntryID) -> cython.Py_ssize_t:
        """The index of the first node that can hold `entry_id` or greater ones."""
        index: cython.Py_ssize_t = self._read
        if not self._is_in(index, entry_id):
            index = bisect_right(self._keys, entry_id, self._head) - 1
            if index < self._head:
                return self._head  # all IDs are greater
            self._read = index
        return index + 1 if self._ends_before(index, entry_id) else index

    def _is_in(self, index: cython.Py_ssize_t, entry_id: EntryID) -> cython.bint:
        """Return True if there is a node at this index, and `entry_id` belongs to it."""
        keys = self._keys
        last: cython.Py_ssize_t = len(keys) - 1
        if not self._head <= index <= last:
            return False
        key = keys[index]
        if index == last or entry_id < key:
            return entry_id >= key
        following = keys[index + 1]
        return entry_id < following

    def _ends_before(self, index: cython.Py_ssize_t, entry_id: EntryID) -> bool:
        """Return True if the node is known, without unpacking it, to end before `entry_id`."""
        node = self._nodes[index]
        if isinstance(node, FrozenNode):  # as most are
            return False
        return isinstance(node, ListpackNode) and node.end < entry_id

    # -- changing --------------------------------------------------------------------------------

    def append(self, node: AnyNode) -> None:
        """Append a node; its key is above all others."""
        last: cython.Py_ssize_t = len(self._nodes) - 1
        if last >= self._head:
            self._counted_bytes += self._node_bytes(last)
        self._keys.append(node.key)
        self._nodes.append(node)

    def replace(self, node: Node) -> None:
        """Put `node` in the place of the one with the same key."""
        self._put(self._index(node.key), node)

    def replace_last(self, node: Node) -> None:
        """Put `node` in the place of the last one."""
        self._nodes[-1] = node

    def count_whole(self, nodes: int, entries: int) -> tuple[int, int]:
        """The number of first nodes, up to `nodes`, that hold at most `entries` live entries.

        The second result is the number of these entries.
        """
        counted = total = 0
        for start in range(self._head, self._head + nodes, COUNTED_AT_ONCE):
            group = self._nodes[start : min(start + COUNTED_AT_ONCE, self._head + nodes)]
            totals = list(accumulate(map(_live_of, group), initial=total))
            if totals[-1] > entries:
                fitting = bisect_right(totals, entries) - 1
                return counted + fitting, totals[fitting]
            counted += len(group)
            total = totals[-1]
        return counted, total

    def count_droppable(self, entries: int, length: int) -> tuple[int, int]:
        """Return count_whole() of all nodes, which hold `length` live entries."""
        if 2 * entries <= length:
            return self.count_whole(len(self), entries)
        count, missing = len(self), length - entries
        for node in reversed(self._nodes):
            if missing <= 0:
                break
            missing -= node.live
            count -= 1
        return count, entries + missing

    def count_live(self, nodes: int, entries: int) -> int:
        """The number of live entries in the first `nodes` nodes; `entries` is that of all nodes."""
        end = self._head + nodes
        if 2 * nodes > len(self):
            return entries - sum(node.live for node in self._nodes[end:])
        return sum(node.live for node in self._nodes[self._head : end])

    def count_before(self, entry_id: EntryID) -> int:
        """The number of nodes with keys below `entry_id`."""
        return bisect_left(self._keys, entry_id, self._head) - self._head

    def drop_first(self, count: int = 1) -> RemovedData:
        """Remove the first `count` nodes; return them as data to free."""
        removed_data = RemovedData()
        head, end = self._head, self._head + count
        is_more_than_half = end > len(self._nodes) / 2
        if not is_more_than_half:
            self._counted_bytes -= self._span_bytes(head, end + 1)
        if end <= len(self._nodes) * WASTE_SHARE:
            # The lists are compacted later, for many nodes at once.
            removed_data.add(self._nodes[head:end], NODE_ITEMS)
            self._nodes[head:end] = [_DROPPED] * count
            self._head = end
            self._counted_bytes += self._span_bytes(end, end + 1)
            return removed_data
        self._head = 0
        if is_more_than_half:
            # The lists are handed over whole: visiting each node would take milliseconds.
            nodes, self._nodes = self._nodes, self._nodes[end:]
            keys, self._keys = self._keys, self._keys[end:]
            del nodes[end:], keys[end:]
            removed_data.add(keys, SMALL_ITEMS)
            self._counted_bytes = self._span_bytes(0, len(self._nodes))
        else:
            nodes = self._nodes[head:end]
            del self._nodes[:end], self._keys[:end]
            self._counted_bytes += self._span_bytes(0, 1)
        removed_data.add(nodes, NODE_ITEMS)
        return removed_data

    def take_all(self) -> list[AnyNode]:
        """Remove and return all nodes."""
        nodes, self._nodes, self._keys, self._head = self._nodes, [], [], 0
        self._counted_bytes = 0
        self._needs_lender = False
        self._return_to_lender()
        return nodes

    def drop(self, place: int, count: int) -> RemovedData:
        """Remove `count` nodes from a place in the order on; return them as data to free."""
        if not place:
            return self.drop_first(count)
        removed_data = RemovedData()
        start, end = self._head + place, self._head + place + count
        former_bytes: cython.long = self._span_bytes(start - 1, end + 1)
        removed_data.add(self._nodes[start:end], NODE_ITEMS)
        del self._keys[start:end], self._nodes[start:end]
        self._counted_bytes += self._span_bytes(start - 1, start + 1) - former_bytes
        return removed_data

    def remove(self, node: Node) -> None:
        """Remove a node from anywhere."""
        self.drop(self._index(node.key) - self._head, 1)

    @cython.cfunc
    def _index(self, entry_id: EntryID) -> cython.Py_ssize_t:
        """The index of the last node whose key is not above `entry_id`; below the head if none."""
        return bisect_right(self._keys, entry_id, self._head) - 1


_OWN_BYTES: cython.long = instance_bytes(NodeList)


def _unpacked_bytes(node: AnyNode) -> cython.Py_ssize_t:
    """The size of the entries of a node, or about that."""
    if isinstance(node, FrozenNode):
        frozen: FrozenNode = node
        return frozen.size_bytes
    if isinstance(node, OpenNode):
        open_node: OpenNode = node
        return open_node.memory_bytes()
    return node.listpack_bytes()


def _shape_of(node: AnyNode) -> Shape | None:
    if isinstance(node, FrozenNode):
        return node._shape
    return node.shape if isinstance(node, OpenNode) else None


def _form_of(node: AnyNode) -> Form | None:
    return node.form if isinstance(node, FrozenNode) else None


def _run_up_to(ids: list[EntryID], start: int, end: EntryID) -> list[EntryID]:
    """The ascending run of IDs up to `end` that begins at index `start`: at least one ID."""
    last = ids[start]
    for place in range(start + 1, len(ids)):
        if not last < ids[place] <= end:
            return ids[start:place]
        last = ids[place]
    return ids[start:]
