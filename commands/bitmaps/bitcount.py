"""BITCOUNT and BITPOS: the number of bits that are set, and the position of the first."""

from __future__ import annotations

from commands.bitmaps.offsets import extract, parse_bit_range
from commands.core.arguments import parse_int
from commands.core.client import Client
from commands.core.registry import READONLY, command, one_key
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.request import Request
from storage.types.bits import count_bits, find_other_byte


@command("BITCOUNT", arity=-2, flags=READONLY, keys=one_key(b"RO", b"ACCESS"))
def bitcount(client: Client, argv: Request) -> bytes:
    """Integer. Source: Redis 7.2, which reads the range before it looks for the key."""
    wanted = parse_bit_range(argv[2:], is_position=False)
    value = client.lookup_string(argv[1])
    bits = None if value is None or wanted.is_reversed else wanted.clip(len(value))
    if value is None or bits is None:
        return replies.ZERO
    return replies.integer(_count(value.data, *bits))


def _count(data: bytes | bytearray, start: int, end: int) -> int:
    """The number of bits that are set from `start` to before `end`."""
    first, last = (start + 7) >> 3, end >> 3
    if first > last:
        return extract(data, start, end).bit_count()
    ends = extract(data, start, first * 8).bit_count() + extract(data, last * 8, end).bit_count()
    return ends + count_bits(data, first, last)


@command("BITPOS", arity=-3, flags=READONLY, keys=one_key(b"RO", b"ACCESS"))
def bitpos(client: Client, argv: Request) -> bytes:
    """Integer, -1 if there is none; a string without an end given goes on with clear bits.

    Source: Redis 7.2, which reads the range before it looks for the key.
    """
    bit = parse_int(argv[2])
    if bit not in (0, 1):
        raise ReplyError(errors.BIT_ARGUMENT)
    wanted = parse_bit_range(argv[3:], is_position=True)
    value = client.lookup_string(argv[1])
    if value is None:
        return replies.integer(-1 if bit else 0)
    bits = wanted.clip(len(value))
    if bits is None:
        return replies.integer(-1)
    start, end = bits
    place = _first(value.data, bit, start, end)
    if place is None:
        return replies.integer(-1 if bit or wanted.has_end else end)
    return replies.integer(place)


def _first(data: bytes | bytearray, bit: int, start: int, end: int) -> int | None:
    """The place of the first such bit from `start` to before `end`."""
    # The first byte may begin before the range: it is checked by itself, the others together.
    head_end = min((start + 7) & ~7, end)
    place = _first_in_number(extract(data, start, head_end), head_end - start, bit)
    if place is not None:
        return start + place
    if head_end == end:
        return None
    found = find_other_byte(data, 0 if bit else 0xFF, head_end >> 3, (end + 7) >> 3)
    at = found * 8
    if at >= end:
        return None
    place = _first_in_number(data[found], 8, bit)
    assert place is not None
    return at + place if at + place < end else None


def _first_in_number(number: int, width: int, bit: int) -> int | None:
    """The place of the first such bit from the highest of `width` bits on."""
    wanted = number if bit else ~number & (1 << width) - 1
    return width - wanted.bit_length() if wanted else None
