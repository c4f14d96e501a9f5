"""Hash slots of Redis Cluster: CRC16-XMODEM of a key, or of its tag, modulo 16384.

`{` and the first `}` after it enclose a tag. If it is not empty, only its bytes count, so keys with
the same tag are in the same slot.
"""

from __future__ import annotations

from binascii import crc_hqx

SLOT_COUNT = 16_384
_MASK = SLOT_COUNT - 1
_WILDCARDS = b"*?[\\"


def key_slot(key: bytes) -> int:
    """The slot of a key, or of a shard channel: 0 to 16383."""
    start = key.find(b"{")
    if start >= 0:
        end = key.find(b"}", start + 1)
        if end > start + 1:
            key = key[start + 1 : end]
    return crc_hqx(key, 0) & _MASK


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
