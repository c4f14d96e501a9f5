"""Listpacks: Redis's encoding of a short list of strings and integers in one string.

    total bytes      4 bytes, little-endian: the whole listpack
    elements         2 bytes, little-endian; 65535: that many or more
    element, element, ...
    end              0xFF

An element is its encoding with its data, and after it the size of both, backwards, so that a reader
can walk from the end: 7 bits in a byte, the lowest in the last one, and the highest bit set in all
bytes but the first of them.

    0nnnnnnn                      an integer, 0 to 127
    10llllll data                 a string of up to 63 bytes
    110nnnnn nnnnnnnn             an integer of 13 bits with a sign
    1110llll llllllll data        a string of up to 4095 bytes
    11110000 llll (4 bytes) data  a string; its length is little-endian
    11110001 ... 11110100         integers of 2, 3, 4 and 8 bytes, little-endian with a sign

Redis stores a string that is the plain decimal form of a 64-bit integer as that integer, so a
reader cannot distinguish b"7" from 7.

Guarantees: decoding checks the input completely: the sizes, the backward sizes, the count and the
end. Encoding (storage/redis_format/listpack_elements.py) produces Redis's bytes, of the size that
storage/redis_format/listpack_elements.py computes.

Leaves out: the meaning of the elements (storage/snapshot/stream_node.py).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from functools import lru_cache
from typing import TypeAlias

from storage.redis_format.listpack_elements import (
    ELEMENT_FRAME_BYTES,
    EMPTY_LISTPACK_BYTES,
    UNCOUNTED,
    ListpackWriter,
    backward_length_bytes,
    integer_bytes,
)
from storage.redis_format.primitives import Allowance, CorruptSnapshot

Element: TypeAlias = "bytes | int"

HEADER = struct.Struct("<IH")
END = b"\xff"

# The first two elements, a node's counts, are within this many bytes.
MAX_INTEGER_BYTES = integer_bytes(2**63 - 1)
COUNTS_BYTES = HEADER.size + 2 * MAX_INTEGER_BYTES

# encoding -> bytes of data
_INTEGERS = {0xF1: 2, 0xF2: 3, 0xF3: 4, 0xF4: 8}

# This many bytes are decoded between checks of the number of elements.
_PART_BYTES = 1 << 16

_WRITER = ListpackWriter()


# -- encoding ----------------------------------------------------------------------------------


def encode_listpack(elements: Iterable[Element]) -> bytes:
    """A listpack of strings and of integers, which are taken modulo 2**64 with a sign."""
    elements = list(elements)
    room = sum([len(element) for element in elements if isinstance(element, bytes)])
    _WRITER.begin(room + len(elements) * ELEMENT_FRAME_BYTES)
    for element in elements:
        if isinstance(element, bytes):
            _WRITER.put_word(element, 0, len(element))
        else:
            _WRITER.put_integer((element + 2**63) % 2**64 - 2**63)
    _WRITER.finish()
    return _WRITER.content()


# -- decoding ----------------------------------------------------------------------------------


def decode_listpack(
    blob: bytes, offset: int = 0, allowance: Allowance | None = None
) -> list[Element]:
    """The elements of a listpack: integers where they are stored as such, else strings.

    Raises CorruptSnapshot with the position in the listpack plus `offset`, also if there are more
    elements than the `allowance` has.
    """
    count = _check_ends(blob, offset)
    elements: list[Element] = []
    position = HEADER.size
    end = len(blob) - len(END)
    while position < end:
        known = len(elements)
        position = _decode_part(blob, position, min(end, position + _PART_BYTES), offset, elements)
        if allowance is not None:
            try:
                allowance.take_elements(len(elements) - known)
            except ValueError as error:
                raise CorruptSnapshot(offset, str(error)) from None
    if position != end:
        raise CorruptSnapshot(offset + end, "a listpack ends in the middle of an element")
    if count not in (UNCOUNTED, len(elements)):
        raise CorruptSnapshot(offset, f"a listpack of {count} elements has {len(elements)}")
    return elements


def _decode_part(blob: bytes, position: int, end: int, offset: int, elements: list[Element]) -> int:
    """Append the elements that begin before `end`; return the position after them."""
    append = elements.append
    try:
        while position < end:
            head = blob[position]
            if head < 0x80:
                if blob[position + 1] != 1:
                    raise _damaged(offset + position)
                append(head)
                position += 2
            elif head < 0xC0:
                size = head - 0x7F
                stop = position + size
                if blob[stop] != size:
                    raise _damaged(offset + position)
                append(blob[position + 1 : stop])
                position = stop + 1
            else:
                element, position = _decode_element(blob, position, offset)
                append(element)
    except IndexError:
        raise _damaged(offset + position) from None
    return position


def read_counts(prefix: bytes, offset: int = 0) -> tuple[int, int]:
    """The first two elements, which must be integers, from the first COUNTS_BYTES or fewer.

    Raises CorruptSnapshot, with `offset` added to the position.
    """
    try:
        if prefix[6] < 0x80 and prefix[7] == 1 and prefix[8] < 0x80 and prefix[9] == 1:
            return prefix[6], prefix[8]  # the usual case
        first, position = _decode_element(prefix, HEADER.size, offset)
        second, _ = _decode_element(prefix, position, offset)
    except IndexError:
        raise CorruptSnapshot(offset, "a listpack is too short") from None
    if isinstance(first, int) and isinstance(second, int) and first >= 0 and second >= 0:
        return first, second
    raise CorruptSnapshot(offset, "a listpack does not begin with two counts")


def _check_ends(blob: bytes, offset: int) -> int:
    """Check a listpack's header and its end; return the count in its header."""
    if len(blob) < EMPTY_LISTPACK_BYTES:
        raise CorruptSnapshot(offset, f"a listpack cannot be of {len(blob)} bytes")
    total_bytes, count = HEADER.unpack_from(blob)
    if total_bytes != len(blob):
        raise CorruptSnapshot(offset, f"a listpack of {total_bytes} bytes has {len(blob)}")
    if blob[-1:] != END:
        raise CorruptSnapshot(offset + len(blob) - 1, "a listpack has no end")
    return int(count)


