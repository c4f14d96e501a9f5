"""Zipmaps, the encoding of small hashes before Redis 2.6. They are read, never written.

    fields    1 byte; 254 and above: not known
    field, value, field, value, ...
    end       0xFF

A field is a length and the bytes; a value has a byte between the two that says how many unused
bytes follow it. A length is a byte below 254, or 254 and 4 bytes, little-endian.
"""

from __future__ import annotations

from storage.redis_format.primitives import CorruptSnapshot

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
