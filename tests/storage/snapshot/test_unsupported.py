"""Values that are passed over: types of Redis 5 to 8.8 by its outermost layout."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.redis_format.primitives import CorruptSnapshot, Cursor, encode_length, encode_string
from storage.snapshot.unsupported import (
    UnsupportedValue,
    can_skip,
    module_name,
    skip_module_parts,
    skip_value,
    type_name,
)


def text(data: bytes) -> bytes:
    return encode_string(data, compress=True)


LONG = text(b"long " * 100)
SCORE = struct.pack("<d", 1.5)

# The name "ReJSON-RL" in version 3.
MODULE_ID = 0
for character in "ReJSON-RL":
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    MODULE_ID = MODULE_ID << 6 | alphabet.index(character)
MODULE_ID = MODULE_ID << 10 | 3
MODULE_PARTS = (
    b"\x01" + encode_length(7)  # a number
    + b"\x02" + encode_length(1 << 40)
    + b"\x03" + bytes(4)
    + b"\x04" + SCORE
    + b"\x05" + LONG
    + b"\x00"
)  # fmt: skip

VALUES = [
    (7, "module type ReJSON-RL", encode_length(MODULE_ID) + MODULE_PARTS),
]


@pytest.mark.parametrize(("code", "name", "encoded"), VALUES)
def test_a_value_is_passed_over_to_its_last_byte(code: int, name: str, encoded: bytes) -> None:
    cursor = Cursor(b"before" + encoded + b"after", len(b"before"))
    assert can_skip(code)
    assert type_name(cursor, code) == name
    skip_value(cursor, code)
    assert cursor.raw(5) == b"after"


@pytest.mark.parametrize(("code", "name", "encoded"), VALUES)
def test_a_value_that_is_cut_off_is_refused(code: int, name: str, encoded: bytes) -> None:
    for length in range(len(encoded)):
        with pytest.raises(CorruptSnapshot):
            skip_value(Cursor(encoded, 0, length), code)


@given(st.sampled_from([code for code, _, _ in VALUES]), st.binary(max_size=100))
def test_no_input_does_anything_but_be_passed_over_or_refused(code: int, encoded: bytes) -> None:
    cursor = Cursor(encoded)
    try:
        skip_value(cursor, code)
    except CorruptSnapshot as error:
        position = error.offset
    else:
        position = cursor.position
    assert 0 <= position <= len(encoded)


@pytest.mark.parametrize("code", [0, 6, 8, 15, 19, 21, 26, 27, 28, 29, 200])
def test_what_is_not_known_cannot_be_passed_over(code: int) -> None:
    assert not can_skip(code)


def test_types_without_a_layout_have_a_name_all_the_same() -> None:
    cursor = Cursor(b"")
    assert type_name(cursor, 28) == "array"
    assert type_name(cursor, 6).startswith("module value")
    assert type_name(cursor, 99) == "type 99"


def test_an_unknown_part_of_a_module_is_refused_where_it_is() -> None:
    with pytest.raises(CorruptSnapshot, match="6 is no part") as caught:
        skip_module_parts(Cursor(b"\x01\x05\x06\x00"))
    assert caught.value.offset == 2


def test_a_module_is_named_as_its_type_is() -> None:
    assert module_name(MODULE_ID) == "module type ReJSON-RL"
    assert module_name(0) == "module type AAAAAAAAA"


def test_the_refusal_names_type_key_and_position() -> None:
    assert str(UnsupportedValue(9, b"k\xff", "list")) == (
        "list of key b'k\\xff' is not supported (at offset 9)"
    )
    assert str(UnsupportedValue(9, b"", "function library")) == (
        "function library is not supported (at offset 9)"
    )
