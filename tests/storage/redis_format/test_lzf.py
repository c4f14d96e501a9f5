"""LZF: what it writes and reads, and what it refuses."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.redis_format import lzf

# Strings that compress: pieces that come again, at every distance that matters.
_pieces = st.lists(st.sampled_from([b"a", b"ab", b"sensor-", b"\x00" * 9, bytes(range(200))]))
compressible = st.one_of(
    _pieces.map(b"".join),
    st.builds(lambda piece, times: piece * times, st.binary(max_size=40), st.integers(0, 700)),
    st.builds(
        lambda text, gap: text + bytes(gap) + text,
        st.binary(min_size=40, max_size=80),
        st.integers(8000, 8400),
    ),
)


@given(st.one_of(st.binary(max_size=300), compressible))
def test_what_was_compressed_comes_back_the_same(data: bytes) -> None:
    blob = lzf.compress(data)
    if blob is not None:
        assert len(blob) <= len(data) - lzf.MIN_GAIN_BYTES
        assert lzf.decompress(blob, len(data)) == data


@given(
    st.lists(st.one_of(st.binary(min_size=4, max_size=60), compressible), min_size=2, max_size=9)
)
def test_what_repeats_among_other_bytes_comes_back(pieces: list[bytes]) -> None:
    data = b"".join(pieces + pieces[::2])
    blob = lzf.compress(data)
    assert blob is None or lzf.decompress(blob, len(data)) == data


@given(compressible, st.integers(0, 10_000))
def test_a_prefix_is_what_the_whole_begins_with(data: bytes, count: int) -> None:
    blob = lzf.compress(data)
    if blob is not None:
        assert lzf.decompress_prefix(blob, count) == data[:count]


@pytest.mark.parametrize("length", [*range(40), 262, 263, 264, 265, 266, 267, 528, 529, 530, 531])
def test_runs_of_every_length_fit_into_references(length: int) -> None:
    data = b"0123456789" + b"x" * length + b"0123456789" * 2
    blob = lzf.compress(data)
    assert blob is not None
    assert lzf.decompress(blob, len(data)) == data


def test_what_does_not_get_shorter_by_four_bytes_is_not_compressed() -> None:
    assert lzf.compress(b"") is None
    assert lzf.compress(b"aaaa") is None
    assert lzf.compress(bytes(range(256))) is None


def test_what_redis_wrote_is_read() -> None:
    # DUMP of 100 times "a", Redis 7.0.15.
    assert lzf.decompress(b"\x01aa\xe0W\x00\x01aa", 100) == b"a" * 100


def test_a_reference_may_overlap_what_it_writes() -> None:
    assert lzf.decompress(b"\x01ab\x60\x01", 7) == b"abababa"


@pytest.mark.parametrize(
    ("blob", "length"),
    [
        pytest.param(b"\x05abc", 6, id="fewer literals than announced"),
        pytest.param(b"\x00a\x20", 4, id="no second byte of a reference"),
        pytest.param(b"\x00a\xe0", 12, id="no length of a long reference"),
        pytest.param(b"\x00a\xe0\x05", 14, id="no distance of a long reference"),
        pytest.param(b"\x00a\x20\x05", 4, id="a reference to before the beginning"),
        pytest.param(b"\x20\x00", 3, id="a reference at the beginning"),
        pytest.param(b"\x02abc", 2, id="longer than announced"),
        pytest.param(b"\x02abc", 4, id="shorter than announced"),
        pytest.param(b"", 1, id="nothing"),
    ],
)
def test_damage_is_refused(blob: bytes, length: int) -> None:
    with pytest.raises(ValueError, match="compressed"):
        lzf.decompress(blob, length)


def test_an_announcement_that_the_input_cannot_keep_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match=re.escape("3 compressed bytes cannot become")):
        lzf.decompress(b"\xe0\xff\x00", 1 << 50)


@given(st.binary(max_size=60), st.integers(0, 2_000))
def test_no_input_does_anything_but_be_read_or_refused(blob: bytes, length: int) -> None:
    try:
        data = lzf.decompress(blob, length)
    except ValueError:
        return
    assert len(data) == length
