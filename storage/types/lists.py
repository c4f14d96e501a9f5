"""A list: elements in order, pushed and popped at both ends.

A few short elements are in one bytes object, as they are in a listpack; a change makes another one.
More are in the nodes of a `Quicklist` (storage/types/quicklist.py), and come back once they are
half as many. That does not depend on OBJECT ENCODING, which follows Redis's limits.

Leaves out: empty lists; commands remove the key.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import cython

from storage.keyspace.deferred_free import NO_WASTE, RemovedData
from storage.memory import instance_bytes
from storage.redis_format.encoding_limits import EncodingLimits
from storage.redis_format.listpack_elements import ELEMENT_FRAME_BYTES
from storage.types.list_nodes import ListNode, max_count, nodes_of
from storage.types.quicklist import Quicklist
from storage.types.value import Value

if not cython.compiled:
    # Compiled, they are C functions, which the module's C types import.
    from storage.memory import bytes_object_bytes, put_bytes
    from storage.redis_format.listpack_elements import (
        element_bytes,
        next_equal,
        place_after,
        place_before,
        word_at,
        words_at,
        write_word,
    )
    from storage.types.blocks import filled, new_bytes
    from storage.types.list_nodes import bulks_at, encoded

# The number of elements that are copied or written in about 0.1 ms.
ITEMS_PER_STEP = 2000

# Up to this many bytes of elements are in one object.
FEW_BYTES = 256
_FEW_BYTES: cython.Py_ssize_t = FEW_BYTES
_FRAME_BYTES: cython.Py_ssize_t = ELEMENT_FRAME_BYTES


@cython.no_gc  # it refers to bytes, and to nodes with bytes
@cython.cclass
class ListValue(Value):
    """One list."""

    __slots__ = ("_few", "_length", "_many")

    type_name = b"list"

    def __init__(self, access_ms: int = 0) -> None:
        super().__init__(access_ms)
        self._few: bytes = b""
        self._many: Quicklist | None = None  # in its place
        self._length = 0

    def __dealloc__(self) -> None:
        if self._keeper is not None:
            self._keeper.give_back(self)

    @classmethod
    def of_nodes(
        cls, nodes: Iterable[ListNode], limits: EncodingLimits, access_ms: int = 0
    ) -> ListValue:
        """A list of the given nodes."""
        made: ListValue = cls(access_ms)
        made._many = Quicklist.of_nodes(nodes, limits)
        made._length = made._many._length
        made._pack(FEW_BYTES)
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
        return b"listpack" if self._many is None or not self._many.is_quicklist else b"quicklist"

    @property
    def nodes(self) -> list[ListNode]:
        """The nodes, to be read."""
        return self._quicklist().nodes

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._length

    @property
    def effort(self) -> int:
        """The time to copy or write the list, in steps of about 0.1 ms."""
        return 1 + self._length // ITEMS_PER_STEP

    def copy(self) -> ListValue:
        """An independent list with the same elements, encoding and access time."""
        copy = ListValue(self.access_ms)
        copy._few, copy._length = self._few, self._length
        copy._many = None if self._many is None else self._many.copy()
        return copy

    def memory_bytes(self) -> int:
        """The memory of the list in bytes."""
        if self._many is None:
            return _OWN_BYTES + bytes_object_bytes(len(self._few))
        return _OWN_BYTES + self._many.memory_bytes()

    def release(self) -> RemovedData:
        """Give up the elements when the list is removed; the data to free."""
        if self._many is None:
            return NO_WASTE
        self._length = 0
        return self._many.release()

    # -- forms ---------------------------------------------------------------------------------

    def _quicklist(self) -> Quicklist:
        """The elements in nodes, to be read: its own, or those of a copy."""
        if self._many is not None:
            return self._many
        return Quicklist.of_elements(self._few, self._length) if self._length else Quicklist()

    def _unpack(self) -> Quicklist:
        """The elements in nodes of its own."""
        if self._many is None:
            self._many = self._quicklist()
            self._few = b""
        return self._many

    @cython.cfunc
    def _pack(self, most_bytes: cython.Py_ssize_t) -> None:
        """Put elements that have few enough bytes into one object."""
        assert self._many is not None
        few = self._many.few(most_bytes)
        if few is not None:
            self._few, self._many = few, None

    def _are_few(self, items: list[bytes], limits: EncodingLimits) -> cython.bint:
        """Return True if all elements still are in one object, with these ones, too."""
        if self._many is not None:
            return False
        size: cython.Py_ssize_t = len(self._few)
        item: bytes
        for item in items:
            size += len(item) + _FRAME_BYTES
        if size > _FEW_BYTES:
            return False
        return self._length + len(items) <= max_count(limits.list_max_listpack_size)

    # -- reading -------------------------------------------------------------------------------

    def _place_of(self, index: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Where one of a few elements begins, or the last one ends."""
        text: cython.p_const_uchar = self._few
        if 2 * index <= self._length:
            return place_after(text, 0, index)
        return place_before(text, len(self._few), self._length - index)

    def __getitem__(self, index: cython.Py_ssize_t) -> bytes:
        """The element at `index`, 0 being the first; there is one."""
        return self.at(index)

    def at(self, index: cython.Py_ssize_t) -> bytes:
        """The element at `index`, 0 being the first; there is one."""
        if self._many is not None:
            return self._many.at(index)
        text: cython.p_const_uchar = self._few
        return word_at(text, self._place_of(index))

    def bulks(self, head: bytes, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> bytes:
        """The elements from `start` to before `end`, both within the list, as bulk strings after
        some bytes."""
        if self._many is not None:
            return self._many.bulks(head, start, end)
        if start >= end:
            return head
        text: cython.p_const_uchar = self._few
        place: cython.Py_ssize_t = self._place_of(start)
        return bulks_at(head, text, place, self._place_of(end) - place, end - start)

    def spans(
        self, start: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> Iterator[tuple[ListNode, int, int]]:
        """The elements from `start` to before `end`, both within the list: for each node that has
        some the node, the offset of the first and that after the last."""
        return self._quicklist().spans(start, end)

    def slices(self, start: int, end: int) -> Iterator[list[bytes]]:
        """The elements from `start` to before `end`, both within the list, node by node."""
        return self._quicklist().slices(start, end)

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
        return self._quicklist().find(item, backwards=backwards)

    # -- the ends ------------------------------------------------------------------------------

    def push_left(self, items: list[bytes], limits: EncodingLimits) -> None:
        """Put elements before the first, one after the other: the last one is the first then."""
        if self._are_few(items, limits):
            self._few = _joined(items[::-1] if len(items) > 1 else items, self._few, True)
            self._length += len(items)
            return
        many = self._unpack()
        many.push_left(items, limits)
        self._length = many._length

    def push_right(self, items: list[bytes], limits: EncodingLimits) -> None:
        """Put elements after the last."""
        if self._are_few(items, limits):
            self._few = _joined(items, self._few, False)
            self._length += len(items)
            return
        many = self._unpack()
        many.push_right(items, limits)
        self._length = many._length

    def pop_left(self, count: cython.Py_ssize_t) -> list[bytes]:
        """Remove and return up to `count` elements from the front; call `shrink` after it."""
        if self._many is not None:
            taken = self._many.pop_left(count)
            self._length = self._many._length
            return taken
        some: cython.Py_ssize_t = min(count, self._length)
        text: cython.p_const_uchar = self._few
        taken = words_at(text, 0, some)
        self._few = self._few[self._place_of(some) :]
        self._length -= some
        return taken

    def pop_right(self, count: cython.Py_ssize_t) -> list[bytes]:
        """Remove and return up to `count` elements from the end, last first; then call `shrink`."""
        if self._many is not None:
            taken = self._many.pop_right(count)
            self._length = self._many._length
            return taken
        some: cython.Py_ssize_t = min(count, self._length)
        text: cython.p_const_uchar = self._few
        place: cython.Py_ssize_t = self._place_of(self._length - some)
        taken = words_at(text, place, some)
        if some > 1:
            taken.reverse()
        self._few = self._few[:place]
        self._length -= some
        return taken

    def shrink(self, limits: EncodingLimits) -> None:
        """Take a smaller form if few enough elements are left.

        To be called after removals, once the same command has pushed what it pushes.
        """
        if self._many is not None:
            self._many.shrink(limits)
            self._pack(_FEW_BYTES // 2)

    # -- the middle ----------------------------------------------------------------------------

    @cython.cfunc
    def _finish(self, many: Quicklist) -> None:
        """Take what was changed in the middle."""
        self._length = many._length
        self._pack(_FEW_BYTES // 2)

    def trim(self, start: cython.Py_ssize_t, end: cython.Py_ssize_t) -> RemovedData:
        """Keep the elements [start, end), both within the list; return the data to free.

        Call `shrink` after it.
        """
        if self._many is None:
            self._few = self._few[self._place_of(start) : self._place_of(end)]
            self._length = max(end - start, 0)
            return NO_WASTE
        many = self._many
        removed = many.trim(start, end)
        self._finish(many)
        return removed

    def remove(self, item: bytes, count: cython.long) -> cython.Py_ssize_t:
        """Remove up to `count` elements that are `item`, the last ones if it is negative, all if it
        is 0; how many there were. `shrink` to follow."""
        if self._many is None:
            return self._remove_few(encoded(item), count)
        many = self._unpack()
        removed = many.remove(item, count)
        self._finish(many)
        return removed

    def _remove_few(self, element: bytes, count: cython.long) -> cython.Py_ssize_t:
        """`remove` of an encoded element where there are few."""
        text: cython.p_const_uchar = self._few
        size: cython.Py_ssize_t = len(self._few)
        equal: cython.Py_ssize_t = 0
        place: cython.Py_ssize_t = 0
        skipped: cython.Py_ssize_t
        if count < 0:
            while (skipped := next_equal(text, place, size, element)) >= 0:
                equal += 1
                place = place_after(text, place, skipped + 1)
        # How many of the equal ones stay: the first.
        staying: cython.Py_ssize_t = max(equal + count, 0) if count < 0 else 0
        most: cython.Py_ssize_t = count if count > 0 else self._length
        removed: cython.Py_ssize_t = 0
        start: cython.Py_ssize_t = 0
        kept: list[bytes] = []
        place = 0
        while removed < most:
            skipped = next_equal(text, place, size, element)
            if skipped < 0:
                break
            end: cython.Py_ssize_t = place_after(text, place, skipped)
            place = place_after(text, end, 1)
            if staying > 0:
                staying -= 1
                continue
            kept.append(self._few[start:end])
            start = place
            removed += 1
        if removed:
            kept.append(self._few[start:])
            self._few = b"".join(kept)
            self._length -= removed
        return removed

    def set(self, index: int, item: bytes, limits: EncodingLimits) -> None:
        """Put `item` in the place of the element at `index`."""
        many = self._unpack()
        many.set(index, item, limits)
        self._finish(many)

    def prepare(self, item: bytes, limits: EncodingLimits) -> None:
        """Convert to a quicklist before `item` is set or inserted, found its place or not, if Redis
        would.
        """
        if not self._are_few([item], limits):
            many = self._unpack()
            many._stays_listpack([item], limits)
            self._finish(many)

    def insert(self, index: int, item: bytes, limits: EncodingLimits, *, after: bool) -> None:
        """Put `item` before or after the element at `index`."""
        many = self._unpack()
        many.insert(index, item, limits, after=after)
        self._finish(many)


_OWN_BYTES: cython.long = instance_bytes(ListValue)


def _joined(items: list[bytes], few: bytes, in_front: cython.bint) -> bytes:
    """Elements with more of them in front or at the end."""
    size: cython.Py_ssize_t = len(few)
    item: bytes
    for item in items:
        size += element_bytes(item)
    made = new_bytes(size)
    out: cython.p_uchar = made
    place: cython.Py_ssize_t = 0
    if not in_front:
        place = put_bytes(out, 0, few, 0, len(few))
    for item in items:
        place = write_word(out, place, item, 0, len(item))
    if in_front:
        put_bytes(out, place, few, 0, len(few))
    return filled(made)
