"""A segment of a packed table: some hundred records in one block of memory, with their index.

    0   4   how many tables have the segment: a copy shares it until either is changed
    4   4   the size of the block
    8   4   where the records end
    12  4   the number of records
    16  4   the number of slots of the index, 0 without one
    20  4   its depth: how many bits at the top of their hashes all keys of the segment share
    24      the slots, and then the records, one after the other, in the order of insertion

A slot has the place of a record in its low 24 bits, and 8 bits of the hash above, which spare most
comparisons with other keys; 0 is a free slot. Records are in the order of their hashes, but those
that collide, which go to the next free slot (linear probing): a scan reads a part of the slots.
A few records have no index and are searched one by one.

There are never gaps: a record that is removed or that changes its size moves those after it, which
are a few kilobytes. So records keep their order, and nothing needs to be compacted.

The functions take the block of a segment; what changes the size of the block is in
packed_table.py. Numbers are in the byte order of the machine, which nothing outside sees.
"""

from __future__ import annotations

import cython

if not cython.compiled:
    # Compiled, they are C functions, which the module's C types import.
    from storage.raw_bytes import move_bytes, put_bytes
    from storage.types.members.memory import (
        allocated,
        clear,
        copy_record,
        drop,
        free_block,
        home_slot,
        keep_again,
        move_slots,
        new_block,
        number_at,
        put_number,
    )
    from storage.types.members.packed_record import LARGE, code_at, has_key_at, taken_bytes

    SHARED, SIZE, END, COUNT, SLOTS, DEPTH, HEADER = range(0, 28, 4)
    PLACES = (1 << 24) - 1

# Up to this many records need no index.
FEW = 32
_FEW: cython.Py_ssize_t = FEW
# From this number of records on there are slots for as many as a segment should have, so that
# those of a large table are made once.
_SOME: cython.Py_ssize_t = 128
MOST_RECORDS = 384
_MOST: cython.Py_ssize_t = MOST_RECORDS
_MOST_SLOTS: cython.Py_ssize_t = MOST_RECORDS * 4 // 3


def new_segment(
    size: cython.Py_ssize_t, slots: cython.Py_ssize_t, depth: cython.Py_ssize_t
) -> bytearray:
    """An empty segment in a block of `size` bytes, which has room for the slots."""
    block: cython.p_uchar = new_block(size)
    clear(block, 0, HEADER + 4 * slots)
    put_number(block, SHARED, 1)
    put_number(block, SIZE, size)
    put_number(block, END, HEADER + 4 * slots)
    put_number(block, SLOTS, slots)
    put_number(block, DEPTH, depth)
    return block


def first_place(block: cython.p_uchar) -> cython.Py_ssize_t:
    """The place of the first record."""
    return HEADER + 4 * number_at(block, SLOTS)


