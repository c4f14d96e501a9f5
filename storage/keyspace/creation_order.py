"""The keys of a database in the order in which they were created: for SCAN and random picks.

Each key has a serial number, greater than that of all keys before. Keys are in blocks, which have a
slot for each of 512 serials in a row: the hash of the key, by which the database's table finds it
(storage/keyspace/key_table.py), and 0 where the key was removed. So a key takes 8 bytes more, and
it is found, added and removed in constant time but for a binary search over the blocks.

The few keys that are left of a block's are moved to an `OrderedIndex`, which merges what is sparse:
however many keys come and go, what stays takes memory for itself only. Only the last block, which
new keys go to, may have few.

Leaves out: walks, which read the blocks (storage/keyspace/database.py). A block is not changed when
its keys move, and keys that are removed from a block become 0 in it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from heapq import merge

import cython

from storage.keyspace.key_table import KeyTable
from storage.keyspace.ordered_index import Chance, OrderedIndex
from storage.memory import instance_bytes

if not cython.compiled:
    # Compiled, they are C functions, which the module's C types import.
    from storage.keyspace.key_records import code_of_key
    from storage.memory import array_bytes, list_bytes

    def codes_of(numbers: array[int]) -> array[int]:
        """The array; compiled, a pointer to its numbers."""
        return numbers


SLOTS = 512
_SLOTS: cython.Py_ssize_t = SLOTS
# Up to this many keys of a block are moved.
_FEW: cython.Py_ssize_t = 64


@cython.cclass
class KeyBlock:
    """The keys with serials from `first` on."""

    __slots__ = ("codes", "count", "first")

    def __init__(self, first: cython.long) -> None:
        self.first = first
        self.count = 0
        self.codes: array[int] = array("Q", bytes(8 * SLOTS))

    def items(self) -> dict[int, int]:
        """The hashes of its keys by serial, in order."""
        return {self.first + slot: code for slot, code in enumerate(self.codes) if code}


@cython.cclass
class CreationOrder:
    """Keys by serial."""

    __slots__ = ("_blocks", "_count", "_recent", "_table", "rest")

    def __init__(self, table: KeyTable) -> None:
        self._table = table
        self._blocks: list[KeyBlock] = []
        self._recent: KeyBlock | None = None  # the block found last
        self.rest: OrderedIndex = OrderedIndex()  # what is left of other blocks
        self._count = 0  # of the keys in blocks

    def __len__(self) -> int:
        return self._count + len(self.rest)

    def _find(self, serial: cython.long) -> KeyBlock | None:
        """The block that has a serial; None if its key is in `rest`, if there is one."""
        block: KeyBlock | None = self._recent
        if block is not None and block.first <= serial < block.first + _SLOTS:
            return block
        index: cython.Py_ssize_t = self._index_of(serial)
        if index < 0:
            return None
        block = self._blocks[index]
        if serial >= block.first + _SLOTS:
            return None
        self._recent = block
        return block

    def _index_of(self, serial: cython.long) -> cython.Py_ssize_t:
        """The index of the last block that begins at a serial or before; -1 without one."""
        low: cython.Py_ssize_t = 0
        high: cython.Py_ssize_t = len(self._blocks)
        middle: cython.Py_ssize_t
        block: KeyBlock
        while low < high:
            middle = (low + high) >> 1
            block = self._blocks[middle]
            if block.first <= serial:
                low = middle + 1
            else:
                high = middle
        return low - 1

    def get(self, serial: cython.long) -> bytes | None:
        """The key with a serial, or None."""
        code: cython.ulonglong
        block = self._find(serial)
        if block is None:
            code = self.rest.get(serial) or 0
        else:
            code = codes_of(block.codes)[serial - block.first]
        return self._table.key_at(code, serial) if code else None

    # -- changing ------------------------------------------------------------------------------

    def append(self, serial: cython.long, key: bytes) -> None:
        """Add a key with a serial above all earlier ones."""
        last: cython.Py_ssize_t = len(self._blocks) - 1
        block: KeyBlock
        code: cython.ulonglong = code_of_key(key)
        if last >= 0:
            block = self._blocks[last]
            if serial < block.first + _SLOTS:
                codes_of(block.codes)[serial - block.first] = code
                block.count += 1
                self._count += 1
                return
            if block.count <= _FEW:
                self._give_up(last)
        block = KeyBlock(serial)
        self._blocks.append(block)
        codes_of(block.codes)[0] = code
        block.count = 1
        self._count += 1

    def extend(self, serial: cython.long, keys: list[bytes]) -> None:
        """Add keys with serials from this one on, in a row."""
        key: bytes
        for key in keys:
            self.append(serial, key)
            serial += 1

    def remove(self, serial: cython.long) -> None:
        """Remove the key with a serial."""
        block = self._find(serial)
        if block is None:
            self.rest.pop(serial)
            return
        codes_of(block.codes)[serial - block.first] = 0
        block.count -= 1
        self._count -= 1
        # The last block stays: a key that comes and goes again and again would make one each time.
        if block.count <= _FEW and block is not self._blocks[len(self._blocks) - 1]:
            self._give_up(self._index_of(serial))

    @cython.cfunc
    def _give_up(self, index: cython.Py_ssize_t) -> None:
        """Move the keys of a block to the rest."""
        block: KeyBlock = self._blocks[index]
        del self._blocks[index]
        self._recent = None
        self._count -= block.count
        if block.count:
            for serial, code in block.items().items():
                self.rest[serial] = code

    # -- reading -------------------------------------------------------------------------------

    def keys_down_from(self, start: cython.long, count: cython.long) -> tuple[int, list[bytes]]:
        """Up to `count` keys from a serial downwards, and the serial of the next one, 0 without."""
        keys: list[bytes] = []
        rest = self.rest.items_down_from(start) if len(self.rest) else iter(())
        beside = next(rest, None)
        index: cython.Py_ssize_t
        slot: cython.Py_ssize_t
        code: cython.ulonglong
        for index in range(self._index_of(start), -1, -1):
            block: KeyBlock = self._blocks[index]
            for slot in range(min(start - block.first, _SLOTS - 1), -1, -1):
                code = codes_of(block.codes)[slot]
                if code == 0:
                    continue
                serial: cython.long = block.first + slot
                while beside is not None and beside[0] > serial:
                    if len(keys) >= count:
                        return beside[0], keys
                    keys.append(self._table.key_at(beside[1], beside[0]))  # type: ignore[arg-type]
                    beside = next(rest, None)
                if len(keys) >= count:
                    return serial, keys
                keys.append(self._table.key_at(code, serial))  # type: ignore[arg-type]
        while beside is not None:
            if len(keys) >= count:
                return beside[0], keys
            keys.append(self._table.key_at(beside[1], beside[0]))  # type: ignore[arg-type]
            beside = next(rest, None)
        return 0, keys

    def ascending(self) -> Iterator[bytes]:
        """All keys, in ascending order, as long as none is added or removed."""
        blocks = (item for block in self._blocks for item in block.items().items())
        for serial, code in merge(blocks, self.rest.items()) if len(self.rest) else blocks:
            key = self._table.key_at(code, serial)
            assert key is not None
            yield key

    def random_key(self, chance: Chance) -> bytes | None:
        """A key, each equally likely; None without any."""
        slots: cython.Py_ssize_t = _SLOTS * len(self._blocks)
        others: cython.Py_ssize_t = len(self.rest)
        place: cython.Py_ssize_t
        while self._count or others:
            place = chance.below(slots + others)
            if place >= slots:
                return self.get(self.rest.random_key(chance))  # type: ignore[arg-type]
            block: KeyBlock = self._blocks[place // _SLOTS]
            key = self.get(block.first + place % _SLOTS)
            if key is not None:
                return key
        return None

    # -- the whole -----------------------------------------------------------------------------

    def blocks(self) -> list[KeyBlock]:
        """The blocks, in ascending order; the keys in `rest` are in none of them."""
        return self._blocks[:]

    def take_blocks(self) -> list[object]:
        """Remove everything; return what a caller frees incrementally, a few hundred keys each."""
        parts: list[object] = [block.codes for block in self._blocks]
        parts += self.rest.take_blocks()
        self._blocks = []
        self._recent = None
        self._count = 0
        return parts

    def memory_bytes(self) -> int:
        """The memory in bytes, without the keys."""
        size: cython.long = _OWN_BYTES + list_bytes(self._blocks) + self.rest.memory_bytes()
        return size + _BLOCK_BYTES * len(self._blocks)


_OWN_BYTES: cython.long = instance_bytes(CreationOrder)
_BLOCK_BYTES: cython.long = instance_bytes(KeyBlock) + array_bytes(KeyBlock(0).codes)
