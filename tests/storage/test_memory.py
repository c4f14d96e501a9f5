"""What objects take in memory."""

from __future__ import annotations

import sys

from storage.memory import allocated_bytes


def test_blocks_are_multiples_of_sixteen_bytes() -> None:
    for length in range(600):
        size = allocated_bytes(bytes(length))
        assert size % 16 == 0
        assert 0 <= size - sys.getsizeof(bytes(length)) < 32


def test_large_blocks_have_a_header() -> None:
    small, large = bytes(512 - sys.getsizeof(b"")), bytes(1024 - sys.getsizeof(b""))
    assert allocated_bytes(small) == 512
    assert allocated_bytes(large) > 1024


def test_what_is_there_anyway_takes_nothing() -> None:
    assert allocated_bytes(None) == allocated_bytes(7) == 0
    assert allocated_bytes(2**70) > 0
