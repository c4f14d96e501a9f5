"""The wire form of an entry."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.entries.entry import (
    Shape,
    decode_fields,
    decode_payload,
    encode_entry,
    encode_fields,
    encode_id,
    encode_id_parts,
    fields_position,
)
from storage.entries.entry_id import MAX_SEQ, make_id

ID_BULK = b"$3\r\n7-1\r\n"

FIELDS = st.lists(st.binary(max_size=12) | st.sampled_from([b"%d", b"\r\n", b"%%", b"$1\r\n"]))


def pairs(fields: list[bytes]) -> list[bytes]:
    return fields[: len(fields) // 2 * 2]


def plainly_encoded(fields: list[bytes]) -> bytes:
    entry = b"*2\r\n" + ID_BULK + b"*%d\r\n" % len(fields)
    for part in fields:
        entry += b"$%d\r\n" % len(part) + part + b"\r\n"
    return entry


def test_an_entry_is_an_array_of_its_id_and_its_fields() -> None:
    entry = Shape([b"f", b"name"]).encode_values(ID_BULK, [b"v", b""])
    assert entry == b"*2\r\n$3\r\n7-1\r\n*4\r\n$1\r\nf\r\n$1\r\nv\r\n$4\r\nname\r\n$0\r\n\r\n"


@given(FIELDS)
def test_encoding_by_shape_is_the_same_as_encoding_each_field(fields: list[bytes]) -> None:
    fields = pairs(fields)
    assert Shape(fields[::2]).encode_values(ID_BULK, fields[1::2]) == plainly_encoded(fields)


@given(FIELDS)
def test_decoding_gives_back_the_fields(fields: list[bytes]) -> None:
    fields = pairs(fields)
    assert decode_fields(plainly_encoded(fields)) == fields


def test_a_shape_serves_other_values_of_the_same_names() -> None:
    shape = Shape([b"temperature"])
    for value in (b"21.5", b"", b"x" * 1000):
        fields = [b"temperature", value]
        assert shape.encode_values(ID_BULK, [value]) == plainly_encoded(fields)


def test_an_entry_may_have_as_many_fields_as_a_request_has_arguments() -> None:
    fields = [b"%d" % number for number in range(500_000)]
    entry = encode_entry(ID_BULK, encode_fields(fields), len(fields))
    assert entry.startswith(b"*2\r\n" + ID_BULK + b"*500000\r\n$1\r\n0\r\n$1\r\n1\r\n")
    assert entry.endswith(b"$6\r\n499998\r\n$6\r\n499999\r\n")


def test_an_id_is_a_bulk_string() -> None:
    assert encode_id(5 << 64 | 3) == b"$3\r\n5-3\r\n"
    longest = b"18446744073709551615"
    assert encode_id(2**128 - 1) == b"$41\r\n%b-%b\r\n" % (longest, longest)


@given(st.integers(0, MAX_SEQ), st.integers(0, MAX_SEQ))
def test_the_halves_of_an_id_give_the_same_bulk_string(ms: int, seq: int) -> None:
    assert encode_id_parts(ms, seq) == encode_id(make_id(ms, seq))


@pytest.mark.parametrize("number", [0, 9, 10, 99, 100, 10**9, MAX_SEQ])
def test_halves_of_every_length_are_written_out(number: int) -> None:
    assert encode_id_parts(number, 0) == encode_id(make_id(number, 0))
    assert encode_id_parts(0, number) == encode_id(make_id(0, number))


@given(FIELDS)
def test_the_fields_of_an_entry_are_the_bulk_strings_that_came(fields: list[bytes]) -> None:
    fields = pairs(fields)
    raw = b"".join(b"$%d\r\n%b\r\n" % (len(word), word) for word in fields)
    assert encode_fields(fields) == raw
    entry = encode_entry(ID_BULK, raw, len(fields))
    assert entry == plainly_encoded(fields)
    assert entry[fields_position(entry) :] == raw


def test_the_fields_of_many_entries_are_taken_apart_at_once() -> None:
    all_fields = [[b"f", b"v"], [b"f", b"", b"\r\n$5\r\n", b"x" * 70_000], [b"*2", b"-"]]
    payload = b"".join(map(plainly_encoded, all_fields))
    assert decode_payload(payload, 3) == all_fields
    assert decode_payload(b"", 0) == []
