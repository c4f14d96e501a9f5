"""Sizes of Redis's listpack elements."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.listpack_size import (
    element_bytes,
    entries_bytes,
    header_bytes,
    integer_bytes,
    packed_integer,
    texts_bytes,
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


def test_the_names_of_the_node_are_left_out_of_an_entry() -> None:
    key = 5 << 64
    same = entries_bytes(key, [b"f"], [key + 1], [[b"f", b"v"]])
    assert same == 2 + 2 + 2 + 3 + 2  # flags, two differences, the value, the element count
    other = entries_bytes(key, [b"g"], [key + 1], [[b"f", b"v"]])
    assert other == same + 2 + 3  # the number of fields, and the name
    both = entries_bytes(key, [b"g"], [key + 1, key + 2], [[b"f", b"v"], [b"g", b"v"]])
    assert both == same + other


@given(st.lists(st.binary(max_size=70) | st.integers().map(lambda number: b"%d" % number)))
def test_values_take_together_what_each_takes(values: list[bytes]) -> None:
    assert texts_bytes(values) == list(map(element_bytes, values))


def test_an_empty_node_holds_its_counts_and_names() -> None:
    assert header_bytes(1, 0, [b"f"]) == 7 + 2 + 2 + 2 + 3 + 2
    assert header_bytes(128, 128, [b"f"]) == header_bytes(1, 0, [b"f"]) + 2


@pytest.mark.parametrize("number", [0, 7, -7, 127, 4096, -4097, 2**63 - 1, -(2**63)])
def test_a_plain_number_is_stored_as_one(number: int) -> None:
    assert packed_integer(b"%d" % number) == number


@pytest.mark.parametrize(
    "value",
    [
        *(b"", b"-", b"-0", b"00", b"07", b"-07", b"+1", b" 1", b"1 ", b"1.0", b"--1"),
        *(b"%d" % 2**63, b"%d" % -(2**63 + 1), b"9" * 21, b"9" * 10_000, "\u0663".encode()),
    ],
)
def test_what_only_looks_like_a_number_is_stored_as_a_string(value: bytes) -> None:
    assert packed_integer(value) is None
    assert element_bytes(value) > len(value)
