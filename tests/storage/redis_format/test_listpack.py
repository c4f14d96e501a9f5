"""Listpacks: what Redis wrote, both ways, and nothing that it would not have written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.redis_format.listpack import (
    COUNTS_BYTES,
    Element,
    decode_listpack,
    encode_listpack,
    read_counts,
)
from storage.redis_format.listpack_elements import UNCOUNTED
from storage.redis_format.primitives import CorruptSnapshot

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


@given(st.lists(ELEMENTS, max_size=8))
def test_a_listpack_gives_back_what_was_put_into_it(elements: list[Element]) -> None:
    decoded = decode_listpack(encode_listpack(elements))
    assert list(map(as_text, decoded)) == list(map(as_text, elements))


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
