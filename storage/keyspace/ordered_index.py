"""An ordered map from int to object: for deadlines, pending entries and sparse keys.

Keys are mostly added in ascending order and removed from anywhere. They live in blocks: small dicts
that each hold one range of keys, in a list that is ordered by the ranges. A dict keeps its items in
the order of insertion, so a block that was filled in ascending order is ordered already; one that
took a key out of order is sorted when it is next walked.

Guarantees: a lookup, an append or a removal touches one block, and one that finds its key in the
block used last does not search for it. No operation but a walk depends on the number of items
beyond a binary search over the blocks, and none ever rehashes or moves them all, so that an index
of millions causes no pause. Empty blocks are dropped, and sparse neighbours are merged.

Leaves out: None as an item (it stands for "not there"), and keys outside of [0, 2**128).

`Chance` makes fast random numbers, for choices that need no protection against prediction: an
xorshift64* generator: a few instructions, where the system's source of randomness takes a
microsecond a number. Its start comes from there, so that clients cannot know what comes next.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeAlias

import cython

from storage.memory import instance_bytes

if not cython.compiled:
    # Compiled, they are C functions, which the module's C types import.
    from storage.memory import dict_bytes, int_object_bytes, list_bytes, set_bytes


@cython.cclass
class Chance:
    """A sequence of random numbers."""

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        """`seed`: any number in [0, 2**63)."""
        self._state = seed | 1

    def below(self, limit: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """A number in [0, limit), for a limit up to 2**31."""
        mask: cython.ulonglong = 0xFFFFFFFFFFFFFFFF  # of C: a module's constants are objects
        multiplier: cython.ulonglong = 0x2545F4914F6CDD1D
        drawn: cython.Py_ssize_t
        state: cython.ulonglong = self._state
        state ^= state >> 12
        state = (state << 25 ^ state) & mask
        state ^= state >> 27
        self._state = state
        drawn = (state * multiplier & mask) >> 33
        return drawn % limit

    def __call__(self, limit: int) -> int:
        """`below`, for what takes any source of random numbers."""
        return self.below(limit)


Key: TypeAlias = int  # by another name, because compiled it is any object

KEY_LIMIT = 2**128

# The number of items that a dict takes before it grows beyond 512 slots: small enough to sort or
# merge within microseconds, large enough that a million items make only three thousand blocks.
BLOCK_ITEMS = 341
_BLOCK_ITEMS: cython.Py_ssize_t = BLOCK_ITEMS

# A block that shrinks to one of these sizes is merged with a neighbour, if there is room.
MERGE_AT = frozenset({0, BLOCK_ITEMS // 8, BLOCK_ITEMS // 4})


@cython.cclass
class OrderedIndex:
    """Items by key; see the module for what it guarantees."""

    __slots__ = (
        "_blocks",
        "_bounds",
        "_full_bytes",
        "_length",
        "_recent",
        "_recent_end",
        "_recent_start",
        "_top",
        "_unsorted",
    )

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Remove everything."""
        tail: dict[int, Any] = {}
        # _blocks[i] holds the keys in [_bounds[i], _bounds[i + 1]). Only the last may be empty.
        self._blocks = [tail]
        self._bounds = [0]
        self._full_bytes = 0  # the memory of all blocks but the last, without their items
        # The bounds of blocks that took a key out of order, which few indexes ever have.
        self._unsorted: set[int] | None = None
        self._length = 0
        self._top = -1  # no key was ever greater
        self._recent = tail  # the block used last, and its range
        self._recent_start = 0
        self._recent_end = KEY_LIMIT

    def __len__(self) -> int:
        return self._length

    def __contains__(self, key: Key) -> bool:
        return self.get(key) is not None

    def __getitem__(self, key: Key) -> Any:
        item = self.get(key)
        if item is None:
            raise KeyError(key)
        return item

    def get(self, key: Key) -> Any:
        """The item at `key`, or None."""
        if self._recent_start <= key < self._recent_end:
            return self._recent.get(key)
        return self._find(key).get(key)

    def __setitem__(self, key: Key, item: Any) -> None:
        assert item is not None
        if key > self._top:
            self.append(key, item)
            return
        block = self._find(key)
        if key not in block:
            self._length += 1
            if self._unsorted is None:
                self._unsorted = set()
            self._unsorted.add(self._recent_start)
            former_bytes: cython.long = dict_bytes(block)
            block[key] = item
            if block is not self._blocks[-1]:
                self._full_bytes += dict_bytes(block) - former_bytes
            if len(block) > 2 * BLOCK_ITEMS:
                self._split(key)
        else:
            block[key] = item

    def append(self, key: Key, item: Any) -> None:
        """Add an item at a key above all earlier ones, removed ones included."""
        tail = self._blocks[-1]
        if len(tail) >= BLOCK_ITEMS:
            tail = self._open_block(key)
        tail[key] = item
        self._top = key
        self._length += 1

    def extend(self, keys: list[int], items: list[Any]) -> None:
        """Add many items at once; `keys` ascend and are all new.

        Fastest above every existing key.
        """
        if not keys:
            return
        if keys[0] <= self._top:
            for key, item in zip(keys, items, strict=True):
                self[key] = item
            return
        added = 0
        while added < len(keys):
            tail = self._blocks[-1]
            if len(tail) >= BLOCK_ITEMS:
                tail = self._open_block(keys[added])
            end = added + BLOCK_ITEMS - len(tail)
            tail.update(zip(keys[added:end], items[added:end], strict=True))
            added = end
        self._top = keys[-1]
        self._length += len(keys)

    def pop(self, key: Key, default: Any = None) -> Any:
        """Remove and return the item at `key`; `default` if there is none."""
        if self._recent_start <= key < self._recent_end:
            block = self._recent
        else:
            block = self._find(key)
        item = block.pop(key, None)
        if item is None:
            return default
        self._length -= 1
        if len(block) in MERGE_AT and block is not self._blocks[-1]:
            self._merge(key)
        return item

    def random_key(self, chance: Chance) -> int | None:
        """A key, each equally likely; None of nothing."""
        blocks = self._blocks
        if len(blocks) == 1:
            block = blocks[0]
            if not block:
                return None
            return next(islice(block, chance.below(len(block)), None))
        while self._length:
            block = blocks[chance.below(len(blocks))]
            key = key_in_slot(block, chance.below(2 * _BLOCK_ITEMS))
            if key is not None:
                return key
        return None

    # -- walking -------------------------------------------------------------------------------
    # A walk copies one block at a time, so the index may be changed meanwhile. What is removed
    # may still be yielded, and what is added may be missed, within the block the walk is in.

    def first_key(self) -> int | None:
        """The smallest key, or None."""
        return next(iter(self._sorted(0)), None)

    def last_key(self) -> int | None:
        """The greatest key, or None."""
        for index in range(len(self._blocks) - 1, -1, -1):
            if self._blocks[index]:
                last: int = next(reversed(self._sorted(index)))
                return last
        return None

    def floor_key(self, key: Key) -> int | None:
        """The greatest key that is not above this one, or None."""
        for index in range(self._index_of(key), -1, -1):
            keys = list(self._sorted(index))
            if keys and keys[0] <= key:
                return keys[bisect_right(keys, key) - 1]
        return None

    def items_from(self, start: int) -> Iterator[tuple[int, Any]]:
        """(key, item) of every key >= `start`, ascending."""
        while True:
            index = self._index_of(start)
            block = self._sorted(index)
            end = self._bounds[index + 1] if index + 1 < len(self._bounds) else KEY_LIMIT
            items = list(block.items())
            if start > self._bounds[index]:
                del items[: bisect_left(list(block), start)]
            yield from items
            if end == KEY_LIMIT:
                return
            start = end

    def items_down_from(self, start: int) -> Iterator[tuple[int, Any]]:
        """(key, item) of every key <= `start`, descending."""
        while start >= 0:
            index = self._index_of(start)
            block = self._sorted(index)
            bound = self._bounds[index]
            items = list(block.items())
            del items[bisect_right(list(block), start) :]
            yield from reversed(items)
            start = bound - 1

    def __iter__(self) -> Iterator[int]:
        return (key for key, _ in self.items_from(0))

    def items(self) -> Iterator[tuple[int, Any]]:
        """All (key, item), ascending."""
        return self.items_from(0)

    def values(self) -> Iterator[Any]:
        """All items, in ascending order of their keys."""
        return (item for _, item in self.items_from(0))

    # -- the whole -----------------------------------------------------------------------------

    def blocks(self) -> list[tuple[int, dict[int, Any]]]:
        """(smallest possible key, items by key) of each block, ascending; a few per thousand items.

        A block may be out of order. Later additions and removals show in these dicts, too, unless
        their block was split or merged meanwhile.
        """
        return list(zip(self._bounds, self._blocks, strict=True))

    def take_blocks(self) -> list[dict[int, Any]]:
        """Remove everything; return the blocks, for a caller that frees them incrementally."""
        blocks = self._blocks
        self.clear()
        return blocks

    def memory_bytes(self) -> int:
        """The memory of the index in bytes, without its items.

        All keys count as the greatest one: ints of one magnitude take the same.
        """
        tail: dict[int, Any] = self._blocks[-1]
        size: cython.long = _OWN_BYTES + list_bytes(self._blocks) + list_bytes(self._bounds)
        size += self._full_bytes + dict_bytes(tail)
        if self._unsorted is not None:
            size += set_bytes(self._unsorted)
        size += self._length * int_object_bytes(self._top)
        return size

    # -- blocks --------------------------------------------------------------------------------

    def _index_of(self, key: Key) -> int:
        return bisect_right(self._bounds, key) - 1

    @cython.cfunc
    def _find(self, key: Key) -> dict[int, Any]:
        """The block whose range `key` is in; it is the recent one from now on."""
        index = self._index_of(key)
        bounds = self._bounds
        self._recent = self._blocks[index]
        self._recent_start = bounds[index]
        self._recent_end = bounds[index + 1] if index + 1 < len(bounds) else KEY_LIMIT
        return self._recent

    @cython.cfunc
    def _open_block(self, bound: Key) -> dict[int, Any]:
        """A new last block, for keys from `bound` on."""
        tail: dict[int, Any] = {}
        self._full_bytes += dict_bytes(self._blocks[-1])
        self._blocks.append(tail)
        self._bounds.append(bound)
        self._find(bound)
        return tail

    def _sorted(self, index: int) -> dict[int, Any]:
        """The block at `index`, its items in ascending order."""
        block = self._blocks[index]
        bound = self._bounds[index]
        if self._unsorted is not None and bound in self._unsorted:
            self._unsorted.discard(bound)
            block = self._replace(index, block.items())
        return block

    def _replace(self, index: int, items: Iterable[tuple[int, Any]]) -> dict[int, Any]:
        block = dict(sorted(items, key=_key_of))
        self._count_full(index, index + 1, -1)
        self._blocks[index] = block
        self._count_full(index, index + 1, 1)
        self._find(self._bounds[index])
        return block

    def _count_full(self, start: int, end: int, sign: int) -> None:
        """Add these blocks to the memory, or subtract them, as far as they are not the last."""
        block: dict[int, Any]
        for block in self._blocks[start : min(end, len(self._blocks) - 1)]:
            self._full_bytes += sign * dict_bytes(block)

    def _split(self, key: Key) -> None:
        """Make two blocks of the one that `key` is in."""
        index = self._index_of(key)
        block = self._sorted(index)
        middle = len(block) // 2
        upper = dict(islice(block.items(), middle, None))
        lower = dict(islice(block.items(), middle))
        self._count_full(index, index + 1, -1)
        self._blocks[index : index + 1] = [lower, upper]
        self._count_full(index, index + 2, 1)
        self._bounds.insert(index + 1, next(iter(upper)))
        self._find(key)

    def _merge(self, key: Key) -> None:
        """Join the sparse block that `key` is in with a neighbour that has room for it."""
        index = self._index_of(key)
        size = len(self._blocks[index])
        if index + 1 < len(self._blocks) and self._can_join(index, index + 1):
            lower = index
        elif index > 0 and self._can_join(index - 1, index):
            lower = index - 1
        elif size == 0:
            lower = index
        else:
            return
        joined = self._sorted(lower) | self._sorted(lower + 1)
        self._count_full(lower, lower + 2, -1)
        self._blocks[lower : lower + 2] = [joined]
        self._count_full(lower, lower + 1, 1)
        del self._bounds[lower + 1]
        self._find(key)

    def _can_join(self, lower: int, upper: int) -> bool:
        return len(self._blocks[lower]) + len(self._blocks[upper]) <= BLOCK_ITEMS // 2


if not cython.compiled:
    # Compiled, it is a C function, which takes the same time for each slot.
    def key_in_slot(block: dict[int, Any], slot: int) -> int | None:
        """The key in a slot of a dict, None in a free one."""
        return next(islice(block, slot, None), None)


def _key_of(item: tuple[int, Any]) -> int:
    return item[0]


_OWN_BYTES: cython.long = instance_bytes(OrderedIndex)
