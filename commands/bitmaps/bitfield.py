"""BITFIELD and BITFIELD_RO: numbers of any width at any bit of a string.

All operations are parsed before the first one runs. The string grows for the highest offset that is
written to, even if that operation fails.
"""

from __future__ import annotations

from collections.abc import Sequence

from commands.bitmaps.bits import extract, for_bits, parse_bit_offset
from commands.core import notifications
from commands.core.arguments import Arguments, parse_int
from commands.core.client import Client
from commands.core.registry import DENYOOM, FAST, READONLY, WRITE, command, one_key, one_varying_key
from protocol import errors, replies
from protocol.errors import ReplyError
from protocol.records import record
from protocol.request import Request
from storage.types.value import StringValue

_OVERFLOWS = (b"WRAP", b"SAT", b"FAIL")


@record
class FieldOperation:
    """GET, SET or INCRBY of one number."""

    name: bytes
    is_signed: bool
    bits: int
    offset: int
    operand: int = 0
    overflow: bytes = b"WRAP"

    @property
    def end(self) -> int:
        """The bit after the number."""
        return self.offset + self.bits

    def read(self, data: bytes | bytearray) -> int:
        """The number as it is in a string."""
        return self._as_number(extract(data, self.offset, self.end))

    def _as_number(self, pattern: int) -> int:
        is_negative = self.is_signed and pattern >> self.bits - 1
        return pattern - (1 << self.bits) if is_negative else pattern

    def result(self, old: int) -> int | None:
        """The number that replaces `old`; None if OVERFLOW FAIL applies."""
        number = self.operand if self.name == b"SET" else old + self.operand
        if self.name == b"SET" and not self.is_signed and number < 0:
            number += 1 << 64  # Redis takes it for the number of 64 bits that looks the same
        least = -(1 << self.bits - 1) if self.is_signed else 0
        greatest = least + (1 << self.bits) - 1
        if least <= number <= greatest:
            return number
        if self.overflow == b"FAIL":
            return None
        if self.overflow == b"SAT":
            return greatest if number > greatest else least
        return self._as_number(number & (1 << self.bits) - 1)

    def write(self, value: StringValue, number: int) -> None:
        """Put the number in its place; the string is long enough."""
        first, last = self.offset >> 3, (self.end + 7) >> 3
        shift = last * 8 - self.end
        mask = (1 << self.bits) - 1
        around = int.from_bytes(value.data[first:last], "big") & ~(mask << shift)
        patch = around | (number & mask) << shift
        value.overwrite(first, patch.to_bytes(last - first, "big"))


def _key_flags(argv: Sequence[bytes]) -> tuple[bytes, ...]:
    """BITFIELD may only read."""
    changes = any(word.upper() in (b"SET", b"INCRBY") for word in argv[2:])
    return (b"RW", b"ACCESS", b"UPDATE") if changes else (b"RO", b"ACCESS")


@command(
    "BITFIELD",
    arity=-2,
    flags=WRITE | DENYOOM,
    keys=one_varying_key(_key_flags, b"RW", b"ACCESS", b"UPDATE"),
)
def bitfield(client: Client, argv: Request) -> bytes:
    """Array: for GET the number, for SET the one before, for INCRBY the sum; null for what failed.

    Source: Redis 7.2.
    """
    operations = _parse(client, Arguments(argv, 2))
    if all(one.name == b"GET" for one in operations):
        return _read_all(client, argv[1], operations)
    return _run_all(client, argv, operations)


@command("BITFIELD_RO", arity=-2, flags=READONLY | FAST, keys=one_key(b"RO", b"ACCESS"))
def bitfield_ro(client: Client, argv: Request) -> bytes:
    """Array of integers. Source: Redis 7.2."""
    operations = _parse(client, Arguments(argv, 2))
    if any(one.name != b"GET" for one in operations):
        raise ReplyError(errors.BITFIELD_RO_ONLY_GETS)
    return _read_all(client, argv[1], operations)


def _parse(client: Client, arguments: Arguments) -> list[FieldOperation]:
    operations: list[FieldOperation] = []
    overflow = b"WRAP"
    while arguments:
        name = arguments.next_keyword()
        if name == b"OVERFLOW":
            overflow = arguments.next_keyword()
            if overflow not in _OVERFLOWS:
                raise ReplyError(errors.BITFIELD_OVERFLOW)
            continue
        words = {b"GET": 2, b"SET": 3, b"INCRBY": 3}.get(name)
        if words is None or arguments.remaining < words:
            raise ReplyError(errors.SYNTAX)
        is_signed, bits = _parse_encoding(arguments.next())
        offset = parse_bit_offset(client, arguments.next(), bits)
        operand = 0 if name == b"GET" else parse_int(arguments.next())
        operations.append(FieldOperation(name, is_signed, bits, offset, operand, overflow))
    return operations


def _parse_encoding(text: bytes) -> tuple[bool, int]:
    """Return whether an encoding such as `i16` or `u8` is signed, and its width in bits."""
    is_signed = text[:1] == b"i"
    if text[:1] not in (b"i", b"u"):
        raise ReplyError(errors.BITFIELD_TYPE)
    greatest = 64 if is_signed else 63
    return is_signed, parse_int(text[1:], errors.BITFIELD_TYPE, minimum=1, maximum=greatest)


def _read_all(client: Client, key: bytes, operations: Sequence[FieldOperation]) -> bytes:
    value = client.lookup_string(key)
    data = b"" if value is None else value.data
    return replies.array([replies.integer(one.read(data)) for one in operations])


def _run_all(client: Client, argv: Request, operations: Sequence[FieldOperation]) -> bytes:
    key = argv[1]
    found = client.lookup_string_for_write(key)
    length = max((one.end + 7) >> 3 for one in operations if one.name != b"GET")
    grows = found is None or len(found) < length
    value = for_bits(client, key, found)
    if grows:
        value.overwrite(length, b"")
    encoded: list[bytes] = []
    changes = 0
    for one in operations:
        old = one.read(value.data)
        if one.name == b"GET":
            encoded.append(replies.integer(old))
            continue
        number = one.result(old)
        if number is None:
            encoded.append(replies.NIL[client.resp])
            continue
        one.write(value, number)
        # As in Redis, writing the number that is there already changes nothing.
        changes += grows or number != old
        encoded.append(replies.integer(old if one.name == b"SET" else number))
    if changes:
        client.notify(notifications.STRING, b"setbit", key)
    elif grows:
        # Nothing but the length: no event and no change to Redis, but replicas get it.
        client.propagate(*argv)
    if changes or grows:
        client.modified(key, changes)
    return replies.array(encoded)
