"""Blocks of memory, the numbers and objects in them, and directories of blocks.

Compiled, these are the inline functions of storage/types/blocks.pxd, which allocate memory and keep
pointers; this module is not compiled. Interpreted, a block is a bytearray, a directory is a list,
and an object is kept under a number.
"""

from __future__ import annotations

from array import array
from itertools import count
from sys import getsizeof

# Objects that blocks refer to: [object, number of references] by their numbers.
_KEPT: dict[int, list[object]] = {}
_numbers = count(1)


def new_block(size: int) -> bytearray:
    """A block of `size` bytes, whose content is undefined."""
    return bytearray(size)


def resized(block: bytearray, size: int) -> bytearray:
    """The block with another size; it may be at another place, and the former one is invalid."""
    if size < len(block):
        del block[size:]
    else:
        block.extend(bytes(size - len(block)))
    return block


def exists(block: bytearray) -> bool:
    """Return True unless it is the null pointer of an object that was never initialised."""
    return True


def free_block(block: bytearray) -> None:
    """Free a block, which is invalid then."""


def object_bytes(item: object) -> int:
    """The size of an object that the garbage collector does not know, and whose size is fixed."""
    return getsizeof(item)


def allocated(size: int) -> int:
    """The memory that a block of `size` bytes takes, allocator overhead included.

    As storage/memory.py says; these are C functions, which need no object.
    """
    return size + (23 if size > 512 else 15) & ~15


def number_at(block: bytes | bytearray, place: int) -> int:
    """A number of 32 bits."""
    return int.from_bytes(block[place : place + 4], "little")


def put_number(block: bytearray, place: int, number: int) -> None:
    """Write a number of 32 bits."""
    block[place : place + 4] = number.to_bytes(4, "little")


def home_slot(code: int, depth: int, slots: int) -> int:
    """The slot that a hash points to, by the bits after its first `depth`: slots are in the order
    of hashes.
    """
    return (code << depth >> 32 & 0xFFFFFFFF) * slots >> 32


def move_slots(block: bytearray, place: int, slots: int, start: int, way: int) -> None:
    """Add `way` to the slots, the first of which is at `place`, that refer to `start` or beyond."""
    for at in range(place, place + 4 * slots, 4):
        entry = number_at(block, at)
        if entry & 0xFFFFFF >= start:
            put_number(block, at, entry + way)


def nth_slot(block: bytearray, place: int, slots: int, number: int) -> int:
    """The nth of the slots in use, counted from 0; at least n + 1 must be in use."""
    numbers = array("I", block[place : place + 4 * slots])
    return [entry for entry in numbers if entry][number]


def part_of(text: bytes | bytearray, start: int) -> bytes | bytearray:
    """What begins at a place of `text`; compiled, a pointer to it."""
    return text[start:]


def clear(block: bytearray, start: int, end: int) -> None:
    """Fill a part of the block with zeros."""
    block[start:end] = bytes(end - start)


def bytes_at(block: bytes | bytearray, place: int, size: int) -> bytes:
    """A copy of a part of the block."""
    return bytes(block[place : place + size])


def copy_record(block: bytearray, place: int, source: bytearray, start: int, size: int) -> None:
    """Copy a record, or a part of one, from other memory."""
    block[place : place + size] = source[start : start + size]


def keep(block: bytearray, place: int, record: bytes) -> None:
    """Refer to an object at a place, which takes 8 bytes."""
    number = next(_numbers)
    _KEPT[number] = [record, 1]
    block[place : place + 8] = number.to_bytes(8, "little")


def _entry(block: bytes | bytearray, place: int) -> tuple[int, list[object]]:
    number = int.from_bytes(block[place : place + 8], "little")
    return number, _KEPT[number]


def kept(block: bytes | bytearray, place: int) -> bytes:
    """The object that is referred to at a place."""
    record = _entry(block, place)[1][0]
    assert isinstance(record, bytes)
    return record


def keep_again(block: bytes | bytearray, place: int) -> None:
    """Count one more reference to an object, from a copy of the block."""
    entry = _entry(block, place)[1]
    entry[1] += 1  # type: ignore[operator]


def drop(block: bytes | bytearray, place: int) -> None:
    """Give up a reference to an object."""
    number, entry = _entry(block, place)
    entry[1] -= 1  # type: ignore[operator]
    if not entry[1]:
        del _KEPT[number]


def new_codes(count: int) -> array[int]:
    """Memory for a number of hashes; its content is undefined."""
    return array("Q", bytes(8 * count))


def free_codes(codes: array[int]) -> None:
    """Free memory for hashes."""


def new_directory(size: int) -> list[bytearray]:
    """A directory of `size` blocks, which are undefined."""
    return [bytearray()] * size


def no_directory() -> list[bytearray]:
    """A directory of no blocks, which takes no memory."""
    return []


def free_directory(directory: list[bytearray]) -> None:
    """Free a directory, which is invalid then; the blocks stay."""


def block_at(directory: list[bytearray], place: int) -> bytearray:
    """A block of the directory."""
    return directory[place]


def put_block(directory: list[bytearray], place: int, block: bytearray) -> None:
    """Enter a block."""
    directory[place] = block


def new_bytes(size: int) -> bytearray:
    """Memory for a reply; compiled, a new bytes object."""
    return bytearray(size)


def filled(made: bytearray) -> bytes:
    """Return the reply, once the memory of `new_bytes` is written; compiled, the same object."""
    return bytes(made)


def bulk_bytes(size: int) -> int:
    """What a text takes as a bulk string."""
    return len(b"$%d\r\n\r\n" % size) + size


def put_bulk(out: bytearray, to: int, text: bytes | bytearray, start: int, size: int) -> int:
    """Write a part of `text` as a bulk string to a place of `out`; the place after it."""
    bulk = b"$%d\r\n%b\r\n" % (size, bytes(text[start : start + size]))
    out[to : to + len(bulk)] = bulk
    return to + len(bulk)
