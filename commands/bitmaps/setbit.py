"""SETBIT and GETBIT: one bit of a string."""

from __future__ import annotations

from commands.bitmaps.offsets import extract, parse_bit_offset
from commands.core import notifications
from commands.core.arguments import parse_int
from commands.core.client import Client
from commands.core.registry import DENYOOM, FAST, READONLY, WRITE, command, one_key
from protocol import errors, replies
from protocol.request import Request
from storage.types.value import StringValue


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
