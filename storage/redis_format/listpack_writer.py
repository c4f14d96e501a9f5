"""A listpack that is written element by element (storage/redis_format/listpack.py has the format).

Compiled, an element takes some nanoseconds: the words of entries go from the bytes of a reply into
the listpack, and no object is made of them.
"""

from __future__ import annotations

import cython

from storage.redis_format.listpack_size import (
    EMPTY_LISTPACK_BYTES,
    backward_length_bytes,
    int64_bytes,
    plain_integer,
)

if not cython.compiled:
    # Compiled, it is a C function, which the module's C types import.
    from storage.memory import put_bytes

    # Compiled, it is in the C types.
    def put_number(listpack: ListpackWriter, number: int) -> None:
        """put_integer(), as a function."""
        listpack.put_integer(number)


# What the header says of more elements than it can count.
UNCOUNTED = 0xFFFF

# The most that an element takes beside its text; an integer takes no more.
ELEMENT_FRAME_BYTES = 10

_HEADER_BYTES = 6

# Memory is used again for the next listpack, unless it is as much as that.
_KEPT_BYTES = 1 << 20


@cython.cclass
class ListpackWriter:
    """A writer of listpacks, one after the other.

    `out` has the bytes written, up to `place`, and `count` is the number of elements: setting both
    back removes the last elements.
    """

    def __init__(self) -> None:
        self._memory = bytearray()
        self.out = self._memory
        self.place = 0
        self.count = 0

    def begin(self, room: cython.Py_ssize_t) -> None:
        """An empty listpack. `room`: the most that its elements will take."""
        room += EMPTY_LISTPACK_BYTES
        if len(self._memory) < room or len(self._memory) > _KEPT_BYTES:
            self._memory = bytearray(room)
        self.out = self._memory
        self.place = _HEADER_BYTES
        self.count = 0

    def put_integer(self, number: cython.longlong) -> None:
        """An element that holds a number of 64 bits with a sign."""
        self.count += 1
        self.place = write_integer(self.out, self.place, number)

    def put_word(
        self, data: cython.p_const_uchar, start: cython.Py_ssize_t, length: cython.Py_ssize_t
    ) -> None:
        """An element that holds a part of `data`, as an integer where that is possible."""
        self.count += 1
        self.place = write_word(self.out, self.place, data, start, length)

    def finish(self) -> None:
        """End the listpack."""
        out = self.out
        size: cython.Py_ssize_t = self.place + 1
        count: cython.Py_ssize_t = min(self.count, UNCOUNTED)
        index: cython.Py_ssize_t
        out[size - 1] = 0xFF
        for index in range(4):
            out[index] = size >> 8 * index & 0xFF
        out[4] = count & 0xFF
        out[5] = count >> 8
        self.place = size

    def content(self) -> bytes:
        """The bytes written."""
        out = self.out
        return bytes(out[: self.place])


def write_word(
    out: cython.p_uchar,
    place: cython.Py_ssize_t,
    data: cython.p_const_uchar,
    start: cython.Py_ssize_t,
    length: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Write an element that holds a part of `data`, another object; the place after it."""
    number: cython.longlong = plain_integer(data, start, length)
    if number != 0 or (length == 1 and data[start] == 48):
        return write_integer(out, place, number)
    return _write_text(out, place, data, start, length)


def write_integer(
    out: cython.p_uchar, place: cython.Py_ssize_t, number: cython.longlong
) -> cython.Py_ssize_t:
    """Write an element that holds a number of 64 bits with a sign; the place after it."""
    size: cython.Py_ssize_t
    index: cython.Py_ssize_t
    if 0 <= number <= 127:
        size = 2
        out[place] = number
    elif -4096 <= number <= 4095:
        size = 3
        out[place] = 0xC0 | (number >> 8 & 0x1F)
        out[place + 1] = number & 0xFF
    else:
        size = int64_bytes(number)
        # 0xF1 to 0xF3: of 2 to 4 bytes; 0xF4: of 8.
        out[place] = 0xF4 if size == ELEMENT_FRAME_BYTES else 0xED + size
        for index in range(size - 2):
            out[place + 1 + index] = number >> 8 * index & 0xFF
    out[place + size - 1] = size - 1
    return place + size


def _write_text(
    out: cython.p_uchar,
    place: cython.Py_ssize_t,
    data: cython.p_const_uchar,
    start: cython.Py_ssize_t,
    length: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    begin: cython.Py_ssize_t = place
    index: cython.Py_ssize_t
    if length < 64:
        out[place] = 0x80 | length
        place = put_bytes(out, place + 1, data, start, length)
        out[place] = length + 1
        return place + 1
    if length < 4096:
        out[place] = 0xE0 | length >> 8
        out[place + 1] = length & 0xFF
        place += 2
    else:
        out[place] = 0xF0
        for index in range(4):
            out[place + 1 + index] = length >> 8 * index & 0xFF
        place += 5
    place = put_bytes(out, place, data, start, length)
    # The size of all that, to be read from the end.
    size: cython.Py_ssize_t = place - begin
    count: cython.Py_ssize_t = backward_length_bytes(size)
    for index in range(count):
        out[place + index] = size >> 7 * (count - 1 - index) & 0x7F | (0x80 if index else 0)
    return place + count
