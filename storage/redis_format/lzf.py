"""LZF: the compression of strings in RDB files (bytes in, bytes out).

A compressed string is a sequence of two kinds of items:

    000LLLLL                        a run of L + 1 literal bytes follows (1 to 32)
    NNNDDDDD dddddddd               repeat N + 2 bytes (3 to 8) from D + 1 bytes back
    111DDDDD nnnnnnnn dddddddd      repeat n + 9 bytes (9 to 264) from D + 1 bytes back

where D has 13 bits. The compressed form does not contain the length of the result, which must be
stored beside it.

Repeats are found by a table of where four bytes were seen last. So a repeat of three bytes is
missed, which would save a byte at best. A long run of literals is searched in growing steps, since
such data hardly compresses.

Guarantees: damaged input raises ValueError. The output is never longer than announced, and an
impossible announced length is refused before memory is allocated.
"""

from __future__ import annotations

from array import array

import cython

if not cython.compiled:
    # Compiled, they are C functions, which the module's C types import.
    from storage.memory import cleared, four_bytes, put_bytes

MAX_LITERALS = 32
MAX_REPEAT = 264
WINDOW_BYTES = 8192

# The same for loops in C.
_MAX_LITERALS: cython.Py_ssize_t = MAX_LITERALS
_MAX_REPEAT: cython.Py_ssize_t = MAX_REPEAT
_WINDOW_BYTES: cython.Py_ssize_t = WINDOW_BYTES

# Redis stores a string uncompressed unless LZF saves this many bytes.
MIN_GAIN_BYTES = 4
_MIN_GAIN_BYTES: cython.Py_ssize_t = MIN_GAIN_BYTES

# Four bytes are hashed to 12 bits, so that the table fits into a processor's first cache.
_UNSEEN = bytes(4 << 12)
_FACTOR: cython.ulonglong = 0x9E3779B1

# After this many literals, a power of two, every second place is searched, then every third ...
_PATIENCE_BITS: cython.int = 6

# The greatest length of a repeat, which takes three bytes.
_MAX_RATIO = MAX_REPEAT // 3


def compress(data: bytes) -> bytes | None:
    """The compressed form, or None if it does not save `MIN_GAIN_BYTES`."""
    out = bytearray(len(data))
    end = _COMPRESSOR.compress(data, len(data), out, 0)
    return None if end < 0 else bytes(memoryview(out)[:end])


def decompress(blob: bytes, length: int) -> bytes:
    """The `length` bytes that `blob` encodes. Raises ValueError if it does not."""
    if length > len(blob) * _MAX_RATIO:
        raise ValueError(f"{len(blob)} compressed bytes cannot become {length}")
    out = _Output(length)
    if not out.expand(blob) or out.place < length:
        raise ValueError("the compressed string is not as long as it should be")
    return out.content()


def decompress_prefix(blob: bytes, count: int) -> bytes:
    """The first `count` bytes, or all if there are fewer, at the cost of these alone."""
    out = _Output(count)
    out.expand(blob)
    return out.content()


@cython.cclass
class Compressor:
    """Compresses one string after the other."""

    def __init__(self) -> None:
        # For a hash of four bytes, where they were last.
        self._seen = array("I", _UNSEEN)

    @cython.boundscheck(False)
    @cython.wraparound(False)
    def compress(
        self,
        data: cython.p_const_uchar,
        size: cython.Py_ssize_t,
        out: cython.p_uchar,
        start: cython.Py_ssize_t,
    ) -> cython.Py_ssize_t:
        """Write the first `size` bytes of `data`, compressed, into `out` from `start` on.

        Returns the place after them; -1 if that does not save `MIN_GAIN_BYTES`. `out` has room for
        `size` bytes there.
        """
        seen: cython.p_uint = cleared(self._seen)
        end: cython.Py_ssize_t = start + size - _MIN_GAIN_BYTES
        literals: cython.Py_ssize_t = 0  # where those begin that are not written yet
        place: cython.Py_ssize_t = 1  # what the table does not know seems to be at 0
        word: cython.uint
        slot: cython.uint
        distance: cython.Py_ssize_t
        length: cython.Py_ssize_t
        while place + 3 < size:
            word = four_bytes(data, place)
            slot = _slot(word)
            distance = place - seen[slot]
            seen[slot] = place
            if word != four_bytes(data, place - distance) or distance > _WINDOW_BYTES:
                place += 1 + (place - literals >> _PATIENCE_BITS)
                continue
            length = _length_of_repeat(data, place, distance, size)
            # A repeat takes three bytes at most.
            if start + _literals_bytes(place - literals) + 3 > end:
                return -1
            start = _put_literals(out, start, data, literals, place - literals)
            start = _put_repeat(out, start, length, distance - 1)
            place += length
            literals = place
            # The next repeat often begins within this one, near its end.
            if place + 1 < size:
                seen[_slot(four_bytes(data, place - 2))] = place - 2
        if start + _literals_bytes(size - literals) > end:
            return -1
        return _put_literals(out, start, data, literals, size - literals)


