"""Hash slots of Redis Cluster: CRC16-XMODEM of a key, or of its tag, modulo 16384.

`{` and the first `}` after it enclose a tag. If it is not empty, only its bytes count, so keys with
the same tag are in the same slot.
"""

from __future__ import annotations

import cython

SLOT_COUNT = 16_384
_MASK: cython.uint = SLOT_COUNT - 1
_WILDCARDS = b"*?[\\"


if not cython.compiled:
    _REMAINDERS = [0] * 256  # compiled, an array of C


def _fill_remainders() -> None:
    """The remainder of each byte, by the polynomial 0x1021."""
    byte: cython.uint
    remainder: cython.uint
    for byte in range(256):
        remainder = byte << 8
        for _ in range(8):
            remainder = (remainder << 1) ^ 0x1021 if remainder & 0x8000 else remainder << 1
        _REMAINDERS[byte] = remainder & 0xFFFF


_fill_remainders()


def key_slot(key: bytes) -> cython.uint:
    """The slot of a key, or of a shard channel: 0 to 16383."""
    return slot_of_part(key, 0, len(key))


@cython.boundscheck(False)
@cython.wraparound(False)
def slot_of_part(
    data: cython.p_const_uchar, start: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> cython.uint:
    """The slot of the key that `data` has from `start` to before `end`."""
    place: cython.Py_ssize_t
    opening: cython.Py_ssize_t
    for opening in range(start + 1, end):
        if data[opening - 1] == 123:  # {
            for place in range(opening, end):
                if data[place] == 125:  # }
                    if place > opening:
                        start, end = opening, place
                    break
            break
    remainder: cython.uint = 0
    for place in range(start, end):
        remainder = ((remainder << 8) & 0xFFFF) ^ _REMAINDERS[(remainder >> 8) ^ data[place]]
    return remainder & _MASK


def pattern_slot(pattern: bytes) -> int | None:
    """The only slot of the keys that match a glob pattern; None if they may be in several."""
    places = [place for each in _WILDCARDS if (place := pattern.find(each)) >= 0]
    if not places:
        return key_slot(pattern)
    literal = pattern[: min(places)]
    start = literal.find(b"{")
    end = literal.find(b"}", start + 1)
    # Without an end before the first wildcard, the tag of each key may be another.
    return key_slot(literal) if 0 <= start < end - 1 else None
