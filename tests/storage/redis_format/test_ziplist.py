"""storage/redis_format/ziplist.py: bytes made by hand, as Redis before version 7 wrote them.

Zipmaps, as Redis before 2.6 wrote them, are read.
"""

from __future__ import annotations

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.redis_format.primitives import Allowance, CorruptSnapshot
from storage.redis_format.ziplist import decode_ziplist, decode_zipmap


def ziplist(*encoded: bytes, count: int | None = None) -> bytes:
    """The elements, each without the size of the one before it."""
    body = b""
    last = 10
    previous = 0
    for one in encoded:
        last = 10 + len(body)
        size = bytes([previous]) if previous < 254 else b"\xfe" + previous.to_bytes(4, "little")
        body += size + one
        previous = len(size + one)
    number = len(encoded) if count is None else count
    return struct.pack("<IIH", 11 + len(body), last, number) + body + b"\xff"


ELEMENTS = [
    (b"\x00", b""),
    (b"\x03abc", b"abc"),
    (b"\x3f" + b"x" * 63, b"x" * 63),
    (b"\x40\x40" + b"y" * 64, b"y" * 64),
    (b"\x7f\xff" + b"z" * 16383, b"z" * 16383),
    (b"\x80\x00\x00\x40\x00" + b"w" * 16384, b"w" * 16384),
    (b"\xc0\x39\x30", 12345),
    (b"\xc0\xff\xff", -1),
    (b"\xd0" + (-70000).to_bytes(4, "little", signed=True), -70000),
    (b"\xe0" + (1 << 62).to_bytes(8, "little"), 1 << 62),
    (b"\xf0\x00\x00\x80", -(1 << 23)),
    (b"\xfe\x80", -128),
    (b"\xf1", 0),
    (b"\xfd", 12),
]


@pytest.mark.parametrize(("encoded", "expected"), ELEMENTS)
def test_an_element_is_decoded(encoded: bytes, expected: bytes | int) -> None:
    assert decode_ziplist(ziplist(encoded)) == [expected]


def test_elements_follow_one_another() -> None:
    encoded, expected = zip(*ELEMENTS, strict=True)
    assert decode_ziplist(ziplist(*encoded)) == list(expected)
    assert decode_ziplist(ziplist(*encoded, count=65535)) == list(expected)
    assert decode_ziplist(ziplist()) == []


def test_wrong_sizes_counts_and_ends_are_refused() -> None:
    whole = ziplist(b"\x03abc", b"\xf5", b"\xc0\x39\x30")
    for length in range(len(whole)):
        with pytest.raises(CorruptSnapshot):
            decode_ziplist(whole[:length])
    for damaged in (
        whole[:-1] + b"\xfe",
        whole[:8] + b"\x02\x00" + whole[10:],
        whole[:4] + b"\x0b" + whole[5:],
        whole[:15] + b"\x06" + whole[16:],
        ziplist(b"\x90abc"),
        ziplist(b"\x3fabc"),
    ):
        with pytest.raises(CorruptSnapshot):
            decode_ziplist(damaged)


def test_no_more_elements_come_out_than_are_allowed() -> None:
    with pytest.raises(CorruptSnapshot, match="too many"):
        decode_ziplist(ziplist(*[b"\xf1"] * 9), allowance=Allowance(1 << 20, 8))


@given(st.binary(max_size=60), st.integers(0, 40), st.integers(0, 255))
def test_any_bytes_are_decoded_or_refused(body: bytes, where: int, byte: int) -> None:
    framed = bytearray(ziplist(b"\x03abc", b"\xf5", b"\xd0" + body[:4].ljust(4, b"x")))
    framed[where % len(framed)] = byte
    for blob in (bytes(framed), body):
        try:
            decode_ziplist(blob)
        except CorruptSnapshot:
            continue


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
