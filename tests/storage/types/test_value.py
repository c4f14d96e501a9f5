"""storage/types/value.py: what TYPE calls a value, and numbers in their plain form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.keyspace.deferred_free import NO_WASTE
from storage.stream import Stream
from storage.types.strings import StringValue
from storage.types.value import as_int64, type_name


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
