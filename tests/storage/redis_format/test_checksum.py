"""CRC-64 with Jones's polynomial."""

from __future__ import annotations

from storage.redis_format.checksum import crc64, encode_checksum


def test_the_checksum_is_the_one_of_redis() -> None:
    # The check value that Redis itself tests for.
    assert crc64(b"123456789") == 0xE9C6D914C4B8D9CA


def test_a_checksum_can_be_taken_piece_by_piece() -> None:
    assert crc64(b"6789", crc64(b"12345")) == crc64(b"123456789")


def test_views_have_the_checksum_of_their_bytes() -> None:
    assert crc64(memoryview(b"x123456789x")[1:-1]) == crc64(b"123456789")


def test_a_checksum_is_stored_with_its_lowest_byte_first() -> None:
    assert encode_checksum(0xE9C6D914C4B8D9CA) == bytes.fromhex("cad9b8c414d9c6e9")
