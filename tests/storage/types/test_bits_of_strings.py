"""storage/types/value.py: long strings, around the ends of words and blocks."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.types import value as bits
from storage.types.value import BLOCK_BYTES, combine, count_bits, find_other_byte

SIZES = (0, 1, 7, 8, 9, 63, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 2 * BLOCK_BYTES + 5)

# What each operation does with the bits at one place.
BY_BIT: dict[bytes, Callable[[list[int]], bool]] = {
    b"AND": all,
    b"OR": any,
    b"XOR": lambda them: sum(them) % 2 == 1,
    b"NOT": lambda them: not them[0],
    b"DIFF": lambda them: bool(them[0]) and not any(them[1:]),
    b"DIFF1": lambda them: not them[0] and any(them[1:]),
    b"ANDOR": lambda them: bool(them[0]) and any(them[1:]),
    b"ONE": lambda them: sum(them) == 1,
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", [bytes, bytearray])
def test_the_bits_between_two_bytes_are_counted(size: int, kind: type) -> None:
    data = kind(b"\xff\x01" * (size // 2 + 2))
    for first in (0, 1, 3):
        last = min(first + size, len(data))
        assert count_bits(data, first, last) == sum(n.bit_count() for n in data[first:last])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("byte", [0, 0xFF])
@pytest.mark.parametrize("kind", [bytes, bytearray])
def test_the_first_other_byte_is_found(size: int, byte: int, kind: type) -> None:
    same = bytes([byte]) * size
    data = kind(b"\x55" + same + b"\x10" + same)
    assert find_other_byte(data, byte, 1, len(data)) == size + 1
    assert find_other_byte(data, byte, 1, size + 1) == size + 1
    assert find_other_byte(data, byte, 0, len(data)) == 0
    assert find_other_byte(data, byte, size + 2, len(data)) == len(data)


@given(st.lists(st.binary(max_size=40), min_size=2, max_size=4), st.sampled_from(sorted(BY_BIT)))
def test_strings_are_combined_bit_by_bit(sources: list[bytes], name: bytes) -> None:
    if name == b"NOT":
        sources = sources[:1]
    length = max(map(len, sources))
    words = [int.from_bytes(one.ljust(length, b"\0")) for one in sources]
    wanted = sum(
        BY_BIT[name]([word >> place & 1 for word in words]) << place for place in range(length * 8)
    )
    assert combine(name, sources) == wanted.to_bytes(length)


@pytest.mark.parametrize("name", sorted(BY_BIT))
def test_blocks_do_not_matter(name: bytes) -> None:
    text = bytes(range(256)) * 3
    sources: list[bits.Data] = [text[:size] * (2 * BLOCK_BYTES // size) for size in (255, 256, 700)]
    sources[1] = bytearray(sources[1][: BLOCK_BYTES + 3])
    if name == b"NOT":
        sources = sources[:1]
    whole = combine(name, sources)
    pieces = b"".join(
        combine(name, [one[at : at + 4096].ljust(4096, b"\0") for one in sources])
        for at in range(0, len(whole), 4096)
    )
    assert whole == pieces[: len(whole)]
