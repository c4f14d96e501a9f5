"""Ziplists and zipmaps, the predecessors of listpacks. They are read, never written.

A ziplist is what collections were before Redis 7:

    total bytes      4 bytes, little-endian: the whole ziplist
    last element     4 bytes: where it begins
    elements         2 bytes; 65535: that many or more
    element, element, ...
    end              0xFF

An element begins with the size of the one before it, in one byte, or in four after 0xFE. Then:

    00llllll data                 a string of up to 63 bytes
    01llllll llllllll data        a string of up to 16383 bytes
    10000000 llll (4 bytes) data  a string; its length is big-endian
    1100 0000, 1101 0000, 1110 0000, 1111 0000, 1111 1110
                                  integers of 2, 4, 8, 3 and 1 bytes, little-endian with a sign
    1111 nnnn                     the integer n - 1, from 0 to 12

A zipmap is what small hashes were before Redis 2.6:

    fields    1 byte; 254 and above: not known
    field, value, field, value, ...
    end       0xFF

A field is a length and the bytes; a value has a byte between the two that says how many unused
bytes follow it. A length is a byte below 254, or 254 and 4 bytes, little-endian.

Guarantees: decoding checks the input completely.
"""

from __future__ import annotations

import struct

from storage.redis_format.listpack import Element
from storage.redis_format.primitives import Allowance, CorruptSnapshot

_HEADER = struct.Struct("<IIH")
_END = 0xFF
_UNCOUNTED = 0xFFFF
_LONG_PREVIOUS = 0xFE  # the size of the element before takes four more bytes

# encoding -> bytes of data
_INTEGERS = {0xC0: 2, 0xD0: 4, 0xE0: 8, 0xF0: 3, 0xFE: 1}
_FIRST_IMMEDIATE, _LAST_IMMEDIATE = 0xF1, 0xFD


def decode_ziplist(
    blob: bytes, offset: int = 0, allowance: Allowance | None = None
) -> list[Element]:
    """The elements of a ziplist: integers where they are stored as such, else strings.

    Raises CorruptSnapshot with the position in the ziplist plus `offset`, also if there are more
    elements than the `allowance` has.
    """
    last, count = _check_ends(blob, offset)
    elements: list[Element] = []
    position = begins = _HEADER.size
    size = 0
    end = len(blob) - 1
    try:
        while position < end:
            begins = position
            element, position = _decode_element(blob, begins, size, offset)
            elements.append(element)
            size = position - begins
    except IndexError:
        raise _damaged(offset + begins) from None
    if position != end or (elements and last != begins):
        raise CorruptSnapshot(offset + end, "a ziplist ends in the middle of an element")
    if count not in (_UNCOUNTED, len(elements)):
        raise CorruptSnapshot(offset, f"a ziplist of {count} elements has {len(elements)}")
    if allowance is not None:
        try:
            allowance.take_elements(len(elements))
        except ValueError as error:
            raise CorruptSnapshot(offset, str(error)) from None
    return elements


def _check_ends(blob: bytes, offset: int) -> tuple[int, int]:
    """Check the header and the end: where the last element begins, and how many there are."""
    if len(blob) <= _HEADER.size:
        raise CorruptSnapshot(offset, f"a ziplist cannot be of {len(blob)} bytes")
    total_bytes, last, count = _HEADER.unpack_from(blob)
    if total_bytes != len(blob):
        raise CorruptSnapshot(offset, f"a ziplist of {total_bytes} bytes has {len(blob)}")
    if blob[-1] != _END:
        raise CorruptSnapshot(offset + len(blob) - 1, "a ziplist has no end")
    return last, count


def _decode_element(blob: bytes, start: int, previous: int, offset: int) -> tuple[Element, int]:
    """An element, and the position after it; the one before takes `previous` bytes."""
    position = start + 1
    size = blob[start]
    if size == _LONG_PREVIOUS:
        size = int.from_bytes(blob[position : position + 4], "little")
        position += 4
    head = blob[position]
    if size != previous or head == _END:
        raise _damaged(offset + start)
    position += 1
    if head < 0xC0:
        length, position = _string_length(blob, head, position)
        end = position + length
        if end >= len(blob):
            raise _damaged(offset + start)
        return blob[position:end], end
    if _FIRST_IMMEDIATE <= head <= _LAST_IMMEDIATE:
        return head - _FIRST_IMMEDIATE, position
    data_bytes = _INTEGERS.get(head)
    if data_bytes is None or position + data_bytes >= len(blob):
        raise _damaged(offset + start)
    end = position + data_bytes
    return int.from_bytes(blob[position:end], "little", signed=True), end


def _string_length(blob: bytes, head: int, position: int) -> tuple[int, int]:
    """The length of a string, and where it begins."""
    if head < 0x40:
        return head, position
    if head < 0x80:
        return (head & 0x3F) << 8 | blob[position], position + 1
    return int.from_bytes(blob[position : position + 4], "big"), position + 4


def _damaged(offset: int) -> CorruptSnapshot:
    return CorruptSnapshot(offset, "an element of a ziplist is damaged")


END = 0xFF
_LONG = 0xFE


def decode_zipmap(blob: bytes, offset: int = 0) -> list[bytes]:
    """Fields and values in turn. Raises CorruptSnapshot; `offset` is that of the zipmap."""
    words: list[bytes] = []
    position, end = 1, len(blob) - 1
    if end < 1 or blob[-1] != END:
        raise CorruptSnapshot(offset, "a zipmap has no end")
    while position < end:
        is_value = len(words) % 2
        length = blob[position]
        position += 1
        if length == _LONG:
            length = int.from_bytes(blob[position : position + 4], "little")
            position += 4
        unused = 0
        if is_value:
            unused = blob[position] if position < end else end
            position += 1
        words.append(blob[position : position + length])
        position += length + unused
    if position != end or len(words) % 2:
        raise CorruptSnapshot(offset, "a zipmap is damaged")
    if blob[0] < _LONG and blob[0] != len(words) // 2:
        raise CorruptSnapshot(offset, f"a zipmap of {blob[0]} fields has {len(words) // 2}")
    return words
