"""The elements of a listpack, read where they are (listpack.py describes the format).

A place is the position of an element in the bytes. Compiled, the functions read memory without a
check: callers hand in the places of elements that were written here, or that `count_plain` has
checked.
"""

from __future__ import annotations

import cython

from storage.redis_format.listpack_size import (
    backward_length_bytes,
    int64_bytes,
    plain_integer,
    text_bytes,
)

if not cython.compiled:
    # Compiled, they are C functions, which the module's C types import.
    from storage.decimals import put_decimal
    from storage.memory import is_at, put_bytes

# A bulk string takes at most this much more than the element that it shows.
BULK_FRAME_BYTES = 24

_MAX_DIGITS: cython.Py_ssize_t = 20  # of a number that may be in a listpack, with its sign
# The number that a decimal is written of; used again for each.
_DECIMAL = bytearray(24)


def element_end(data: cython.p_const_uchar, place: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """The place after the element at `place`."""
    head: cython.Py_ssize_t = data[place]
    if head < 0x80:
        return place + 2
    if head < 0xC0:
        return place + (head - 0x80) + 2
    if head < 0xE0:
        return place + 3
    if head > 0xF0:
        return place + _number_bytes(head) + 2
    size: cython.Py_ssize_t = _text_start(data, place) - place + _text_length(data, place)
    return place + size + backward_length_bytes(size)


def element_before(data: cython.p_const_uchar, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """The place of the element that ends at `end`: it has its size there, backwards."""
    place: cython.Py_ssize_t = end - 1
    size: cython.Py_ssize_t = data[place] & 0x7F
    shift: cython.Py_ssize_t = 7
    part: cython.Py_ssize_t
    while data[place] & 0x80:
        place -= 1
        part = data[place] & 0x7F
        size |= part << shift
        shift += 7
    return place - size


def place_after(
    data: cython.p_const_uchar, place: cython.Py_ssize_t, count: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """The place that is `count` elements further on."""
    while count > 0:
        place = element_end(data, place)
        count -= 1
    return place


def place_before(
    data: cython.p_const_uchar, place: cython.Py_ssize_t, count: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """The place that is `count` elements further back."""
    while count > 0:
        place = element_before(data, place)
        count -= 1
    return place


def _number_bytes(head: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """The bytes of a number after its head, 0xF1 to 0xF4."""
    return 8 if head == 0xF4 else head - 0xEF


def _is_text(head: cython.Py_ssize_t) -> cython.bint:
    return 0x80 <= head < 0xC0 or 0xE0 <= head <= 0xF0


def _text_start(data: cython.p_const_uchar, place: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Where the text of an element begins."""
    head: cython.Py_ssize_t = data[place]
    if head < 0xC0:
        return place + 1
    return place + (2 if head < 0xF0 else 5)


def _text_length(data: cython.p_const_uchar, place: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """The length of the text of an element."""
    head: cython.Py_ssize_t = data[place]
    if head < 0xC0:
        return head - 0x80
    if head < 0xF0:
        return (head & 0x0F) << 8 | data[place + 1]
    length: cython.Py_ssize_t = 0
    index: cython.Py_ssize_t
    for index in range(4):
        length = length << 8 | data[place + 4 - index]
    return length


def _number_at(data: cython.p_const_uchar, place: cython.Py_ssize_t) -> cython.longlong:
    """The number of an element that is one."""
    head: cython.Py_ssize_t = data[place]
    number: cython.longlong
    if head < 0x80:
        return head
    if head < 0xE0:
        number = (head & 0x1F) << 8 | data[place + 1]
        return number - 0x2000 if number >= 0x1000 else number
    index: cython.Py_ssize_t = _number_bytes(head)
    number = data[place + index]
    if number >= 0x80:
        number -= 0x100
    while index > 1:
        index -= 1
        number = number * 256 + data[place + index]
    return number


def _put_number(
    out: cython.p_uchar, place: cython.Py_ssize_t, number: cython.longlong
) -> cython.Py_ssize_t:
    """Write a number in decimal, with its sign; the place after it."""
    size: cython.ulonglong
    if number >= 0:
        size = number
    else:
        out[place] = 45  # -
        place += 1
        size = ~number  # -2^63 has no positive counterpart
        size += 1
    return put_decimal(out, place, size)


def word_at(data: cython.p_const_uchar, place: cython.Py_ssize_t) -> bytes:
    """The element at a place."""
    start: cython.Py_ssize_t
    end: cython.Py_ssize_t
    if _is_text(data[place]):
        start = _text_start(data, place)
        end = start + _text_length(data, place)
        if cython.compiled:
            return data[start:end]
        return bytes(data[start:end])
    decimal: bytearray = _DECIMAL
    out: cython.p_uchar = decimal
    end = _put_number(out, 0, _number_at(data, place))
    if cython.compiled:
        return out[:end]  # type: ignore[return-value]
    return bytes(out[:end])


def words_at(
    data: cython.p_const_uchar, place: cython.Py_ssize_t, count: cython.Py_ssize_t
) -> list[bytes]:
    """`count` elements from a place on."""
    found: list[bytes] = []
    while count > 0:
        found.append(word_at(data, place))
        place = element_end(data, place)
        count -= 1
    return found


def put_bulks(
    out: cython.p_uchar,
    at: cython.Py_ssize_t,
    data: cython.p_const_uchar,
    place: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Write `count` elements from a place on as bulk strings to `out` at `at`; the place after.

    There is room for their bytes in the listpack, and BULK_FRAME_BYTES more for each.
    """
    start: cython.Py_ssize_t
    length: cython.Py_ssize_t
    decimal: bytearray = _DECIMAL
    digits: cython.p_uchar = decimal
    while count > 0:
        if _is_text(data[place]):
            start = _text_start(data, place)
            length = _text_length(data, place)
            at = _put_line(out, at, length)
            at = put_bytes(out, at, data, start, length)
        else:
            length = _put_number(digits, 0, _number_at(data, place))
            at = _put_line(out, at, length)
            at = put_bytes(out, at, digits, 0, length)  # type: ignore[arg-type]
        out[at] = 13
        out[at + 1] = 10
        at += 2
        place = element_end(data, place)
        count -= 1
    return at


def _put_line(
    out: cython.p_uchar, at: cython.Py_ssize_t, length: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """Write the first line of a bulk string."""
    out[at] = 36  # $
    if length < 10:
        out[at + 1] = 48 + length
        at += 2
    elif length < 100:
        out[at + 1] = 48 + length // 10
        out[at + 2] = 48 + length % 10
        at += 3
    else:
        at = put_decimal(out, at + 1, length)
    out[at] = 13
    out[at + 1] = 10
    return at + 2


def next_equal(
    data: cython.p_const_uchar,
    place: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    element: bytes,
) -> cython.Py_ssize_t:
    """The number of elements from `place` on before the first one that has the bytes of `element`;
    -1 if there is none before `end`."""
    wanted: cython.p_const_uchar = element
    size: cython.Py_ssize_t = len(element)
    head: cython.int = wanted[0]
    tail: cython.int = wanted[size - 2]  # before the backward size, which follows from the head
    skipped: cython.Py_ssize_t = 0
    while place < end:
        if (
            data[place] == head
            and size <= end - place
            and data[place + size - 2] == tail
            and is_at(data, place, wanted, size)
        ):
            return skipped
        place = element_end(data, place)
        skipped += 1
    return -1


def count_plain(
    data: cython.p_const_uchar, place: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """The number of elements from `place` to `end`; -1 unless each is as it would be written here.

    What is not may still be sound: a text that could be a number, say.
    """
    count: cython.Py_ssize_t = 0
    while place < end:
        place = _plain_end(data, place, end)
        if place < 0:
            return -1
        count += 1
    return count


def _plain_end(
    data: cython.p_const_uchar, place: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """The place after an element; -1 unless it ends by `end` and is as it would be written here."""
    head: cython.Py_ssize_t = data[place]
    size: cython.Py_ssize_t  # without the backward size
    length: cython.Py_ssize_t
    if _is_text(head):
        if end - place < 5 and head >= 0xE0:
            return -1
        length = _text_length(data, place)
        size = _text_start(data, place) - place + length
        if size >= end - place or size != text_bytes(length) - backward_length_bytes(size):
            return -1
        if _is_decimal(data, place + size - length, length):
            return -1
    elif head <= 0xF4:
        size = 1 if head < 0x80 else 2 if head < 0xE0 else 1 + _number_bytes(head)
        if size >= end - place or int64_bytes(_number_at(data, place)) != size + 1:
            return -1
    else:
        return -1
    return _backward_end(data, place + size, end, size)


def _is_decimal(
    data: cython.p_const_uchar, start: cython.Py_ssize_t, length: cython.Py_ssize_t
) -> cython.bint:
    """Return True if a text would be written as a number."""
    if length > _MAX_DIGITS:
        return False
    return plain_integer(data, start, length) != 0 or (length == 1 and data[start] == 48)


def _backward_end(
    data: cython.p_const_uchar,
    place: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """The place after the backward size of an element; -1 if it is not `size`."""
    index: cython.Py_ssize_t = backward_length_bytes(size)
    following: cython.Py_ssize_t = place + index
    if following > end:
        return -1
    while index > 0:
        index -= 1
        part: cython.int = size & 0x7F | (0x80 if index else 0)
        if data[place + index] != part:
            return -1
        size >>= 7
    return following
