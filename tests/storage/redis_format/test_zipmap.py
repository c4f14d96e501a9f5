"""Zipmaps, as Redis before 2.6 wrote them, are read."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.redis_format.primitives import CorruptSnapshot
from storage.redis_format.zipmap import decode_zipmap


def length(number: int) -> bytes:
    return bytes((number,)) if number < 254 else b"\xfe" + number.to_bytes(4, "little")


def zipmap(pairs: dict[bytes, bytes], unused: int = 0) -> bytes:
    content = b"".join(
        length(len(name)) + name + length(len(text)) + bytes((unused,)) + text + bytes(unused)
        for name, text in pairs.items()
    )
    return bytes((min(len(pairs), 254),)) + content + b"\xff"


@given(st.dictionaries(st.binary(max_size=300), st.binary(max_size=300)), st.integers(0, 4))
def test_every_pair_is_read(pairs: dict[bytes, bytes], unused: int) -> None:
    words = decode_zipmap(zipmap(pairs, unused))
    assert dict(zip(words[::2], words[1::2], strict=True)) == pairs


def test_every_cut_is_noticed() -> None:
    blob = zipmap({b"a": b"1", b"long": b"x" * 300}, unused=2)
    for end in range(len(blob)):
        with pytest.raises(CorruptSnapshot):
            decode_zipmap(blob[:end])


@given(st.binary(max_size=60))
def test_no_input_does_anything_but_be_read_or_refused(blob: bytes) -> None:
    with suppress(CorruptSnapshot):
        assert len(decode_zipmap(blob)) % 2 == 0


def test_a_wrong_count_is_refused() -> None:
    with pytest.raises(CorruptSnapshot, match="of 1 fields has 2"):
        decode_zipmap(b"\x01" + zipmap({b"a": b"1", b"b": b"2"})[1:])
