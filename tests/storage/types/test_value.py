"""storage/types/value.py: what TYPE calls a value, and numbers in their plain form.

storage/types/value.py: strings and their encodings.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.keyspace.deferred_free import NO_WASTE
from storage.stream import Stream
from storage.types.value import StringValue, as_int64, type_name


def test_type_names() -> None:
    assert type_name(None) == b"none"
    assert type_name(StringValue(b"")) == b"string"
    assert type_name(Stream()) == b"stream"


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_every_64_bit_integer_is_read_from_its_canonical_form(number: int) -> None:
    assert as_int64(b"%d" % number) == number


@pytest.mark.parametrize(
    "text",
    [b"", b"-", b"+1", b" 1", b"1 ", b"01", b"-0", b"-01", b"1.0", b"1_0", b"0x1", b"\xb2",
     b"9223372036854775808", b"-9223372036854775809", b"1" * 21],
)  # fmt: skip
def test_what_is_no_canonical_64_bit_integer_is_none(text: bytes) -> None:
    assert as_int64(text) is None


def test_what_is_small_has_nothing_to_free() -> None:
    assert StringValue(b"x").release() is NO_WASTE
    assert not NO_WASTE.is_large


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (b"0", b"int"),
        (b"-9223372036854775808", b"int"),
        (b"9223372036854775808", b"embstr"),
        (b"007", b"embstr"),
        (b"", b"embstr"),
        (b"x" * 44, b"embstr"),
        (b"x" * 45, b"raw"),
    ],
)
def test_the_encoding_follows_from_the_content(content: bytes, encoding: bytes) -> None:
    assert StringValue(content).encoding == encoding


def test_a_string_that_was_changed_in_place_is_raw() -> None:
    value = StringValue(b"1")
    value.append(b"2")
    assert value.to_bytes() == b"12"
    assert value.encoding == b"raw"
    value.replace(b"13")
    assert value.encoding == b"int"


def test_an_encoding_can_be_given() -> None:
    assert StringValue(b"11", encoding=b"embstr").encoding == b"embstr"


def test_content_that_was_taken_does_not_change_any_more() -> None:
    value = StringValue(b"ab")
    value.append(b"c")
    taken = value.to_bytes()
    value.append(b"d")
    value.overwrite(0, b"X")
    assert taken == b"abc"
    assert value.to_bytes() == b"Xbcd"


def test_a_copy_has_a_life_of_its_own() -> None:
    value = StringValue(b"ab", access_ms=5)
    value.append(b"c")
    twin = value.copy()
    value.append(b"d")
    assert (twin.to_bytes(), twin.encoding, twin.access_ms) == (b"abc", b"raw", 5)


@given(st.binary(max_size=20), st.integers(0, 30), st.binary(min_size=1, max_size=10))
def test_overwriting_fills_a_gap_with_zeros(content: bytes, offset: int, patch: bytes) -> None:
    value = StringValue(content)
    value.overwrite(offset, patch)
    expected = content.ljust(offset, b"\0")
    assert value.to_bytes() == expected[:offset] + patch + expected[offset + len(patch) :]
    assert len(value) == len(value.to_bytes())


def test_a_longer_string_takes_more_memory() -> None:
    short, long = StringValue(b"x"), StringValue(b"x" * 1001)
    assert 1000 <= long.memory_bytes() - short.memory_bytes() < 1016