def most_records(slots: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """The most records that a segment with this number of slots may have."""
    return slots - slots // 4 if slots else _FEW


def slots_for(count: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """The number of slots for a segment with this number of records and room for more."""
    if count < _FEW:
        return 0
    if count < _SOME:
        return 2 * count
    return _MOST_SLOTS if count < _MOST else 3 * count // 2


def find(
    kind: cython.Py_ssize_t,
    block: cython.p_uchar,
    key: cython.p_const_uchar,
    length: cython.Py_ssize_t,
    code: cython.ulonglong,
) -> cython.Py_ssize_t:
    """The place of the record with a key, whose hash is `code`; 0 without one."""
    place: cython.Py_ssize_t
    slots: cython.Py_ssize_t = number_at(block, SLOTS)
    if slots == 0:
        place = HEADER
        end: cython.Py_ssize_t = number_at(block, END)
        while place < end:
            if has_key_at(kind, block, place, key, length):
                return place
            place += taken_bytes(block, place)
        return 0
    tag: cython.uint = code & 255
    slot: cython.Py_ssize_t = home_slot(code, number_at(block, DEPTH), slots)
    entry: cython.uint
    while True:
        entry = number_at(block, HEADER + 4 * slot)
        if entry == 0:
            return 0
        if entry >> 24 == tag and has_key_at(kind, block, entry & PLACES, key, length):
            return entry & PLACES
        slot += 1
        if slot == slots:
            slot = 0


# -- changing ----------------------------------------------------------------------------------


def enter(block: cython.p_uchar, place: cython.Py_ssize_t, code: cython.ulonglong) -> None:
    """Enter the record at a place, the hash of whose key is `code`, into the index."""
    slots: cython.Py_ssize_t = number_at(block, SLOTS)
    slot: cython.Py_ssize_t = home_slot(code, number_at(block, DEPTH), slots)
    while number_at(block, HEADER + 4 * slot):
        slot += 1
        if slot == slots:
            slot = 0
    tag: cython.uint = code & 255
    put_number(block, HEADER + 4 * slot, tag << 24 | place)


def leave(
    kind: cython.Py_ssize_t,
    block: cython.p_uchar,
    place: cython.Py_ssize_t,
    code: cython.ulonglong,
) -> None:
    """Remove the record at a place from the index: the slots after it move up where they can."""
    slots: cython.Py_ssize_t = number_at(block, SLOTS)
    slot: cython.Py_ssize_t = home_slot(code, number_at(block, DEPTH), slots)
    while number_at(block, HEADER + 4 * slot) & PLACES != place:
        slot += 1
        if slot == slots:
            slot = 0
    depth: cython.uint = number_at(block, DEPTH)
    free: cython.Py_ssize_t = slot
    way: cython.Py_ssize_t
    entry: cython.uint
    while True:
        slot += 1
        if slot == slots:
            slot = 0
        entry = number_at(block, HEADER + 4 * slot)
        if entry == 0:
            break
        way = slot - home_slot(code_at(kind, block, entry & PLACES), depth, slots)
        if way < 0:
            way += slots
        if way >= (slot - free if slot >= free else slot - free + slots):
            put_number(block, HEADER + 4 * free, entry)
            free = slot
    put_number(block, HEADER + 4 * free, 0)


def shift(block: cython.p_uchar, start: cython.Py_ssize_t, way: cython.Py_ssize_t) -> None:
    """Move the records from `start` on by some bytes, for which there is room."""
    end: cython.Py_ssize_t = number_at(block, END)
    move_bytes(block, start, end, start + way)
    put_number(block, END, end + way)
    move_slots(block, HEADER, number_at(block, SLOTS), start, way)


def remove(
    kind: cython.Py_ssize_t,
    block: cython.p_uchar,
    place: cython.Py_ssize_t,
    code: cython.ulonglong,
) -> None:
    """Remove the record at a place; `code` is the hash of its key if there is an index."""
    if number_at(block, SLOTS):
        leave(kind, block, place, code)
    if block[place] == LARGE:
        drop(block, place + 1)
    taken: cython.Py_ssize_t = taken_bytes(block, place)
    shift(block, place + taken, -taken)
    put_number(block, COUNT, number_at(block, COUNT) - 1)


def take(
    block: cython.p_uchar,
    source: cython.p_uchar,
    place: cython.Py_ssize_t,
    code: cython.ulonglong,
) -> None:
    """Append a record of another segment, which gives it up; there must be room for it."""
    end: cython.Py_ssize_t = number_at(block, END)
    taken: cython.Py_ssize_t = taken_bytes(source, place)
    copy_record(block, end, source, place, taken)
    if number_at(block, SLOTS):
        enter(block, end, code)
    put_number(block, END, end + taken)
    put_number(block, COUNT, number_at(block, COUNT) + 1)


def take_all(kind: cython.Py_ssize_t, block: cython.p_uchar, source: cython.p_uchar) -> None:
    """Append all records of another segment, which is freed; there must be room for them."""
    start: cython.Py_ssize_t = first_place(source)
    size: cython.Py_ssize_t = number_at(source, END) - start
    place: cython.Py_ssize_t = number_at(block, END)
    end: cython.Py_ssize_t = place + size
    put_bytes(block, place, source, start, size)  # type: ignore[arg-type]
    put_number(block, END, end)
    put_number(block, COUNT, number_at(block, COUNT) + number_at(source, COUNT))
    free_block(source)
    if number_at(block, SLOTS):
        while place < end:
            enter(block, place, code_at(kind, block, place))
            place += taken_bytes(block, place)


# -- as a whole --------------------------------------------------------------------------------


def memory_of(block: cython.p_uchar) -> cython.Py_ssize_t:
    """What the block takes in memory, in bytes."""
    return allocated(number_at(block, SIZE))


def share(block: cython.p_uchar) -> None:
    """One more table has the segment."""
    put_number(block, SHARED, number_at(block, SHARED) + 1)


def twin_of(block: cython.p_uchar, size: cython.Py_ssize_t) -> bytearray:
    """A copy for one of the tables that share the segment, in a block of `size` bytes."""
    end: cython.Py_ssize_t = number_at(block, END)
    twin: cython.p_uchar = new_block(size)
    put_bytes(twin, 0, block, 0, end)  # type: ignore[arg-type]
    put_number(block, SHARED, number_at(block, SHARED) - 1)
    put_number(twin, SHARED, 1)
    put_number(twin, SIZE, size)
    place: cython.Py_ssize_t = first_place(twin)
    while place < end:
        if twin[place] == LARGE:
            keep_again(twin, place + 1)
        place += taken_bytes(twin, place)
    return twin


def give_up(block: cython.p_uchar) -> None:
    """A table gives the segment up, which is freed with its last table."""
    tables: cython.uint = number_at(block, SHARED)
    if tables > 1:
        put_number(block, SHARED, tables - 1)
        return
    place: cython.Py_ssize_t = first_place(block)
    end: cython.Py_ssize_t = number_at(block, END)
    while place < end:
        if block[place] == LARGE:
            drop(block, place + 1)
        place += taken_bytes(block, place)
    free_block(block)
