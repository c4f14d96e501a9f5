"""Commands on the bits of strings, for the comparison with a real Redis."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.compat.commands import arguments as arg
from tests.compat.commands.strategies import (
    Draft,
    Drafts,
    command,
    mostly,
    one_of,
    sometimes,
    weighted,
)

bit_key = mostly(one_of(b"bits", b"bits", b"bits2", b"text"), one_of(b"list", b"missing", b""))
bit_offset = mostly(
    st.integers(0, 70).map(lambda number: b"%d" % number),
    mostly(one_of(b"-1", b"x", b"", b"4294967296", b"01", b"#1"), arg.odd_number),
)
bit = mostly(one_of(b"0", b"1"), one_of(b"2", b"x", b"", b"-1"))
place = mostly(st.integers(-20, 20).map(lambda number: b"%d" % number), arg.odd_number)
unit = mostly(one_of(b"BYTE", b"bit", b"BIT"), one_of(b"FOO", b""))
bit_range = sometimes(place, place, sometimes(unit))
encoding = mostly(
    one_of(b"u1", b"u8", b"i8", b"u4", b"i5", b"i16", b"u63", b"i64", b"u3"),
    one_of(b"u64", b"i65", b"u0", b"i", b"x8", b"", b"U8", b"u08"),
)
field_offset = mostly(
    st.integers(0, 60).map(lambda number: b"%d" % number),
    one_of(b"#0", b"#1", b"#3", b"#", b"#x", b"-1", b"#-1", b"x", b"4294967296"),
)
operand = mostly(
    st.integers(-300, 300).map(lambda number: b"%d" % number),
    one_of(b"9223372036854775807", b"-9223372036854775808", b"9223372036854775808", b"x", b""),
)
overflow = sometimes(b"OVERFLOW", mostly(one_of(b"WRAP", b"SAT", b"fail"), one_of(b"FOO")))
get_field = command(b"GET", encoding, field_offset)
change_field = command(overflow, one_of(b"SET", b"INCRBY"), encoding, field_offset, operand)
field_operations: Drafts = st.lists(st.one_of(get_field, change_field), max_size=4).map(
    lambda drafts: [part for draft in drafts for part in draft]
)
source_keys: Drafts = st.lists(bit_key, min_size=1, max_size=3)

bit_command: Drafts = weighted(
    (4, command(b"SETBIT", bit_key, bit_offset, bit)),
    (2, command(b"GETBIT", bit_key, bit_offset)),
    (3, command(b"BITCOUNT", bit_key, bit_range)),
    (4, command(b"BITPOS", bit_key, bit, sometimes(place, sometimes(place, sometimes(unit))))),
    (
        3,
        command(
            b"BITOP",
            mostly(one_of(b"AND", b"or", b"XOR", b"NOT"), one_of(b"NAND", b"")),
            bit_key,
            source_keys,
        ),
    ),
    (6, command(b"BITFIELD", bit_key, field_operations)),
    (1, command(b"BITFIELD_RO", bit_key, st.one_of(get_field, field_operations))),
    (1, command(b"SET", bit_key, arg.text)),
    (1, command(b"OBJECT", b"ENCODING", bit_key)),
)

BITS: list[Draft] = [
    [b"SET", b"bits", b"\x0f\xf0\x00abc"],
    [b"SET", b"bits2", b"12345"],
    [b"SET", b"text", b"hello"],
    [b"RPUSH", b"list", b"a"],
]
BITS_CLOSING: list[list[bytes]] = [
    *([b"GET", key] for key in (b"bits", b"bits2")),
    *([b"OBJECT", b"ENCODING", key] for key in (b"bits", b"bits2")),
]
