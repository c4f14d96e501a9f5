"""LZF: the compression of strings in RDB files (bytes in, bytes out).

A compressed string is a sequence of two kinds of items:

    000LLLLL                        a run of L + 1 literal bytes follows (1 to 32)
    NNNDDDDD dddddddd               repeat N + 2 bytes (3 to 8) from D + 1 bytes back
    111DDDDD nnnnnnnn dddddddd      repeat n + 9 bytes (9 to 264) from D + 1 bytes back

where D has 13 bits. It does not say how long the result is: whoever stores it stores that too.

To find what repeats is the work of compressing, and plain Python is slow at it. LZ4, which is
here anyway, finds it at the speed of C, so `compress` lets it work on windows as wide as LZF's
references reach, and writes what it found in LZF's notation. The result is as
short as Redis's for what fits into one window, which the nodes of a stream do, and up to a quarter
longer beyond. Each item that is found takes a step in Python, and another one whenever the string
is read. So a long string that LZ4 does not make shorter by a third stays as it is, which the format
allows for any string. The package python-lzf is used for both directions if it is installed: then
whatever gets shorter is compressed, as in Redis.

Guarantees: damaged input raises ValueError. What comes out is never longer than was announced, and
an announcement that the input cannot keep is refused before anything is allocated.
"""

from __future__ import annotations

from typing import Any

import lz4.block

MAX_LITERALS = 32
MAX_REPEAT = 264
WINDOW_BYTES = 8192

# Redis stores a string as it is, unless LZF makes it shorter by so much.
MIN_GAIN_BYTES = 4

# Without the package, a string longer than this must become so short, as LZ4 has it.
CHEAP_BYTES = 512
WORTHWHILE = 2 / 3

# The best that three bytes can do.
_MAX_RATIO = MAX_REPEAT // 3


def _import_accelerator() -> Any:
    """The package python-lzf, whose module has the name of this one; None if it is not there."""
    try:
        import lzf
    except ImportError:
        return None
    return lzf


_accelerator = _import_accelerator()


def compress(data: bytes) -> bytes | None:
    """The compressed form, or None if it does not save `MIN_GAIN_BYTES`, or is not worthwhile."""
    limit = len(data) - MIN_GAIN_BYTES
    if limit <= 0:
        return None
    if _accelerator is not None:
        compressed: bytes | None = _accelerator.compress(data, limit)
        return compressed
    windows = [data[start : start + WINDOW_BYTES] for start in range(0, len(data), WINDOW_BYTES)]
    found = [lz4.block.compress(window, store_size=False) for window in windows]
    if len(data) > CHEAP_BYTES and sum(map(len, found)) > len(data) * WORTHWHILE:
        return None
    out = bytearray()
    for window, packed in zip(windows, found, strict=True):
        _rewrite(window, packed, out)
        if len(out) > limit:
            return None
    return bytes(out)


def decompress(blob: bytes, length: int) -> bytes:
    """The `length` bytes that `blob` was made of. Raises ValueError if it does not give these."""
    if length > len(blob) * _MAX_RATIO:
        raise ValueError(f"{len(blob)} compressed bytes cannot become {length}")
    if _accelerator is not None:
        data: bytes | None = _accelerator.decompress(blob, length)
    else:
        data = _decompress(blob, length)
    if data is None or len(data) != length:
        raise ValueError("the compressed string is not as long as it should be")
    return data


def decompress_prefix(blob: bytes, count: int) -> bytes:
    """The first `count` bytes, at the cost of these alone; fewer if there are not so many."""
    return _decompress(blob, count, whole=False)[:count]


def _decompress(blob: bytes, length: int, *, whole: bool = True) -> bytes:
    """What `blob` was made of; stops early once it is longer than `length` bytes.

    With `whole` False it stops as soon as there are `length` bytes.
    """
    out = bytearray()
    position = 0
    end = len(blob)
    enough = length + 1 if whole else length
    try:
        while position < end and len(out) < enough:
            control = blob[position]
            position += 1
            if control < MAX_LITERALS:
                following = position + control + 1
                out += blob[position:following]
                position = following
                continue
            count = (control >> 5) + 2
            if count == 9:
                count += blob[position]
                position += 1
            start = len(out) - ((control & 31) << 8 | blob[position]) - 1
            position += 1
            if start < 0:
                raise ValueError("a compressed string refers to what is before its beginning")
            piece = out[start : start + count]
            if len(piece) < count:  # it repeats what it is itself about to write
                piece = (piece * (count // len(piece) + 1))[:count]
            out += piece
    except IndexError:
        position = end + 1
    if position > end:
        raise ValueError("a compressed string ends in the middle of an item")
    return bytes(out)


def _rewrite(window: bytes, packed: bytes, out: bytearray) -> None:
    """Append the compressed form of at most WINDOW_BYTES, of which LZ4 has made `packed`."""
    if len(packed) >= len(window):
        _put_literals(window, out)
        return
    # An item of LZ4: 4 bits number of literals, 4 bits length of the match less 4; either goes on
    # in further bytes if all its bits are set. The last item has no match.
    position = 0
    append = out.append
    while True:
        token = packed[position]
        position += 1
        literals = token >> 4
        if literals == 15:
            literals, position = _more(packed, position, literals)
        following = position + literals
        if literals > MAX_LITERALS:
            _put_literals(packed[position:following], out)
        elif literals:
            append(literals - 1)
            out += packed[position:following]
        if following >= len(packed):
            return
        distance = (packed[following] | packed[following + 1] << 8) - 1
        position = following + 2
        count = (token & 15) + 4
        if count == 19:
            count, position = _more(packed, position, count)
        if count < 9:
            append((count - 2) << 5 | distance >> 8)
        else:
            if count > MAX_REPEAT:
                count = _put_long_repeat(count, distance, out)
            if count < 9:
                append((count - 2) << 5 | distance >> 8)
            else:
                append(224 | distance >> 8)
                append(count - 9)
        append(distance & 255)


def _more(packed: bytes, position: int, number: int) -> tuple[int, int]:
    """A number of LZ4 that goes on in further bytes, and the position behind them."""
    while packed[position] == 255:
        number += 255
        position += 1
    return number + packed[position], position + 1


def _put_literals(literals: bytes, out: bytearray) -> None:
    for start in range(0, len(literals), MAX_LITERALS):
        run = literals[start : start + MAX_LITERALS]
        out.append(len(run) - 1)
        out += run


def _put_long_repeat(count: int, distance: int, out: bytearray) -> int:
    """Append references until what is left fits into one; how much that is."""
    longest = bytes((224 | distance >> 8, 255, distance & 255))
    while count > MAX_REPEAT:
        if count - MAX_REPEAT < 3:  # a reference to less than three bytes cannot be written
            out += bytes((224 | distance >> 8, 245, distance & 255))
            return count - 254
        out += longest
        count -= MAX_REPEAT
    return count
