"""Compression in memory: content comes back, in the way with an own context and in the other."""

from __future__ import annotations

import sys

import pytest

from storage.zstd import compress, decompress

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

TEXTS = [b"", b"a", b"an entry and " * 300, bytes(range(256)) * 1000]


@pytest.mark.parametrize("text", TEXTS, ids=len)
def test_what_was_compressed_comes_back(text: bytes) -> None:
    assert decompress(compress(text)) == text


@pytest.mark.parametrize("text", TEXTS, ids=len)
def test_frames_are_those_of_the_standard_library(text: bytes) -> None:
    frame = compress(memoryview(text))
    assert zstd.get_frame_info(frame).decompressed_size == len(text)
    assert zstd.decompress(frame) == text


def test_a_frame_does_not_depend_on_those_before() -> None:
    first = compress(TEXTS[2])
    compress(TEXTS[3])
    assert compress(TEXTS[2]) == first


def test_a_damaged_frame_is_refused() -> None:
    frame = bytearray(compress(TEXTS[2]))
    frame[-3:] = b"\xff\xff\xff"
    with pytest.raises(ValueError, match="damaged"):
        decompress(bytes(frame))


def test_the_library_shows_its_functions_here() -> None:
    assert decompress is not zstd.decompress
