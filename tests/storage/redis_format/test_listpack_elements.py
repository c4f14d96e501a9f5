"""Sizes of Redis's listpack elements.

Elements of listpacks as Redis writes them.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.entries.entry import encode_fields
from storage.redis_format.listpack import Element, decode_listpack, encode_listpack
from storage.redis_format.listpack_elements import (
    ELEMENT_FRAME_BYTES,
    EMPTY_LISTPACK_BYTES,
    FieldSizes,
    ListpackWriter,
    element_bytes,
    has_names,
    header_bytes,
    integer_bytes,
    plain_integer,
)


@pytest.mark.parametrize(
    ("number", "size"),
    [
        (0, 2),
        (127, 2),
        (128, 3),
        (-1, 3),
        (4095, 3),
        (-4096, 3),
        (4096, 4),
        (-4097, 4),
        (32767, 4),
        (32768, 5),
        (-32769, 5),
        (8388607, 5),
        (8388608, 6),
        (-8388609, 6),
        (2**31 - 1, 6),
        (2**31, 10),
        (-(2**31) - 1, 10),
        (2**63 - 1, 10),
        (-(2**63), 10),
    ],
)
def test_an_integer_takes_as_few_bytes_as_will_do(number: int, size: int) -> None:
    assert integer_bytes(number) == size
    assert element_bytes(b"%d" % number) == size


def test_a_difference_wraps_around_as_in_c() -> None:
    assert integer_bytes(1 - 2**64) == integer_bytes(1)
    assert integer_bytes(2**64 - 1) == integer_bytes(-1)


@pytest.mark.parametrize(
    "text", [b"007", b"-0", b"+1", b"1.5", b" 1", b"-", b"-01", b"1_0", b"%d" % 2**63]
)
def test_what_is_no_canonical_integer_is_kept_as_a_string(text: bytes) -> None:
    assert element_bytes(text) == len(text) + 2


@pytest.mark.parametrize(
    ("length", "overhead"),
    [
        (0, 2),
        (63, 2),
        (64, 3),
        (125, 3),
        (126, 4),
        (4095, 4),
        (4096, 7),
        (16377, 7),
        (16378, 8),
        (2097145, 8),
        (2097146, 9),
    ],
)
def test_a_string_takes_a_longer_frame_the_longer_it_is(length: int, overhead: int) -> None:
    assert element_bytes(b"x" * length) == length + overhead


def sizes_of(fields: list[bytes], names: list[bytes]) -> FieldSizes:
    sizes = FieldSizes()
    before = b"$3\r\n"
    sizes.measure(before + encode_fields(fields), len(before), names)
    return sizes


def test_the_names_of_the_node_are_left_out_of_an_entry() -> None:
    same = sizes_of([b"f", b"v"], [b"f"])
    assert same.are_alike
    assert same.element_bytes == 3 + 2  # the value, the element count
    other = sizes_of([b"f", b"v"], [b"g"])
    assert not other.are_alike
    assert other.element_bytes == same.element_bytes + 2 + 3  # the number of fields, and the name
    assert same.text_bytes == other.text_bytes == 2


@pytest.mark.parametrize(
    "names", [[], [b"f"], [b"f", b"g", b"h"], [b"f", b""], [b"f", b"gg"], [b"g", b"f"]]
)
def test_names_are_alike_only_if_all_of_them_are(names: list[bytes]) -> None:
    assert not sizes_of([b"f", b"1", b"g", b"2"], names).are_alike
    assert sizes_of([b"f", b"1", b"g", b"2"], [b"f", b"g"]).are_alike


WORDS = (
    st.binary(max_size=70)
    | st.integers().map(lambda number: b"%d" % number)
    | st.sampled_from([b"007", b"-0", b"-", b"\r\n", b"$1\r\n", b"x" * 4095, b"x" * 16_378])
)


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=6), st.booleans())
def test_an_entry_takes_what_its_elements_take(
    pairs: list[tuple[bytes, bytes]], is_alike: bool
) -> None:
    fields = [word for pair in pairs for word in pair]
    names = fields[::2]
    sizes = sizes_of(fields, names if is_alike else [*names, b"other"])
    elements: list[Element] = list(fields[1::2] if is_alike else fields)
    counts = [len(names) + 3] if is_alike else [len(names), 2 * len(names) + 4]
    assert sizes.element_bytes + EMPTY_LISTPACK_BYTES == len(encode_listpack([*elements, *counts]))
    assert sizes.text_bytes == sum(map(len, fields))


def test_an_empty_node_holds_its_counts_and_names() -> None:
    assert header_bytes(1, 0, [b"f"]) == 7 + 2 + 2 + 2 + 3 + 2
    assert header_bytes(128, 128, [b"f"]) == header_bytes(1, 0, [b"f"]) + 2


@pytest.mark.parametrize("number", [0, 7, -7, 127, 4096, -4097, 2**63 - 1, -(2**63)])
def test_a_plain_number_is_stored_as_one(number: int) -> None:
    text = b"%d" % number
    assert plain_integer(b"1" + text, 1, len(text)) == number


@pytest.mark.parametrize(
    "value",
    [
        *(b"", b"-", b"-0", b"00", b"07", b"-07", b"+1", b" 1", b"1 ", b"1.0", b"--1"),
        *(b"%d" % 2**63, b"%d" % -(2**63 + 1), b"9" * 21, b"9" * 10_000, "\u0663".encode()),
    ],
)
def test_what_only_looks_like_a_number_is_stored_as_a_string(value: bytes) -> None:
    assert plain_integer(value, 0, len(value)) == 0
    assert element_bytes(value) > len(value)


def test_names_are_compared_one_by_one() -> None:
    fields = encode_fields([b"f", b"1", b"name", b"f"])
    assert has_names(fields, [b"f", b"name"])
    for other in ([b"f"], [b"f", b"nam"], [b"f", b"name", b"f"], [b"g", b"name"], []):
        assert not has_names(fields, other)


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

ANY_WORDS = st.one_of(
    st.integers(-5000, 5000).map(lambda number: b"%d" % number),
    st.integers(-(2**65), 2**65).map(lambda number: b"%d" % number),
    st.binary(max_size=70),
    st.builds(
        lambda byte, count: byte * count, st.sampled_from([b"7", b"x"]), st.integers(0, 20_000)
    ),
)


@pytest.mark.parametrize(("value", "encoded"), OF_REDIS)
def test_an_element_is_what_redis_makes_of_it(value: bytes, encoded: str) -> None:
    assert encode_listpack([value])[6:-1].hex() == encoded


@given(ANY_WORDS)
def test_an_element_takes_what_the_size_of_a_node_counts_for_it(value: bytes) -> None:
    assert len(encode_listpack([value])) == EMPTY_LISTPACK_BYTES + element_bytes(value)
    assert element_bytes(value) <= len(value) + ELEMENT_FRAME_BYTES


@pytest.mark.parametrize("size", [16_377, 16_378, 16_379, 2_097_145, 2_097_146, 2_097_147])
def test_long_elements_have_the_backward_length_that_they_need(size: int) -> None:
    blob = encode_listpack([bytes(size), 1])
    assert len(blob) == EMPTY_LISTPACK_BYTES + element_bytes(bytes(size)) + 2
    assert decode_listpack(blob) == [bytes(size), 1]


def test_a_writer_begins_again_after_each_listpack() -> None:
    writer = ListpackWriter()
    for size in (2_000_000, 3):
        writer.begin(size + 2 * ELEMENT_FRAME_BYTES)
        writer.put_word(b"-" + b"x" * size + b"-", 1, size)
        writer.put_integer(-7)
        writer.finish()
        assert decode_listpack(writer.content()) == [b"x" * size, -7]
