"""The wire form of an entry."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.append_only.requests import encode_requests
from storage.entry import (
    Shape,
    decode_fields,
    decode_payload,
    encode_additions,
    encode_alike,
    encode_id,
    encode_ids,
)
from storage.entry_id import MAX_SEQ, format_id, make_id

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
    entry = Shape([b"f", b"name"]).encode(ID_BULK, [b"f", b"v", b"name", b""])
    assert entry == b"*2\r\n$3\r\n7-1\r\n*4\r\n$1\r\nf\r\n$1\r\nv\r\n$4\r\nname\r\n$0\r\n\r\n"


@given(FIELDS)
def test_encoding_by_shape_is_the_same_as_encoding_each_field(fields: list[bytes]) -> None:
    fields = pairs(fields)
    assert Shape(fields[::2]).encode(ID_BULK, fields) == plainly_encoded(fields)


@given(FIELDS)
def test_decoding_gives_back_the_fields(fields: list[bytes]) -> None:
    fields = pairs(fields)
    assert decode_fields(plainly_encoded(fields)) == fields


def test_a_shape_serves_other_values_of_the_same_names() -> None:
    shape = Shape([b"temperature"])
    for value in (b"21.5", b"", b"x" * 1000):
        fields = [b"temperature", value]
        assert shape.encode(ID_BULK, fields) == plainly_encoded(fields)


def test_an_entry_may_have_as_many_fields_as_a_request_has_arguments() -> None:
    fields = [b"%d" % number for number in range(500_000)]
    entry = Shape(fields[::2]).encode(ID_BULK, fields)
    assert entry.startswith(b"*2\r\n" + ID_BULK + b"*500000\r\n$1\r\n0\r\n$1\r\n1\r\n")
    assert entry.endswith(b"$6\r\n499998\r\n$6\r\n499999\r\n")


def test_columns_of_values_become_the_entries_that_they_are_one_by_one() -> None:
    shape = Shape([b"a", b"%b"])
    ids = [make_id(7, n) for n in range(3)]
    values = [[b"1", b"", b"\r\n%d"], [b"x" * 20, b"y", b"z"]]
    assert shape.encode_columns_with_texts([format_id(i) for i in ids], values) == [
        shape.encode(encode_id(i), [b"a", v, b"%b", w])
        for i, v, w in zip(ids, *values, strict=True)
    ]


@pytest.mark.parametrize("seq", [0, 7, 97, 4090])
def test_entries_that_differ_in_their_last_value_are_what_they_are_one_by_one(seq: int) -> None:
    first = make_id(1_700_000_000_000, seq)
    values = [b"v" * length for length in range(30)]
    bulks = [b"$%d\r\n%b" % (len(value), value) for value in values]
    entries, id_bulks = encode_alike(first, [b"a", b"1", b"%b"], bulks)
    shape = Shape([b"a", b"%b"])
    assert entries == [
        shape.encode(encode_id(first + n), [b"a", b"1", b"%b", value])
        for n, value in enumerate(values)
    ]
    assert id_bulks == b"".join(encode_ids(first, 30))


@given(st.integers(0, MAX_SEQ - 3), st.lists(st.binary(), min_size=1, max_size=12))
def test_entries_can_be_had_as_the_requests_that_add_them(seq: int, names: list[bytes]) -> None:
    ids = [make_id(5, seq + n) for n in range(3)]
    all_fields = [[word for name in names for word in (name, b"%d" % n)] for n in range(3)]
    id_bulks = [encode_id(entry_id) for entry_id in ids]
    entries = [
        Shape(names).encode(id_bulk, fields)
        for id_bulk, fields in zip(id_bulks, all_fields, strict=True)
    ]
    assert encode_additions(b"key", id_bulks, entries) == encode_requests(
        [b"XADD", b"key", format_id(entry_id), *fields]
        for entry_id, fields in zip(ids, all_fields, strict=True)
    )


def test_an_id_is_a_bulk_string() -> None:
    assert encode_id(5 << 64 | 3) == b"$3\r\n5-3\r\n"
    longest = b"18446744073709551615"
    assert encode_id(2**128 - 1) == b"$41\r\n%b-%b\r\n" % (longest, longest)


def test_an_entry_can_be_encoded_from_its_values_alone() -> None:
    for names, values in (([b"f"], [b"v"]), ([b"a", b"%b"], [b"1", b""])):
        fields = [part for pair in zip(names, values, strict=True) for part in pair]
        shape = Shape(names)
        assert shape.encode_values(ID_BULK, tuple(values)) == shape.encode(ID_BULK, fields)


def test_the_fields_of_many_entries_are_taken_apart_at_once() -> None:
    all_fields = [[b"f", b"v"], [b"f", b"", b"\r\n$5\r\n", b"x" * 70_000], [b"*2", b"-"]]
    payload = b"".join(Shape(fields[::2]).encode(ID_BULK, fields) for fields in all_fields)
    assert decode_payload(payload, 3) == all_fields
    assert decode_payload(b"", 0) == []


@pytest.mark.parametrize("seq", [0, 7, 97, 4090, 9_999_995, MAX_SEQ - 20])
def test_consecutive_ids_are_encoded_as_one_by_one(seq: int) -> None:
    first = make_id(1_700_000_000_000, seq)
    assert encode_ids(first, 15) == [encode_id(first + number) for number in range(15)]
    assert encode_ids(first, 0) == []
