"""SETBIT, GETBIT, BITCOUNT, BITPOS and BITOP.

Bit 0 is the highest bit of the first byte.
"""

from __future__ import annotations

from collections.abc import Sequence

from commands.core import notifications
from commands.core.arguments import INT64_MAX, parse_int
from commands.core.client import Client
from commands.core.registry import DENYOOM, FAST, READONLY, WRITE, KeySpec, command, one_key
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
from protocol.request import Request
from storage.types.value import StringValue, combine, count_bits, find_other_byte


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


@command("SETBIT", arity=4, flags=WRITE | DENYOOM, keys=one_key(b"RW", b"ACCESS", b"UPDATE"))
def setbit(client: Client, argv: Request) -> bytes:
    """Integer: the bit before. Source: Redis 7.2."""
    key = argv[1]
    offset = parse_bit_offset(client, argv[2])
    bit = parse_int(argv[3], errors.NOT_A_BIT, minimum=0, maximum=1)
    value = for_bits(client, key, client.lookup_string_for_write(key))
    place, mask = offset >> 3, 0x80 >> (offset & 7)
    old = extract(value.data, offset, offset + 1)
    if len(value) <= place or old != bit:
        byte = value.data[place] if place < len(value) else 0
        value.overwrite(place, bytes([byte | mask if bit else byte & ~mask]))
        client.modified(key)
        client.notify(notifications.STRING, b"setbit", key)
    return replies.integer(old)


def for_bits(client: Client, key: bytes, value: StringValue | None) -> StringValue:
    """The string at `key`, which is created if there is none, to be changed in place.

    As in Redis, its encoding is raw from then on, even if it stays as it is.
    """
    if value is None:
        value = StringValue(b"", client.instance.now_ms, b"raw")
        client.store(key, value)
    value.in_place()
    return value


@command("GETBIT", arity=3, flags=READONLY | FAST, keys=one_key(b"RO", b"ACCESS"))
def getbit(client: Client, argv: Request) -> bytes:
    """Integer: 0 after the end, too. Source: Redis 7.2."""
    offset = parse_bit_offset(client, argv[2])
    value = client.lookup_string(argv[1])
    return replies.integer(0 if value is None else extract(value.data, offset, offset + 1))


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


OPERATIONS = (b"AND", b"OR", b"XOR", b"NOT", b"DIFF", b"DIFF1", b"ANDOR", b"ONE")
_SINCE_8_2 = (b"DIFF", b"DIFF1", b"ANDOR", b"ONE")
_NEED_TWO = (b"DIFF", b"DIFF1", b"ANDOR")


@command(
    "BITOP",
    arity=-4,
    flags=WRITE | DENYOOM,
    keys=(
        KeySpec(begin=2, flags=(b"OW", b"UPDATE")),
        KeySpec(begin=3, last=-1, flags=(b"RO", b"ACCESS")),
    ),
)
def bitop(client: Client, argv: Request) -> bytes:
    """Integer: the length of the result, that of the longest string. Source: Redis 8.2."""
    name, target, keys = argv[1].upper(), argv[2], argv[3:]
    if name not in OPERATIONS:
        raise ReplyError(errors.SYNTAX)
    if name == b"NOT" and len(keys) != 1:
        raise ReplyError(errors.BITOP_NOT)
    if name in _NEED_TWO and len(keys) < 2:
        raise errors.too_few_for_bitop(name)
    values = [client.lookup_string(key) for key in keys]
    sources = [b"" if value is None else value.data for value in values]
    result = combine(name, sources)
    had_target = target in client.db
    _store(client, target, result)
    if name in _SINCE_8_2 and (result or had_target):
        # Redis before 8.2 does not know the operation.
        client.propagate(*((b"SET", target, bytes(result)) if result else (b"DEL", target)))
    return replies.integer(len(result))


def _store(client: Client, key: bytes, data: bytearray) -> None:
    """Store the result as a string at `key`; an empty result removes the key."""
    exists = client.lookup_for_write(key) is not None
    if data:
        client.store(key, StringValue(data, client.instance.now_ms, b"raw"))
        client.db.persist(key)
        client.modified(key)
        client.notify(notifications.STRING, b"set", key)
    elif exists:
        client.remove(key)
        client.modified(key)
        client.notify(notifications.GENERIC, b"del", key)
