"""LZF: the compression of strings in RDB files (bytes in, bytes out).

A compressed string is a sequence of two kinds of items:

    000LLLLL                        a run of L + 1 literal bytes follows (1 to 32)
    NNNDDDDD dddddddd               repeat N + 2 bytes (3 to 8) from D + 1 bytes back
    111DDDDD nnnnnnnn dddddddd      repeat n + 9 bytes (9 to 264) from D + 1 bytes back

where D has 13 bits. The compressed form does not contain the length of the result, which must be
stored beside it.

Most of the work is finding repeats. LZ4, a dependency anyway, finds them at the speed of C, so
`compress` runs it on windows as wide as LZF's references reach, and translates its output to LZF.
The result is as short as Redis's for data that fits into one window, such as the nodes of a stream,
and up to a quarter longer beyond.

Guarantees: damaged input raises ValueError. The output is never longer than announced, and an
impossible announced length is refused before memory is allocated.
"""

from __future__ import annotations

import cython
import lz4.block

MAX_LITERALS = 32
MAX_REPEAT = 264
WINDOW_BYTES = 8192

# The same for loops in C.
_MAX_LITERALS: cython.Py_ssize_t = MAX_LITERALS
_MAX_REPEAT: cython.Py_ssize_t = MAX_REPEAT

# Redis stores a string uncompressed unless LZF saves this many bytes.
MIN_GAIN_BYTES = 4

# The greatest length of a repeat, which takes three bytes.
_MAX_RATIO = MAX_REPEAT // 3


def compress(data: bytes) -> bytes | None:
    """The compressed form, or None if it does not save `MIN_GAIN_BYTES`."""
    limit = len(data) - MIN_GAIN_BYTES
    if limit <= 0:
        return None
    # At worst nothing repeats: then each run of literals has one byte more.
    out = _Output(len(data) + len(data) // MAX_LITERALS + len(data) // WINDOW_BYTES + 2)
    for start in range(0, len(data), WINDOW_BYTES):
        window = data[start : start + WINDOW_BYTES]
        packed = lz4.block.compress(window, store_size=False)
        if len(packed) < len(window):
            out.rewrite(packed)
        else:
            out.put_literals(window, 0, len(window))
        if out.place > limit:
            return None
    return out.content()


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

    # -- compressed ----------------------------------------------------------------------------

    def rewrite(self, packed: bytes) -> None:
        """Write in LZF's notation what LZ4 has made of a window."""
        # An item of LZ4: 4 bits number of literals, 4 bits length of the match less 4; either goes
        # on in further bytes if all its bits are set. The last item has no match.
        data: cython.p_const_uchar = packed
        end: cython.Py_ssize_t = len(packed)
        position: cython.Py_ssize_t = 0
        token: cython.int
        count: cython.Py_ssize_t
        distance: cython.Py_ssize_t
        while True:
            token = data[position]
            position += 1
            count = token >> 4
            if count == 15:
                while data[position] == 255:
                    count += 255
                    position += 1
                count += data[position]
                position += 1
            self.put_literals(data, position, count)
            position += count
            if position >= end:
                return
            distance = data[position] | data[position + 1] << 8
            position += 2
            count = (token & 15) + 4
            if count == 19:
                while data[position] == 255:
                    count += 255
                    position += 1
                count += data[position]
                position += 1
            self._put_repeat(count, distance - 1)

    def put_literals(
        self, data: cython.p_const_uchar, position: cython.Py_ssize_t, count: cython.Py_ssize_t
    ) -> None:
        """Write bytes that nothing repeats."""
        out = self._out
        size: cython.Py_ssize_t
        while count:
            size = min(count, _MAX_LITERALS)
            out[self.place] = size - 1
            self.place += 1
            self._copy(data, position, size)
            position += size
            count -= size

    @cython.cfunc
    def _put_repeat(self, count: cython.Py_ssize_t, distance: cython.Py_ssize_t) -> None:
        """Write references to what is `distance` + 1 bytes back: `count` bytes, at least 3."""
        out = self._out
        place: cython.Py_ssize_t = self.place
        size: cython.Py_ssize_t
        while count:
            # A reference to less than three bytes cannot be written.
            size = min(count, _MAX_REPEAT)
            if 0 < count - size < 3:
                size -= 3
            if size < 9:
                out[place] = size - 2 << 5 | distance >> 8
                out[place + 1] = distance & 0xFF
                place += 2
            else:
                out[place] = 0xE0 | distance >> 8
                out[place + 1] = size - 9
                out[place + 2] = distance & 0xFF
                place += 3
            count -= size
        self.place = place

    # -- expanded ------------------------------------------------------------------------------

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

    @cython.cfunc
    def _copy(
        self, data: cython.p_const_uchar, position: cython.Py_ssize_t, count: cython.Py_ssize_t
    ) -> None:
        """Write a part of `data`."""
        out = self._out
        place: cython.Py_ssize_t = self.place
        index: cython.Py_ssize_t
        if cython.compiled:
            for index in range(count):
                out[place + index] = data[position + index]
        else:
            out[place : place + count] = data[position : position + count]
        self.place = place + count

    @cython.cfunc
    def _repeat(self, distance: cython.Py_ssize_t, count: cython.Py_ssize_t) -> None:
        """Write again what is `distance` bytes back, which may be what this writes itself."""
        out = self._out
        place: cython.Py_ssize_t = self.place
        index: cython.Py_ssize_t
        for index in range(place, place + count):
            out[index] = out[index - distance]
        self.place = place + count


_CUT_OFF = "a compressed string ends in the middle of an item"
