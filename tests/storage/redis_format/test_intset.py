"""storage/redis_format/intset.py: as Redis writes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.redis_format.intset import decode_intset, encode_intset
from storage.redis_format.primitives import CorruptSnapshot


@given(st.sets(st.integers(-(1 << 63), (1 << 63) - 1), min_size=1))
def test_what_is_written_is_read_back(members: set[int]) -> None:
    ordered = sorted(members)
    assert list(decode_intset(encode_intset(ordered), 0)) == ordered


def test_the_width_is_that_of_the_widest_member() -> None:
    assert encode_intset([-1, 5]) == bytes.fromhex("0200000002000000ffff0500")
    assert encode_intset([-32768, 32767])[0] == 2
    assert encode_intset([-32769])[0] == 4
    assert encode_intset([1 << 31])[0] == 8


@pytest.mark.parametrize(
    "blob",
    [
        b"",
        bytes(7),
        bytes.fromhex("0300000001000000010000"),  # no such width
        bytes.fromhex("02000000020000000100"),  # cut off
        bytes.fromhex("0200000001000000010002"),  # and more
        bytes.fromhex("020000000200000001000100"),  # twice the same
        bytes.fromhex("020000000200000002000100"),  # descending
        bytes.fromhex("02000000ffffffff"),
    ],
)
def test_what_is_no_intset_is_refused(blob: bytes) -> None:
    with pytest.raises(CorruptSnapshot):
        decode_intset(blob, 0)
