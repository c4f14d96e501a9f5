"""CRC-64 with Jones's polynomial.

Lengths, strings, IDs and times of RDB files.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.redis_format.primitives import (
    Compressed,
    CorruptSnapshot,
    Cursor,
    TruncatedSnapshot,
    crc64,
    encode_checksum,
    encode_compressed,
    encode_length,
    encode_string,
)


def test_the_checksum_is_the_one_of_redis() -> None:
    # The check value that Redis itself tests for.
    assert crc64(b"123456789") == 0xE9C6D914C4B8D9CA


def test_a_checksum_can_be_taken_piece_by_piece() -> None:
    assert crc64(b"6789", crc64(b"12345")) == crc64(b"123456789")


def test_views_have_the_checksum_of_their_bytes() -> None:
    assert crc64(memoryview(b"x123456789x")[1:-1]) == crc64(b"123456789")


def test_a_checksum_is_stored_with_its_lowest_byte_first() -> None:
    assert encode_checksum(0xE9C6D914C4B8D9CA) == bytes.fromhex("cad9b8c414d9c6e9")


# -- lengths -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "encoded"),
    [
        (0, "00"),
        (63, "3f"),
        (64, "4040"),
        (16383, "7fff"),
        (16384, "8000004000"),
        ((1 << 32) - 1, "80ffffffff"),
        (1 << 32, "810000000100000000"),
        ((1 << 64) - 1, "81ffffffffffffffff"),
    ],
)
def test_a_length_has_the_shortest_form(number: int, encoded: str) -> None:
    assert encode_length(number).hex() == encoded
    cursor = Cursor(bytes.fromhex(encoded))
    assert (cursor.length(), cursor.left) == (number, 0)


@given(st.integers(0, (1 << 64) - 1))
def test_every_length_comes_back(number: int) -> None:
    assert Cursor(encode_length(number)).length() == number


@pytest.mark.parametrize("first", [0x82, 0x90, 0xC0, 0xC3, 0xFF])
def test_a_form_of_strings_is_no_length(first: int) -> None:
    with pytest.raises(CorruptSnapshot) as caught:
        Cursor(bytes((0, first)) + bytes(20), 1).length()
    assert caught.value.offset == 1


def test_more_items_than_there_is_room_for_are_refused() -> None:
    assert Cursor(b"\x03" + bytes(6)).count(smallest=2) == 3
    with pytest.raises(CorruptSnapshot, match="3 items do not fit into 5 bytes"):
        Cursor(b"\x03" + bytes(5)).count(smallest=2)


# -- strings -----------------------------------------------------------------------------------

# As DUMP of Redis 7.0.15 has them.
STRINGS = [
    (b"", "00"),
    (b"a", "0161"),
    (b"0", "c000"),
    (b"127", "c07f"),
    (b"-128", "c080"),
    (b"128", "c18000"),
    (b"-32768", "c10080"),
    (b"32768", "c200800000"),
    (b"2147483647", "c2ffffff7f"),
    (b"-2147483648", "c200000080"),
    (b"2147483648", "0a" + b"2147483648".hex()),
    (b"007", "03303037"),
    (b"-0", "022d30"),
    (b"+1", "022b31"),
    (b" 1", "022031"),
    (b"1_0", "03315f30"),
    (b"1.5", "03312e35"),
    (b"a" * 20, "14" + b"a".hex() * 20),
    (b"a" * 100, "c309406401" + "6161" + "e05700" + "016161"),
]


@pytest.mark.parametrize(("data", "encoded"), STRINGS)
def test_a_string_has_the_form_that_redis_gives_it(data: bytes, encoded: str) -> None:
    written = encode_string(data, compress=True)
    assert Cursor(bytes.fromhex(encoded)).string() == data
    if not encoded.startswith("c3"):  # LZF leaves a choice
        assert written.hex() == encoded
    assert Cursor(written).string() == data
    assert (written[0] == 0xC3) == encoded.startswith("c3")


@given(st.one_of(st.binary(), st.integers().map(lambda n: b"%d" % n)), st.integers(0, 99))
def test_every_string_comes_back(data: bytes, repeats: int) -> None:
    for text in (data, data * repeats):
        for compress in (False, True):
            encoded = encode_string(text, compress=compress)
            reading, skipping = Cursor(encoded), Cursor(encoded)
            assert (reading.string(), reading.left) == (text, 0)
            skipping.skip_string()
            assert skipping.left == 0


def test_nothing_is_compressed_that_is_not_to_be() -> None:
    assert encode_string(b"a" * 100, compress=False)[:1] == b"\x40"


def test_a_compressed_string_can_be_taken_as_it_is() -> None:
    encoded = encode_string(b"a" * 100, compress=True)
    packed = Cursor(encoded).packed_string()
    assert isinstance(packed, Compressed)
    assert packed.length == 100
    assert packed.data() == b"a" * 100
    assert encode_compressed(packed) == encoded
    assert Cursor(b"\x01x").packed_string() == b"x"


@pytest.mark.parametrize("encoded", ["c4", "ff", "c8"])
def test_an_unknown_form_of_string_is_refused(encoded: str) -> None:
    for read in (Cursor.string, Cursor.packed_string, Cursor.skip_string):
        with pytest.raises(CorruptSnapshot):
            read(Cursor(bytes.fromhex(encoded) + bytes(20)))


def test_a_damaged_compressed_string_is_refused_with_its_position() -> None:
    with pytest.raises(CorruptSnapshot) as caught:
        Cursor(b"..\xc3\x02\x05\x20\x00", 2).string()
    assert caught.value.offset == 2
    with pytest.raises(CorruptSnapshot):
        Cursor(b"\xc3\x02\x81" + b"\xff" * 8 + b"\x00a").string()


# -- other things ------------------------------------------------------------------------------


def test_ids_times_and_floats_are_read() -> None:
    raw = (5 << 64 | 7).to_bytes(16, "big") + (-2).to_bytes(8, "little", signed=True)
    cursor = Cursor(raw)
    assert (cursor.id(), cursor.milliseconds(), cursor.left) == (5 << 64 | 7, -2, 0)


def test_a_cursor_ends_at_its_given_end() -> None:
    cursor = Cursor(b"abcdef", 1, 3)
    assert cursor.raw(2) == b"bc"
    with pytest.raises(TruncatedSnapshot) as caught:
        cursor.byte()
    assert caught.value.offset == 3


WHOLE: list[tuple[Callable[[Cursor], object], bytes]] = [
    (lambda cursor: cursor.raw(3), b"abc"),
    (lambda cursor: cursor.skip(3), b"abc"),
    (Cursor.byte, b"a"),
    (Cursor.length, encode_length(100)),
    (Cursor.length, encode_length(1 << 20)),
    (Cursor.length, encode_length(1 << 40)),
    (Cursor.id, bytes(16)),
    (Cursor.milliseconds, bytes(8)),
    *[
        (read, encode_string(data, compress=True))
        for read in (Cursor.string, Cursor.packed_string, Cursor.skip_string)
        for data in (b"a", b"5", b"500", b"500000", b"text", b"a" * 100, bytes(range(100)))
    ],
]


@pytest.mark.parametrize(("read", "encoded"), WHOLE)
def test_whatever_is_cut_off_is_refused(read: Callable[[Cursor], object], encoded: bytes) -> None:
    read(Cursor(encoded))
    for length in range(len(encoded)):
        with pytest.raises(TruncatedSnapshot):
            read(Cursor(encoded[:length]))
        with pytest.raises(TruncatedSnapshot):
            read(Cursor(encoded, 0, length))


def test_a_length_beyond_everything_allocates_nothing() -> None:
    for read in (Cursor.string, Cursor.packed_string, Cursor.skip_string):
        with pytest.raises(TruncatedSnapshot):
            read(Cursor(encode_length((1 << 64) - 1) + b"text"))


def test_a_mapped_file_is_read_like_bytes() -> None:
    with mmap.mmap(-1, 100) as mapped:
        mapped[:5] = b"\x04text"
        cursor = Cursor(mapped)
        assert cursor.string() == b"text"
        assert type(Cursor(mapped).string()) is bytes


def test_the_error_says_where_and_what() -> None:
    error = CorruptSnapshot(17, "no length")
    assert (error.offset, error.reason) == (17, "no length")
    assert str(error) == "no length (at offset 17)"
