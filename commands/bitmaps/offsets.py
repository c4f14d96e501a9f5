"""Parsing of bit offsets and bit ranges; bit 0 is the highest bit of the first byte."""

from __future__ import annotations

from collections.abc import Sequence

from commands.core.arguments import INT64_MAX, parse_int
from commands.core.client import Client
from protocol import errors
from protocol.errors import ReplyError
from protocol.records import record


def parse_bit_offset(client: Client, text: bytes, unit_bits: int = 0) -> int:
    """A bit offset. With `unit_bits`, `#3` means three times that number of bits.

    Raises ReplyError, also for a string that would be longer than allowed.
    """
    if unit_bits and text.startswith(b"#"):
        offset = parse_int(text[1:], errors.BIT_OFFSET) * unit_bits
    else:
        offset = parse_int(text, errors.BIT_OFFSET)
    limit_bytes = INT64_MAX if client.replays else client.instance.config.proto_max_bulk_len
    if offset < 0 or offset >> 3 >= limit_bytes:
        raise ReplyError(errors.BIT_OFFSET)
    return offset


@record
class BitRange:
    """`[start [end [BYTE | BIT]]]` of BITCOUNT and BITPOS; both ends are included."""

    start: int = 0
    end: int = -1
    has_end: bool = False
    counts_bits: bool = False

    @property
    def is_reversed(self) -> bool:
        """True if both ends count from the end of the string, and the first is the later one.

        BITCOUNT finds nothing there, however short the string is. BITPOS clips both ends first.
        """
        return self.end < self.start < 0

    def clip(self, length_bytes: int) -> tuple[int, int] | None:
        """The range as bit offsets [start, end) of a string of this length; None if it is empty."""
        start, end = self.start, self.end
        length = length_bytes * 8 if self.counts_bits else length_bytes
        start = max(start + length, 0) if start < 0 else start
        end = min(max(end + length, 0) if end < 0 else end, length - 1)
        if start > end:
            return None
        unit = 1 if self.counts_bits else 8
        return start * unit, (end + 1) * unit


def parse_bit_range(words: Sequence[bytes], *, is_position: bool) -> BitRange:
    """Parse the range of BITPOS, or of BITCOUNT, which requires both ends or none.

    Raises ReplyError. As in Redis, the commands check the unit and the numbers in different order.
    """
    if not words:
        return BitRange()
    if len(words) > 3 or (len(words) == 1 and not is_position):
        raise ReplyError(errors.SYNTAX)
    start = parse_int(words[0])
    if len(words) == 1:
        return BitRange(start)
    if is_position:
        unit = _parse_unit(words)
        end = parse_int(words[1])
    else:
        end = parse_int(words[1])
        unit = _parse_unit(words)
    return BitRange(start, end, has_end=True, counts_bits=unit == b"BIT")


def _parse_unit(words: Sequence[bytes]) -> bytes:
    unit = words[2].upper() if len(words) > 2 else b"BYTE"
    if unit not in (b"BYTE", b"BIT"):
        raise ReplyError(errors.SYNTAX)
    return unit


def extract(data: bytes | bytearray, start: int, end: int) -> int:
    """The bits from `start` to before `end` as a number; those after the string are 0."""
    first, last = start >> 3, (end + 7) >> 3
    number = int.from_bytes(data[first:last].ljust(last - first, b"\0"), "big")
    return number >> (last * 8 - end) & (1 << end - start) - 1