def _slot(word: cython.ulonglong) -> cython.uint:
    """Where the table has these four bytes."""
    # 12 high bits of the product's low 32; the factor is 2**32 times the golden ratio.
    return word * _FACTOR >> 20 & 0xFFF


def _length_of_repeat(
    data: cython.p_const_uchar,
    place: cython.Py_ssize_t,
    distance: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """How many bytes from a place on, three at least, are those `distance` before."""
    most: cython.Py_ssize_t = min(size - place, _MAX_REPEAT)
    length: cython.Py_ssize_t = 4
    while length < most and data[place + length] == data[place + length - distance]:
        length += 1
    return length


def _literals_bytes(count: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """What literals take when they are written."""
    return count + (count + 31 >> 5)


def _put_literals(
    out: cython.p_uchar,
    start: cython.Py_ssize_t,
    data: cython.p_const_uchar,
    place: cython.Py_ssize_t,
    count: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Write bytes that nothing repeats; the place after them."""
    size: cython.Py_ssize_t
    while count > 0:
        size = min(count, _MAX_LITERALS)
        out[start] = size - 1
        start = put_bytes(out, start + 1, data, place, size)
        place += size
        count -= size
    return start


def _put_repeat(
    out: cython.p_uchar,
    start: cython.Py_ssize_t,
    length: cython.Py_ssize_t,
    distance: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Write a reference to what is `distance` + 1 bytes back; the place after it."""
    if length < 9:
        out[start] = length - 2 << 5 | distance >> 8
        out[start + 1] = distance & 0xFF
        return start + 2
    out[start] = 0xE0 | distance >> 8
    out[start + 1] = length - 9
    out[start + 2] = distance & 0xFF
    return start + 3


_COMPRESSOR = Compressor()


@cython.cclass
class _Output:
    """Memory of a fixed size that is written up to `place`."""

    def __init__(self, size: cython.Py_ssize_t) -> None:
        self._memory = bytearray(size)
        self._out = self._memory
        self._end = size
        self.place = 0

    def content(self) -> bytes:
        """Return a copy of the bytes written."""
        out = self._out
        return bytes(out[: self.place])

    def expand(self, blob: bytes) -> bool:
        """Write what was compressed, as much as there is room for; False if that is not all.

        Raises ValueError if it is damaged.
        """
        data: cython.p_const_uchar = blob
        end: cython.Py_ssize_t = len(blob)
        position: cython.Py_ssize_t = 0
        control: cython.int
        count: cython.Py_ssize_t
        distance: cython.Py_ssize_t
        room: cython.Py_ssize_t
        while position < end:
            room = self._end - self.place
            if room == 0:
                return False
            control = data[position]
            position += 1
            if control < _MAX_LITERALS:
                count = control + 1
                if position + count > end:
                    raise ValueError(_CUT_OFF)
                self._copy(data, position, min(count, room))
                position += count
            else:
                count = (control >> 5) + 2
                if count == 9 and position < end:
                    count += data[position]
                    position += 1
                if position >= end:
                    raise ValueError(_CUT_OFF)
                distance = ((control & 31) << 8 | data[position]) + 1
                position += 1
                if distance > self.place:
                    raise ValueError("a compressed string refers to what is before its beginning")
                self._repeat(distance, min(count, room))
            if count > room:
                return False
        return True

    def _copy(
        self, data: cython.p_const_uchar, position: cython.Py_ssize_t, count: cython.Py_ssize_t
    ) -> None:
        """Write a part of `data`."""
        self.place = put_bytes(self._out, self.place, data, position, count)

    def _repeat(self, distance: cython.Py_ssize_t, count: cython.Py_ssize_t) -> None:
        """Write again what is `distance` bytes back, which may be what this writes itself."""
        out = self._out
        place: cython.Py_ssize_t = self.place
        index: cython.Py_ssize_t
        for index in range(place, place + count):
            out[index] = out[index - distance]
        self.place = place + count


_CUT_OFF = "a compressed string ends in the middle of an item"
