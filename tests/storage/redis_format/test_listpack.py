"""Listpacks: what Redis wrote, both ways, and nothing that it would not have written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.redis_format.listpack import (
    COUNTS_BYTES,
    UNCOUNTED,
    Element,
    decode_listpack,
    encode_column,
    encode_element,
    encode_listpack,
    read_counts,
)
from storage.redis_format.listpack_size import element_bytes
from storage.redis_format.primitives import CorruptSnapshot

# A value, and the element that redis-server 7.0.15 makes of it, cut out of a DUMP.
OF_REDIS = [
    (b"0", "0001"),
    (b"127", "7f01"),
    (b"128", "c08002"),
    (b"-1", "dfff02"),
    (b"4095", "cfff02"),
    (b"4096", "f1001003"),
    (b"-4096", "d00002"),
    (b"-4097", "f1ffef03"),
    (b"32768", "f200800004"),
    (b"8388608", "f30000800005"),
    (b"2147483648", "f4000000800000000009"),
    (b"-9223372036854775808", "f4000000000000008009"),
    (b"9223372036854775808", "933932323333373230333638353437373538303814"),
    (b"", "8001"),
    (b"007", "8330303704"),
    (b"-0", "822d3003"),
    (b"x" * 64, "e040" + "78" * 64 + "42"),
    (b"x" * 125, "e07d" + "78" * 125 + "7f"),
    (b"x" * 126, "e07e" + "78" * 126 + "0180"),
    (b"x" * 4096, "f000100000" + "78" * 4096 + "2085"),
]

NUMBERS = st.one_of(st.integers(-5000, 5000), st.integers(-(2**63), 2**63 - 1))
ELEMENTS = st.one_of(
    NUMBERS,
    st.binary(max_size=70),
    st.builds(
        lambda byte, count: byte * count, st.binary(min_size=1, max_size=1), st.integers(0, 20_000)
    ),
)


def as_text(element: Element) -> bytes:
    return b"%d" % element if isinstance(element, int) else element


@pytest.mark.parametrize(("value", "encoded"), OF_REDIS)
def test_an_element_is_what_redis_makes_of_it(value: bytes, encoded: str) -> None:
    assert encode_element(value).hex() == encoded
    assert list(map(as_text, decode_listpack(encode_listpack([value])))) == [value]


@given(st.lists(ELEMENTS, max_size=8))
def test_a_listpack_gives_back_what_was_put_into_it(elements: list[Element]) -> None:
    decoded = decode_listpack(encode_listpack(elements))
    assert list(map(as_text, decoded)) == list(map(as_text, elements))


@given(ELEMENTS)
def test_the_size_of_an_element_is_the_one_that_bounds_nodes(element: Element) -> None:
    value = as_text(element)
    assert len(encode_element(value)) == element_bytes(value)


COLUMNS = st.one_of(
    st.lists(st.sampled_from([b"on", b"off", b"", b"-7", b"007", b"0"]), min_size=1),
    st.lists(st.integers(0, 10**19).map(lambda number: b"%d" % number), min_size=1),
    st.lists(st.integers(0, 10**12).map(lambda number: b"%012d" % number), min_size=1),
    st.lists(st.one_of(ELEMENTS.map(as_text), st.binary(max_size=70)), min_size=1),
)


@given(COLUMNS)
def test_a_column_is_encoded_as_each_of_its_values(values: list[bytes]) -> None:
    assert encode_column(values) == list(map(encode_element, values))


@pytest.mark.parametrize("size", [16_377, 16_378, 16_379, 2_097_145, 2_097_146, 2_097_147])
def test_long_elements_have_the_backward_length_that_they_need(size: int) -> None:
    value = bytes(size)
    assert len(encode_element(value)) == element_bytes(value)
    assert decode_listpack(encode_listpack([value, 1])) == [value, 1]


def test_more_elements_than_the_header_can_count_are_counted_by_walking() -> None:
    elements: list[Element] = [1] * (UNCOUNTED + 5)
    blob = encode_listpack(elements)
    assert blob[4:6] == b"\xff\xff"
    assert decode_listpack(blob) == elements


@given(st.lists(ELEMENTS, min_size=1, max_size=6), st.data())
def test_a_changed_byte_is_another_listpack_or_is_refused(
    elements: list[Element], data: st.DataObject
) -> None:
    blob = bytearray(encode_listpack(elements))
    place = data.draw(st.integers(0, len(blob) - 1))
    blob[place] ^= data.draw(st.integers(1, 255))
    offset = 1000
    try:
        decoded = decode_listpack(bytes(blob), 1000)
    except CorruptSnapshot as error:
        offset = error.offset
    else:
        assert len(decoded) == len(elements)
    assert 1000 <= offset <= 1000 + len(blob)


@given(st.lists(ELEMENTS, max_size=6))
def test_a_listpack_that_was_cut_is_refused(elements: list[Element]) -> None:
    blob = encode_listpack(elements)
    for end in {0, 3, 6, len(blob) // 2, len(blob) - 1}:
        with pytest.raises(CorruptSnapshot):
            decode_listpack(blob[:end])


@pytest.mark.parametrize(
    "body",
    ["8561", "0002", "f5000002", "ff", "e0ff61", "f0ffffffff61", "f400", "c0", "00", "8361626303"],
)
def test_an_element_that_is_none_is_refused_where_it_is(body: str) -> None:
    inner = bytes.fromhex("0101" + body)
    blob = (7 + len(inner)).to_bytes(4, "little") + b"\2\0" + inner + b"\xff"
    with pytest.raises(CorruptSnapshot) as refused:
        decode_listpack(blob, 50)
    assert refused.value.offset in (50 + 8, 50 + len(blob) - 1)


@given(NUMBERS, NUMBERS, st.lists(ELEMENTS, max_size=3))
def test_counts_are_read_from_the_first_bytes(
    first: int, second: int, others: list[Element]
) -> None:
    prefix = encode_listpack([first, second, *others])[:COUNTS_BYTES]
    if first < 0 or second < 0:
        with pytest.raises(CorruptSnapshot):
            read_counts(prefix)
    else:
        assert read_counts(prefix) == (first, second)


@pytest.mark.parametrize("elements", [[], [1], [b"x", 1], [1, b"x"]])
def test_what_begins_with_no_counts_is_refused(elements: list[Element]) -> None:
    with pytest.raises(CorruptSnapshot):
        read_counts(encode_listpack(elements))
    with pytest.raises(CorruptSnapshot):
        read_counts(b"")