def _decode_element(blob: bytes, position: int, offset: int) -> tuple[Element, int]:
    """An element of any kind, and the position after it. Raises IndexError at the very end."""
    head = blob[position]
    start = position + 1  # of the data
    is_string = False
    if head < 0x80:
        data_bytes = 0
    elif head < 0xC0:
        is_string, data_bytes = True, head & 0x3F
    elif head < 0xE0:
        data_bytes = 1
    elif head < 0xF0:
        is_string, data_bytes = True, (head & 0x0F) << 8 | blob[start]
        start += 1
    elif head == 0xF0:
        is_string, data_bytes = True, int.from_bytes(blob[start : start + 4], "little")
        start += 4
    elif head in _INTEGERS:
        data_bytes = _INTEGERS[head]
    else:
        raise _damaged(offset + position)
    end = start + data_bytes
    backward = _backward_length(end - position)
    following = end + len(backward)
    # A truncated element has no backward size either.
    if blob[end:following] != backward:
        raise _damaged(offset + position)
    if is_string:
        return blob[start:end], following
    if head < 0x80:
        return head, following
    if head < 0xE0:
        number = (head & 0x1F) << 8 | blob[start]
        return (number if number < 0x1000 else number - 0x2000), following
    return int.from_bytes(blob[start:end], "little", signed=True), following


@lru_cache(maxsize=4096)
def _backward_length(size: int) -> bytes:
    """The backward length of an element of this size."""
    count = backward_length_bytes(size)
    places = [size >> 7 * place & 0x7F for place in range(count)]
    return bytes([places[-1], *(0x80 | place for place in reversed(places[:-1]))])


def _damaged(offset: int) -> CorruptSnapshot:
    return CorruptSnapshot(offset, "an element of a listpack is damaged")
